"""Ticks on the narrowest axes that the report draws, and the legend below the panels."""

from __future__ import annotations

from itertools import pairwise

import matplotlib.pyplot as plt
import pytest
from matplotlib.lines import Line2D

from showing_data import found, legend
from trainspeed.show.axes import legend_below, note_below, panels, ratio_axis, size_axis
from trainspeed.show.fitting import fit_figure
from trainspeed.show.theme import NARROW_IN, SMALL_PT, WIDE_IN, WIDTH_IN, set_theme

RANGES = [
    (0.999, 1.001),
    (0.95, 1.05),
    (0.9, 1.3),
    (0.9, 1.9),
    (0.5, 2),
    (0.45, 1.1),
    (0.3, 4),
    (1, 2.1),
    (1, 7.5),
    (0.1, 10),
    (0.02, 1),
    (0.8, 60),
    (0.001, 3000),
    (1e-6, 1e6),
]
LONG = "undecided at batch 16, without an interval at batch 4, 8, 32, 64 (cnn10 channels_last); " * 4
ARM = "PyTorch, efficientnet_b0, bf16"  # 30 letters beside a row of a forest plot


@pytest.fixture(autouse=True)
def theme():
    """Set the report's own letters."""
    with plt.rc_context():
        set_theme()
        yield


def drawn_labels(axis, low, high):
    """Make an axis of ratios and return its labels as `labels_of` does."""
    ratio_axis(axis, low, high)
    axis.get_figure(root=True).draw_without_rendering()
    return labels_of(axis)


def labels_of(axis):
    """Return both ends of each label in view, in pixels, and the text of each."""
    first, last = axis.get_view_interval()
    labels = [tick.label1 for tick in axis.get_major_ticks() if first <= tick.get_loc() <= last]
    boxes = [label.get_window_extent() for label in labels]
    ends = [(box.x0, box.x1) if axis.axis_name == "x" else (box.y0, box.y1) for box in boxes]
    return ends, [label.get_text() for label in labels]


def forest_ax():
    """Return an Axes whose x has half of the width: a long label and a number of blocks take the rest."""
    ax = plt.subplots(figsize=(WIDTH_IN, 2), layout="constrained")[1]
    ax.set_yticks([0], [ARM], fontsize=SMALL_PT)
    ax.text(1.02, 0, "blocks", transform=ax.transAxes, fontsize=SMALL_PT)
    return ax


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("name", ["x", "y"])
def test_labels_of_ratios_never_touch_and_1_is_among_them(name, low, high):
    """They do so on the x axis of a forest plot, and on the y axis of the lowest panels."""
    axis = forest_ax().xaxis if name == "x" else plt.subplots(figsize=(WIDTH_IN, 2))[1].yaxis
    ends, texts = drawn_labels(axis, low, high)

    assert all(end < start for (_, end), (start, _) in pairwise(ends)), texts
    assert "1x" in texts
    assert 2 <= len(texts) <= 12
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.95, 1.05, "0.96x 0.98x 1x 1.02x 1.04x"),
        (0.9, 1.9, "1x 1.2x 1.4x 1.6x 1.8x"),
        (0.5, 2, "0.5x 0.7x 1x 1.5x 2x"),
        (0.1, 10, "0.1x 0.3x 1x 3x 10x"),
    ],
)
def test_ratios_are_round_and_few(low, high, expected):
    assert drawn_labels(forest_ax().xaxis, low, high)[1] == expected.split()


@pytest.mark.parametrize("width_in", [WIDTH_IN, NARROW_IN, WIDE_IN])
@pytest.mark.parametrize(
    "sizes",
    [(16,), (8, 16), tuple(2**k for k in range(14)), (100, 128, 130, 200), (1, 2, 3, 12, 84, 840, 16384)],
)
def test_labels_of_sizes_never_touch_and_both_ends_have_one(sizes, width_in):
    ax = panels(1)[1][0]
    ax.set_ylabel("seconds")
    size_axis(ax, sizes)
    fit_figure(ax.get_figure(), width_in)
    ax.get_figure().draw_without_rendering()
    ends, texts = labels_of(ax.xaxis)

    assert all(end < start for (_, end), (start, _) in pairwise(ends)), texts
    assert {texts[0], texts[-1]} == {f"{sizes[0]:,}", f"{sizes[-1]:,}"}


def test_a_narrow_axis_of_sizes_has_fewer_ticks_and_a_wide_one_has_them_back():
    ax = panels(1)[1][0]
    size_axis(ax, [2**k for k in range(2, 12)], base=2)
    counts = []
    for width_in in (WIDE_IN, NARROW_IN, WIDE_IN):
        fit_figure(ax.get_figure(), width_in)
        counts.append(len(ax.get_xticks()))
    assert counts[0] == counts[2] == 10 > counts[1]


@pytest.mark.parametrize("width_in", [WIDE_IN, NARROW_IN])
def test_a_title_of_several_lines_leaves_the_panels_their_height(width_in):
    def height(title):
        figure, (ax,) = panels(1, title)
        fit_figure(figure, width_in)
        figure.draw_without_rendering()
        assert (title in LONG) == (figure.get_suptitle().count("\n") > 3)
        return ax.get_window_extent().height

    assert 0.99 < height(LONG) / height("faster?") < 1.1


