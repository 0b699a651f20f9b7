"""Axes of the report's charts: panels, ticks, sentences, legends. Knows no frame and no result."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from trainspeed.core.errors import UserError
from trainspeed.core.format import three
from trainspeed.show.theme import GREY, SMALL_PT, WIDTH_IN

LOG_DIGITS = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # in each decade
MAX_TICKS = {"x": 6, "y": 8}  # of a log axis: on x their labels stand side by side
LETTER_PT = 0.6 * SMALL_PT  # about as wide as the mean letter
SIZES_PT = 380  # about as long as an axis of sizes
ROW_PT = 1.6 * SMALL_PT  # height of a row of a legend
NOTE_LETTERS = 76  # in a line of a note


def panels(
    count: int,
    title: str = "",
    *,
    height_in: float | Sequence[float] = 2.7,
    share_x: bool = True,
    share_y: bool = True,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with its panels, one below the other: side by side they are too narrow for a phone.

    Args:
        title: Of the whole figure, at its left edge; a long one is broken into lines.
        height_in: Of every panel, or one height for each.
    """
    if not count:
        raise UserError("the frame has no rows to draw: measure first.")
    heights = [height_in] * count if isinstance(height_in, float) else list(height_in)
    figure = plt.figure(figsize=(WIDTH_IN, sum(heights) + 0.9), layout="constrained")
    grid = figure.subplots(count, sharex=share_x, sharey=share_y, squeeze=False, height_ratios=heights)
    if title:
        figure.suptitle(textwrap.fill(title, 54), x=0.01, ha="left")
    return figure, list(grid[:, 0])


def size_axis(ax: Axes, sizes: Sequence[float], *, base: float = 10) -> None:
    """Make x logarithmic, with ticks at both ends of these sizes and at those between that have room."""
    first, last = min(sizes), max(sizes)
    margin = max(1.37, (last / first) ** 0.05) if last > first else 2
    point = math.log(last / first * margin**2) / SIZES_PT

    def apart(one: float, other: float) -> bool:
        letters = (len(three(one)) + len(three(other))) / 2 + 1
        return math.log(other / one) >= letters * LETTER_PT * point

    ticks = [first]
    for size in sorted({*sizes} - {first, last}):
        if apart(ticks[-1], size) and apart(size, last):
            ticks.append(size)
    ax.set_xscale("log", base=base)
    ax.set_xlim(first / margin, last * margin)
    _set_ticks(ax.xaxis, sorted({*ticks, last}))


def batch_axis(ax: Axes, sizes: Sequence[int]) -> None:
    """Make x logarithmic to base 2, with these batch sizes as ticks."""
    size_axis(ax, sizes, base=2)
    ax.tick_params(axis="x", labelsize=SMALL_PT if len(sizes) > 7 else None)


def log_axis(axis: Axis, low: float, high: float, *, unit: str = "") -> None:
    """Make an axis logarithmic from low to high with a few round ticks, 1 among them if in view."""
    name = axis.axis_name
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    _set_ticks(axis, _round_ticks(low, high, MAX_TICKS[name]), unit)


def ratio_axis(axis: Axis, low: float, high: float) -> None:
    """Make an axis logarithmic around 1, from low to high with a margin, with round ratios as ticks."""
    low, high = min(low, 0.97), max(high, 1 / 0.97)
    margin = (high / low) ** 0.06
    log_axis(axis, low / margin, high * margin, unit="×")


def _round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return as many round ticks as fit: at equal steps on a short axis, by leading digits on a long one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [MaxNLocator(n, steps=[1, 2, 5, 10]).tick_values(low, high) for n in range(most, 1, -1)]
    choices = choices if high < 2.5 * low else []
    choices += [LogLocator(subs=digits, numticks=99).tick_values(low, high) for digits in LOG_DIGITS]
    choices += [[10.0**n for n in decades if n % every == 0] for every in range(1, len(decades))]
    in_view = ([float(tick) for tick in choice if low <= tick <= high] for choice in choices)
    return next(ticks for ticks in in_view if len(ticks) <= most)


def _set_ticks(axis: Axis, ticks: Sequence[float], unit: str = "") -> None:
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}{unit}")


def write_sentence(ax: Axes, sentence: str) -> None:
    """Write a sentence in the middle of an Axes that has nothing to draw."""
    text = textwrap.fill(sentence, 46)
    ax.text(0.5, 0.45, text, transform=ax.transAxes, ha="center", va="center", gid="sentence")


def nothing(sentence: str, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Return an Axes, a new one by default, that only says why there is nothing to draw."""
    ax = ax or panels(1)[1][0]
    write_sentence(ax, sentence)
    ax.set(xticks=[], yticks=[], title=title)
    return ax


def note_below(ax: Axes, text: str) -> None:
    """Write how to read the marks, small, below the label of the x axis, or in its place without one."""
    look = {"fontsize": SMALL_PT, "color": GREY, "gid": "note"}
    if ax.get_xlabel():
        offset = {"xycoords": "axes fraction", "xytext": (0, -42), "textcoords": "offset points"}
        ax.annotate(text, (0, 0), va="top", **offset, **look)
    else:
        ax.set_xlabel(text, loc="left", **look)


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """List what is drawn below the panels, each name once, in as many columns as have room.

    The figure grows by the height of the legend, so the panels keep theirs.
    """
    named = {handle.get_label(): handle for handle in handles}
    if not named:
        return
    columns = max(1, min(4, int(72 * WIDTH_IN / (LETTER_PT * max(map(len, named)) + 5 * SMALL_PT))))
    figure.set_figheight(figure.get_figheight() + ROW_PT * math.ceil(len(named) / columns) / 72)
    look = {"fontsize": SMALL_PT, "handlelength": 3, "columnspacing": 1}
    figure.legend(named.values(), named, loc="outside lower left", ncols=columns, **look)
