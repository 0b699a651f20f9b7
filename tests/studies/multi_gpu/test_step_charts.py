"""Charts of a step's costs and of input pipelines, by their artists."""

import matplotlib as mpl
import pandas as pd
import pytest

from trainspeed.studies.multi_gpu.step_charts import plot_costs, plot_pipelines

mpl.use("Agg")

COSTS = ["what", "framework", "step_s", "compute_s", "exchange_s", "rest_s"]
BALANCES = ["where", "pipeline", "input_s", "compute_s", "both_s"]


def costs(*rows):
    return pd.DataFrame(rows, columns=COSTS).assign(devices="2 devices (ddp)")


def balances(*rows):
    return pd.DataFrame(rows, columns=BALANCES)


def test_a_bar_is_the_parts_and_a_mark_the_whole_step():
    figure = plot_costs(costs(("cnn10", "torch", 0.10, 0.06, 0.01, 0.03)))

    (ax,) = figure.axes
    widths = [bar.get_width() for bars in ax.containers for bar in bars]
    assert widths == pytest.approx([60, 10, 30])
    assert list(ax.lines[0].get_xdata()) == pytest.approx([100])


def test_what_ran_side_by_side_leaves_no_negative_bar():
    figure = plot_costs(costs(("cnn10", "torch", 0.10, 0.09, 0.03, -0.02)))

    widths = [bar.get_width() for bars in figure.axes[0].containers for bar in bars]
    assert widths == pytest.approx([90, 30])


def test_each_framework_has_a_panel_and_unknown_parts_are_left_out():
    figure = plot_costs(
        costs(
            ("a", "torch", 0.1, 0.09, None, 0.01),
            ("b", "jax", 0.1, None, None, None),
            ("c", "jax", 0.2, 0.1, None, 0.1),
        )
    )

    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes] == ["PyTorch", "JAX"]
    assert len(figure.axes[1].lines[0].get_xdata()) == 1


def test_without_rows_a_sentence_says_so():
    (ax,) = plot_costs(costs()).axes

    assert any(
        "not measured on more than one device" in text.get_text().replace("\n", " ") for text in ax.texts
    )


def test_pipelines_have_a_panel_per_place_and_a_row_each():
    figure = plot_pipelines(
        balances(
            ("PyTorch, cnn_keras, 1 device", "arrays", 0.1, 1.0, 1.1),
            ("PyTorch, cnn_keras, 1 device", "generator", 3.0, 1.0, 4.0),
            ("JAX, cnn_keras, 1 device", "arrays", 0.1, None, 2.5),
        )
    )

    assert [ax.get_title() for ax in figure.axes] == [
        "PyTorch, cnn_keras, 1 device",
        "JAX, cnn_keras, 1 device",
    ]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["arrays", "generator"]
    whole = next(line for line in figure.axes[0].lines if line.get_label() == "whole steps")
    assert list(whole.get_xdata()) == [1.1, 4.0]
    assert figure.axes[0].get_xlim()[0] < 0, "a mark at 0 is whole"


@pytest.mark.parametrize("rows", [(), [("PyTorch, cnn_keras, 1 device", "arrays", None, None, None)]])
def test_without_a_part_that_was_measured_a_sentence_says_so(rows):
    """Also where all that was tried has failed, as with a model that raises."""
    figure = plot_pipelines(balances(*rows))
    assert "not measured" in figure.axes[0].texts[0].get_text()