def test_a_title_breaks_at_no_percent_sign():
    for letters in range(30, 60):
        figure, _axes = panels(1, "x" * letters + " 47 % of the time, a CPU waited for data")
        assert "47 %" in figure.get_suptitle() and "x 47" in figure.get_suptitle().replace("\n", " ")
        plt.close(figure)


@pytest.mark.parametrize("look", [{}, {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}])
def test_a_note_begins_below_tick_labels_of_two_lines_and_turned_ones(look):
    def panel(names):
        figure, (ax,) = panels(1)
        ax.set_xticks(range(2), names, **look)
        note_below(ax, "bars: medians; dots: runs")
        fit_figure(figure, NARROW_IN)
        figure.draw_without_rendering()
        return ax

    ax = panel(["mobilenet", "efficientnet\nb0"])
    labels = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert found(ax, "note")[0].get_window_extent().y1 < min(label.y0 for label in labels)
    plain = panel(["a", "b"]).get_window_extent().height
    assert ax.get_window_extent().height > 0.9 * plain, "the figure is as much higher"


def test_a_legend_names_each_look_once_and_leaves_the_panels_their_height():
    def height(names):
        figure, (ax,) = panels(1)
        legend_below(figure, [Line2D([], [], label=name) for name in names])
        figure.draw_without_rendering()
        return ax.get_window_extent().height

    figure = panels(1)[0]
    legend_below(figure, [Line2D([], [], label=name) for name in "aab"])
    assert legend(figure) == ["a", "b"]
    many = [f"TensorFlow, a long name of an arm, {place}" for place in range(14)]
    assert height(many) == pytest.approx(height(many[:1]), rel=0.1)


def test_a_legend_is_no_wider_than_the_figure():
    for letters in range(2, 30, 2):
        figure = panels(1)[0]
        legend_below(figure, [Line2D([], [], label=f"{place}" + "e_" * letters) for place in range(5)])
        figure.draw_without_rendering()
        width = figure.legends[0].get_window_extent().width / figure.dpi
        assert width <= WIDTH_IN or letters > 35, letters


def test_a_name_of_a_legend_that_is_wider_than_the_figure_is_broken_and_the_figure_as_much_higher():
    name = "1  TensorFlow on channels_last, a probe that has a very long name of its own, batch 16"
    figure, (ax,) = panels(1)
    legend_below(figure, [Line2D([], [], label=f"{name}, {place}") for place in range(3)])
    for width_in in (NARROW_IN, 2 * WIDTH_IN):
        fit_figure(figure, width_in)
        figure.draw_without_rendering()
        box = figure.legends[0].get_window_extent()
        assert box.x1 / figure.dpi <= width_in and box.y0 >= 0
        assert "\n" in legend(figure)[0] or width_in > NARROW_IN
        assert [" ".join(text.split("\n")) for text in legend(figure)] == [f"{name}, {n}" for n in range(3)]
    wide_px = ax.get_window_extent().height
    fit_figure(figure, NARROW_IN)
    figure.draw_without_rendering()
    assert ax.get_window_extent().height == pytest.approx(wide_px, rel=0.1)


def test_the_check_of_touching_labels_can_fail():
    ax = forest_ax()
    ratio_axis(ax.xaxis, 0.5, 2)
    ax.set_xticks([1 + 0.2 * k for k in range(-2, 6)])
    ax.get_figure().draw_without_rendering()
    boxes = [tick.label1.get_window_extent() for tick in ax.xaxis.get_major_ticks()]

    assert any(b.x0 < a.x1 for a, b in pairwise(boxes))


def test_the_title_of_a_panel_breaks_where_it_is_narrow_and_is_whole_again_where_it_is_wide():
    title = "A warm call, scale magnified about 6 times"
    figure, (ax,) = panels(1, "What takes so long?")
    ax.set_title(title)
    ax.set_yticks([0, 1], ["TensorFlow (graph)", "PyTorch, 2 devices"])

    fit_figure(figure, WIDTH_IN / 2)
    narrow = ax.get_title("left")
    height_in = figure.get_figheight()
    fit_figure(figure, WIDTH_IN)

    assert " ".join(narrow.split()) == title and "\n" in narrow
    assert ax.get_title("left") == title
    assert figure.get_figheight() < height_in


def test_a_label_below_panels_has_the_room_that_the_widest_names_leave_all_of_them():
    """It was cut off where the lowest panel has short names and another one long ones."""
    figure, (above, below) = panels(2, share_y=False)
    above.set_yticks([0], ["channels_last, bf16,\nfused optimizer"])
    below.set_yticks([0], ["bf16"])
    below.set_xlabel("speed-up over the plain setting, log scale (more is better)")
    fit_figure(figure, NARROW_IN)
    figure.canvas.draw()

    assert below.xaxis.label.get_window_extent().x1 <= figure.bbox.x1


def test_a_note_ends_within_a_narrow_figure_whose_longest_names_are_of_another_panel():
    figure, (first, last) = panels(2, "What takes so long?", share_y=False)
    first.set_yticks([0, 1], ["processes (1 worker)", "in_model"])
    last.set_yticks([0, 1], ["arrays", "generator"])
    last.set_xlabel("seconds per epoch (less is better)")
    note_below(last, "medians over the blocks; a missing mark was not measured")

    fit_figure(figure, NARROW_IN)
    figure.draw_without_rendering()

    box = found(last, "note")[0].get_window_extent()
    assert box.x0 >= -1 and box.x1 <= figure.bbox.width
