"""Axes of the report's charts: panels, batch sizes, ratios, sentences. Knows no frame and no result."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, Locator, NullLocator

from trainspeed.errors import UserError
from trainspeed.theme import FONT_PT, GREY, SMALL_PT, WIDTH_IN

RATIO_STEPS = (
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
)  # between ticks, finest first; where none has room, by digits:
RATIO_DIGITS = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # in each decade
LETTER_EM = 0.65  # about as wide as the mean letter of a ratio
GAP_EM = {"x": 0.5, "y": 0.6}  # between labels


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
    name, room = axis.axis_name, (high / low) ** 0.06
    axis.axes.set(**{f"{name}scale": "log"})
    axis.axes.set(**{f"{name}lim": (low / room, high * room)})
    axis.set_major_locator(RatioLocator())
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: _ratio(value))


class RatioLocator(Locator):
    """Round ratios around 1, as many as have room for their labels when the figure is drawn."""

    def __call__(self) -> list[float]:
        """Return the ticks of the axis as it is now."""
        return self.tick_values(*sorted(self.axis.get_view_interval()))

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        """Return the most ticks whose labels keep a gap between them; 1 at least."""
        low, high = float(vmin), float(vmax)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = [step for step in RATIO_STEPS if high - low < 40 * step]
        choices = [[1 + step * k for k in range(math.floor((low - 1) / step), 41)] for step in steps]
        choices += [[digit * 10.0**n for n in decades for digit in digits] for digits in RATIO_DIGITS]
        choices += [[10.0**n for n in decades if n % every == 0] for every in range(2, len(decades))]
        in_view = [[round(t, 6 - decades[0]) for t in choice if low <= t <= high] for choice in choices]
        return max((ticks for ticks in in_view if self._has_room(ticks, low, high)), key=len, default=[1.0])

    def _has_room(self, ticks: list[float], low: float, high: float) -> bool:
        box, dpi = self.axis.axes.get_window_extent(), self.axis.get_figure(root=True).dpi
        name = self.axis.axis_name
        length_em = (box.width if name == "x" else box.height) / dpi * 72 / FONT_PT
        places = [math.log(tick / low) / math.log(high / low) * length_em for tick in ticks]
        halves = [(LETTER_EM * len(_ratio(tick)) if name == "x" else 1) / 2 for tick in ticks]
        ends = [(place - half, place + half) for place, half in zip(places, halves, strict=True)]
        gaps = [start - end for (_, end), (start, _) in pairwise(ends)]
        return min(gaps, default=0) >= GAP_EM[name]


def _ratio(value: float) -> str:
    return f"{value:g}×"


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
