"""One figure at two widths, by its artists, and the bytes of its drawings."""

import math
import re
import textwrap
from itertools import pairwise

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D

from showing_data import found, legend, make_verdicts, texts
from trainspeed.show.axes import NOTE_LETTERS, legend_below, note_below, panels
from trainspeed.show.fitting import PNG, SVG, fit_figure, render_figure
from trainspeed.show.forest import forest, plot_speedups
from trainspeed.show.theme import NARROW_IN, OUTCOME_STYLES, WIDE_IN, set_theme

mpl.use("Agg")
SENTENCE = "A dot is a run, a bar is the interval of the median over all blocks that were measured here"


@pytest.fixture(autouse=True)
def theme():
    """Set the report's own letters."""
    with plt.rc_context():
        set_theme()
        yield


def places(figure):
    """Return in which row and column of the figure each panel stands."""
    specs = [ax.get_subplotspec() for ax in figure.axes]
    return [(spec.rowspan.start, spec.colspan.start) for spec in specs]


def test_panels_stand_side_by_side_where_there_is_room():
    figure, axes = panels(3)
    axes[-1].set_xlabel("seconds")
    fit_figure(figure, WIDE_IN)
    wide_in = figure.get_figheight()
    assert places(figure) == [(0, 0), (0, 1), (1, 0)]
    assert [ax.get_xlabel() for ax in axes] == ["", "seconds", "seconds"], "the lowest of each column"

    fit_figure(figure, NARROW_IN)
    assert places(figure) == [(0, 0), (1, 0), (2, 0)]
    assert [ax.get_xlabel() for ax in axes] == ["", "", "seconds"]
    assert figure.get_figwidth() == NARROW_IN and figure.get_figheight() > wide_in


def test_panels_of_one_time_axis_stay_one_below_the_other():
    figure = panels(2, columns_allowed=False)[0]
    fit_figure(figure, WIDE_IN)
    assert places(figure) == [(0, 0), (1, 0)]


def test_titles_notes_and_legends_break_where_the_width_ends():
    figure, (ax,) = panels(1, f"{SENTENCE}?")
    ax.set_xlabel("seconds")
    note_below(ax, f"{SENTENCE}.\n{SENTENCE}.")
    legend_below(figure, [Line2D([], [], label=f"a name of an arm, {n}") for n in range(4)])
    heights = {}
    for width_in in (WIDE_IN, NARROW_IN, WIDE_IN):
        fit_figure(figure, width_in)
        figure.draw_without_rendering()
        heights[width_in] = figure.get_figheight()
        drawn = [figure._suptitle, found(ax, "note")[0], figure.legends[0]]
        edges = [artist.get_window_extent().x1 / figure.dpi for artist in drawn]
        assert max(edges) <= width_in, edges
        assert legend(figure) == [f"a name of an arm, {n}" for n in range(4)]
    assert figure.get_suptitle().count("\n") == 1 and heights[NARROW_IN] > heights[WIDE_IN]


def test_a_line_of_a_note_that_was_broken_for_its_length_alone_is_whole_again():
    figure, (ax,) = panels(1)
    note_below(ax, f"{textwrap.fill(SENTENCE, NOTE_LETTERS)}\nshort")
    fit_figure(figure, WIDE_IN)
    assert texts(ax, "note") == [f"{SENTENCE}\nshort"]


def test_a_long_label_of_an_axis_breaks_on_a_narrow_screen_and_is_whole_on_a_wide_one():
    figure, (ax,) = panels(1)
    ax.set_xlabel(SENTENCE)
    fit_figure(figure, NARROW_IN)
    figure.draw_without_rendering()
    box = ax.xaxis.label.get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.dpi * NARROW_IN and "\n" in ax.get_xlabel()
    fit_figure(figure, 2 * WIDE_IN)
    assert ax.get_xlabel() == SENTENCE


def test_rows_have_their_labels_above_them_on_a_narrow_screen():
    ax = plot_speedups(make_verdicts())
    figure = ax.get_figure()
    fit_figure(figure, NARROW_IN)
    figure.draw_without_rendering()
    labels = found(ax, "label")
    assert not any(label.get_text() for label in ax.get_yticklabels()) and len(labels) == 7
    boxes = [label.get_window_extent() for label in labels]
    assert max(box.x1 for box in boxes) / figure.dpi < NARROW_IN
    assert all(upper.y0 > lower.y1 for upper, lower in pairwise(boxes)), "none on another"

    fit_figure(figure, WIDE_IN)
    assert not found(ax, "label") and all(label.get_text() for label in ax.get_yticklabels())


def test_a_figure_is_an_svg_with_letters_and_one_of_many_points_a_png():
    few = forest(
        pd.DataFrame([{"label": "a <b> & c", "kind": "same", "value": 1.0, "low": 0.9, "high": 1.1}]),
        looks=OUTCOME_STYLES,
    ).get_figure()
    drawing = render_figure(few)
    assert (
        drawing.mime == SVG and b"a &lt;b&gt; &amp; c</text>" in drawing.data and b"Verdana" in drawing.data
    )
    assert (drawing.width_px, drawing.height_px) == tuple(
        round(100 * inches) for inches in few.get_size_inches()
    )
    assert render_figure(few).data == drawing.data, "the same bytes again"

    figure, (ax,) = panels(1)
    ax.plot(np.arange(20_000), [math.sin(x * x) for x in range(20_000)], "o", markersize=1)
    dense = render_figure(figure)
    assert dense.mime == PNG and dense.source.startswith("data:image/png;base64,iVBOR")


def test_an_svg_is_laid_out_once_and_its_paths_have_two_decimals(monkeypatch):
    """`savefig` would draw it twice. What is written on the figure keeps all its decimals."""
    figure, (ax,) = panels(1)
    ax.plot([0, math.pi, math.e], [math.pi, math.e, 0])
    ax.set_xlabel('<path d="1.23456"')
    draws, canvas = [], figure.canvas
    drawn = figure.patch.draw
    monkeypatch.setattr(figure.patch, "draw", lambda renderer: (draws.append(renderer), drawn(renderer)))
    svg = render_figure(figure).data.decode()
    assert len(draws) == 1 and figure.canvas is canvas
    paths = re.findall(r'<path d="([^"]*)', svg)
    assert len(paths) > 10 and not [path for path in paths if re.search(r"\.\d{3}", path)]
    assert '&lt;path d="1.23456"' in svg
