"""The waterfall, by its artists."""

import math

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

from recipe_world import ORDER, PLANTED, drive, search_of, start_of
from trainspeed.core.errors import UserError
from trainspeed.show.theme import set_theme
from trainspeed.studies.summary.charts import SETBACK, STEP, plot_waterfall
from trainspeed.studies.summary.recipe_text import CHAIN_COLUMNS, chain_rows

mpl.use("Agg")

NONE = math.nan


@pytest.fixture(autouse=True)
def theme():
    """The report's own letters."""
    with plt.rc_context():
        set_theme()
        yield


TORCH, KERAS = "PyTorch, cnn10", "TensorFlow, cnn10"


def frame(*rows):
    return pd.DataFrame(rows, columns=CHAIN_COLUMNS)


@pytest.fixture
def figure():
    """Two panels with different numbers of switches; the third of the second makes it slower."""
    return plot_waterfall(
        frame(
            (KERAS, "channels_first", 1.3, 1.25, 1.36),
            (TORCH, "bf16", 1.5, 1.45, 1.56),
            (TORCH, "channels_last", 2.0, 1.9, 2.1),
            (TORCH, "processes (8 workers)", 1.8, 1.7, 1.9),
        )
    )


def bars(ax, gid):
    """Return where the bars of a kind begin and end: (from, to), as drawn from left to right in time."""
    found = [p for p in ax.patches if p.get_gid() == gid]
    return [(round(p.get_x(), 6), round(p.get_x() + p.get_width(), 6)) for p in found]


def labels(ax):
    return [text.get_text().replace("\n", " ") for text in ax.get_yticklabels()]


def numbers(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() == "number"]


def test_each_bar_begins_where_the_one_before_ended(figure):
    keras, torch = figure.axes
    assert bars(keras, "step") == [(1, 1.3)]
    assert bars(torch, "step") == [(1, 1.5), (1.5, 2.0), (2.0, 1.8)]


def test_the_total_goes_from_the_plain_trial_to_the_end_with_its_interval(figure):
    keras, torch = figure.axes
    assert bars(keras, "total") == [(1, 1.3)]
    assert bars(torch, "total") == [(1, 1.8)]
    (interval,) = [line for line in torch.collections if line.get_gid() == "interval"]
    assert interval.get_segments()[0].tolist() == [[1.7, 4], [1.9, 4]]


def test_panels_of_different_switches_have_labels_of_their_own(figure):
    """With a shared axis every panel would have the labels of the last one."""
    keras, torch = figure.axes
    assert labels(keras) == ["plain", "+ channels_first", "all together"]
    assert labels(torch) == [
        "plain",
        "+ bf16",
        "+ channels_last",
        "+ processes (8 workers)",
        "all together",
    ]
    assert [ax.get_title(loc="left") for ax in figure.axes] == [KERAS, TORCH]


@pytest.mark.parametrize("index", [0, 1])
def test_each_bar_is_at_its_label(figure, index):
    ax = figure.axes[index]
    places = [p.get_y() + p.get_height() / 2 for p in ax.patches]
    assert sorted(places) == pytest.approx(list(ax.get_yticks())[1:])
    assert ax.get_ylim() == pytest.approx((len(ax.get_yticks()) - 0.4, -0.6)), "the plain trial is on top"


def test_bars_are_as_thick_in_every_panel(figure):
    figure.canvas.draw()
    rows = [ax.get_window_extent().height / abs(ax.get_ylim()[0] - ax.get_ylim()[1]) for ax in figure.axes]
    assert rows[0] == pytest.approx(rows[1], rel=0.25)


def test_a_switch_that_makes_it_slower_looks_different(figure):
    looks = [(p.get_hatch(), p.get_facecolor()) for p in figure.axes[1].patches if p.get_gid() == "step"]
    colours = [mpl.colors.to_rgba(look["color"]) for look in (STEP, SETBACK)]
    assert looks[:2] == [(None, colours[0])] * 2
    assert looks[2] == (SETBACK["hatch"], colours[1])


def test_every_end_is_told_as_a_number(figure):
    assert numbers(figure.axes[1]) == ["1.00×", "1.50×", "2.00×", "1.80×", "1.80×"]


@pytest.mark.parametrize("size", [1.03, 1.3, 3.1, 12.0, 150.0])
def test_no_number_leaves_its_panel(size):
    figure = plot_waterfall(
        frame((TORCH, "bf16", 0.9, 0.8, 0.95), (TORCH, "batch 64", size, size, 1.03 * size))
    )
    figure.canvas.draw()
    for ax in figure.axes:
        for text in ax.texts:
            assert text.get_window_extent().x1 <= ax.get_window_extent().x1, text.get_text()


def test_all_panels_have_the_same_axis_that_holds_every_end(figure):
    first, second = (ax.get_xlim() for ax in figure.axes)
    assert first == second
    assert first[0] < 1 and first[1] > 2.1
    assert {ax.get_xscale() for ax in figure.axes} == {"log"}


def test_a_recipe_that_is_slower_in_the_fresh_blocks_goes_to_the_left():
    (ax,) = plot_waterfall(frame((TORCH, "bf16", 0.8, 0.7, 0.9))).axes
    assert bars(ax, "step") == bars(ax, "total") == [(1, 0.8)]
    assert ax.get_xlim()[0] < 0.7
    total = ax.texts[-1]
    assert total.get_text() == "0.80×"
    assert total.xy[0] == 1.0, "right of the line, not in the bar"


@pytest.mark.parametrize("none", [None, NONE])
def test_without_an_interval_there_is_none(none):
    (ax,) = plot_waterfall(frame((TORCH, "bf16", 1.5, none, none))).axes
    assert [line for line in ax.collections if line.get_gid() == "interval"] == []
    assert numbers(ax)[-1] == "1.50×"


def test_nothing_kept_is_said():
    (ax,) = plot_waterfall(frame()).axes
    assert [text.get_text() for text in ax.texts] == ["No switch was kept: nothing to put together."]


def test_a_frame_without_its_columns_is_a_mistake():
    with pytest.raises(UserError, match="speedup"):
        plot_waterfall(frame().drop(columns="speedup"))


def test_the_waterfall_of_a_planted_world():
    """From runs to bars: it starts at 1 and ends at what all kept switches bring together."""
    searches = [search_of(*ORDER), search_of("compile", start=start_of("tensorflow"))]
    rows = chain_rows(drive(searches, PLANTED).searches)
    torch, keras = plot_waterfall(rows).axes

    assert labels(torch) == ["plain", "+ bf16", "+ channels_last", "+ 2 devices (ddp)", "all together"]
    assert labels(keras) == ["plain", "+ compiled", "all together"]
    ends = [end for _, end in bars(torch, "step")]
    assert ends == pytest.approx([1.5, 1.5 * 1.3 * 1.1, 1.5 * 1.3 * 1.1 * 1.4], rel=0.01)
    assert bars(torch, "total")[0][1] == ends[-1]
    assert len(plt.get_fignums()) == 1
