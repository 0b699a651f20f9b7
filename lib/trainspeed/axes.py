"""Axes of the report's charts: panels, batch sizes, ratios, sentences. Knows no frame and no result."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from trainspeed.errors import UserError
from trainspeed.theme import FONT_PT, GREY, SMALL_PT, WIDTH_IN

RATIO_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)  # between ticks; beyond a ratio of 2 the ticks are 1, 2, 5, 10 …


def panels(count: int, *, height_in: float = 2.7, share_y: bool = True) -> tuple[Figure, list[Axes]]:
    """Return a figure of panels one below the other: side by side they are too narrow for a phone."""
    if not count:
        raise UserError("the frame has no rows to draw: measure first.")
    figure, grid = plt.subplots(
        count,
        1,
        sharex=True,
        sharey=share_y,
        squeeze=False,
        figsize=(WIDTH_IN, height_in * count + 0.9),
        layout="constrained",
    )
    return figure, list(grid[:, 0])


def height_pt(ax: Axes) -> float:
    """Return the height of the plotting area, in points."""
    return ax.get_window_extent().height / ax.get_figure(root=True).dpi * 72


def batch_axis(ax: Axes, sizes: Sequence[int]) -> None:
    """Make x logarithmic to base 2, with exactly these batch sizes as ticks."""
    ax.set_xscale("log", base=2)
    ax.xaxis.set_major_locator(FixedLocator(sizes))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.tick_params(axis="x", labelsize=SMALL_PT if len(sizes) > 7 else FONT_PT)
    room = 2**0.45 if len(sizes) > 1 else 2  # half a name of a failed framework fits in
    ax.set_xlim(min(sizes) / room, max(sizes) * room)


def ratio_axis(axis: Axis, low: float, high: float) -> None:
    """Make an axis logarithmic around 1, from low to high, with round ratios as ticks.

    The locators of matplotlib leave a range such as 0.95 to 1.3 without any tick.
    """
    low, high = min(low, 0.97), max(high, 1 / 0.97)
    reach = max(high, 1 / low)
    fine = [step for step in RATIO_STEPS if reach - 1 <= 5 * step]
    if fine:
        ticks = [1 + fine[0] * k for k in range(-5, 6)]
    else:
        decades = range(-math.ceil(math.log10(reach)), math.ceil(math.log10(reach)) + 1)
        ticks = [digit * 10.0**decade for decade in decades for digit in ((1, 2, 5) if reach < 60 else (1,))]
    name, room = axis.axis_name, (high / low) ** 0.06
    axis.axes.set(**{f"{name}scale": "log"})
    axis.axes.set(**{f"{name}lim": (low / room, high * room)})
    axis.set_major_locator(FixedLocator(sorted({round(tick, 6) for tick in ticks if tick > 0})))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}×")


def title_above(figure: Figure, title: str) -> None:
    """Write the title of all panels at the left edge, broken into lines where it is long."""
    figure.suptitle(textwrap.fill(title, 54), x=0.01, ha="left")


def say(ax: Axes, sentence: str) -> None:
    """Write a sentence in the middle of an Axes that has nothing to draw."""
    text = textwrap.fill(sentence, 46)
    ax.text(0.5, 0.45, text, transform=ax.transAxes, ha="center", va="center", gid="sentence")


def note_below(ax: Axes, text: str) -> None:
    """Write how to read the marks, small, below the label of the x axis."""
    ax.annotate(
        text,
        (0, 0),
        xycoords="axes fraction",
        xytext=(0, -42),
        textcoords="offset points",
        va="top",
        fontsize=SMALL_PT,
        color=GREY,
        gid="note",
    )


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions at least `gap` apart, as near to the wanted ones as a least-squares fit gets.

    The order is kept. Where low…high has no room for all, the gap shrinks.
    """
    count = len(wanted)
    gap = min(gap, (high - low) / max(1, count - 1))
    order = sorted(range(count), key=lambda i: wanted[i])
    # Isotonic regression of the positions less their place in the stack: neighbours too near are pooled.
    pools: list[list[float]] = []
    for place, i in enumerate(order):
        pools.append([wanted[i] - place * gap])
        while len(pools) > 1 and np.mean(pools[-2]) > np.mean(pools[-1]):
            pools[-2:] = [pools[-2] + pools[-1]]
    starts = [float(np.mean(pool)) for pool in pools for _ in pool]
    result = [0.0] * count
    for place, (i, start) in enumerate(zip(order, starts, strict=True)):
        result[i] = min(max(start, low), high - (count - 1) * gap) + place * gap
    return result
