import pandas as pd
import pytest

from trainspeed.studies.multi_gpu.cost_charts import plot_costs

COLUMNS = ["where", "framework", "step_s", "compute_s", "exchange_s", "rest_s"]


def frame(*rows):
    return pd.DataFrame(rows, columns=COLUMNS)


def test_a_bar_is_the_parts_and_a_mark_the_whole_step():
    figure = plot_costs(frame(("cnn10", "torch", 0.10, 0.06, 0.01, 0.03)))

    (ax,) = figure.axes
    widths = [bar.get_width() for bars in ax.containers for bar in bars]
    assert widths == pytest.approx([60, 10, 30])
    assert list(ax.lines[0].get_xdata()) == pytest.approx([100])


def test_what_ran_side_by_side_leaves_no_negative_bar():
    figure = plot_costs(frame(("cnn10", "torch", 0.10, 0.09, 0.03, -0.02)))

    widths = [bar.get_width() for bars in figure.axes[0].containers for bar in bars]
    assert widths == pytest.approx([90, 30])


def test_each_framework_has_a_panel_and_unknown_parts_are_left_out():
    figure = plot_costs(
        frame(
            ("a", "torch", 0.1, 0.09, None, 0.01),
            ("b", "jax", 0.1, None, None, None),
            ("c", "jax", 0.2, 0.1, None, 0.1),
        )
    )

    assert [ax.get_title(loc="left") or ax.get_title() for ax in figure.axes] == ["PyTorch", "JAX"]
    assert len(figure.axes[1].lines[0].get_xdata()) == 1


def test_without_rows_a_sentence_says_so():
    (ax,) = plot_costs(frame()).axes

    assert any(
        "not measured on more than one device" in text.get_text().replace("\n", " ") for text in ax.texts
    )
