"""Lines over batch size: dots, median, interval, names at the ends, failures at the top edge.

Knows numbers and Axes; which rows of a frame make a line is the caller's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Annotation
from matplotlib.transforms import ScaledTranslation

from trainspeed.axes import height_pt, spread
from trainspeed.theme import PALE, SMALL_PT

MOST_END_LABELS = 6  # more names than this at the line ends cannot be told apart: then a legend
ROW_PT = SMALL_PT * 1.3  # height of one line of small text
MARK_PT = 13  # room for a marker in the strip of failures
BESIDE_PT = 9  # from marker to marker in that strip
NAME_PT = 62  # room for "unsupported" or "TensorFlow" in small text


@dataclass(frozen=True, kw_only=True)
class Line:
    """One arm: its name, its look, the values of its runs and how its other runs failed, by batch size.

    Attributes:
        short: The name in the strip of failures; may be empty.
        values: Batch size -> one value per block, never an empty list.
        failures: Batch size -> what is written, such as OOM.
        nudge: Factor on x, for arms that would stand on each other where there is one batch size only.
    """

    label: str
    short: str
    color: str
    linestyle: Any
    marker: str
    fillstyle: str = "full"
    values: Mapping[int, Sequence[float]] = field(default_factory=dict)
    failures: Mapping[int, Sequence[str]] = field(default_factory=dict)
    nudge: float = 1.0

    @property
    def end(self) -> tuple[float, float]:
        """Where the line ends: x of the largest batch size that ran, and its median."""
        size = max(self.values)
        return size * self.nudge, median(self.values[size])


def median_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the interval of the median between two order statistics; None for fewer than 6 values.

    Six values: minimum to maximum, which covers 96.9 %. No shape of the distribution is assumed.
    Source: https://en.wikipedia.org/wiki/Sign_test (the interval is the test inverted)
    """
    ordered, n = sorted(values), len(values)
    outside = np.cumsum([math.comb(n, k) for k in range(n // 2)]) * 2 / 2**n
    drop = int((1 - outside >= confidence).sum()) - 1  # values dropped at either end
    return (ordered[drop], ordered[n - 1 - drop]) if drop >= 0 else None


def draw_line(ax: Axes, line: Line) -> None:
    """Draw a dot per run, the median as line and the 95 % interval as band.

    An interval whose neighbours have none would be a band of no width: it is a bar as well.
    """
    sizes = sorted(line.values)
    xs = [size * line.nudge for size in sizes]
    dots = [(x, value) for x, size in zip(xs, sizes, strict=True) for value in line.values[size]]
    ax.plot(
        *zip(*dots, strict=True),
        color=line.color,
        linestyle="none",
        marker=line.marker,
        fillstyle=line.fillstyle,
        markersize=5,
        alpha=0.8,
        gid="runs",
    )
    medians = [median(line.values[size]) for size in sizes]
    ax.plot(
        xs,
        medians,
        color=line.color,
        linestyle=line.linestyle,
        linewidth=1.8,
        label=line.label,
        gid="median",
    )
    bounds = [median_interval(line.values[size]) or (math.nan, math.nan) for size in sizes]
    low, high = zip(*bounds, strict=True)
    if has_interval(line):
        ax.fill_between(xs, low, high, color=line.color, alpha=0.18, linewidth=0, gid="interval")
        ax.vlines(xs, low, high, color=line.color, alpha=0.3, linewidth=7, gid="interval")


def has_interval(line: Line) -> bool:
    """Return whether any batch size has blocks enough for an interval."""
    return any(median_interval(values) for values in line.values.values())


def label_ends(ax: Axes, lines: Sequence[Line]) -> list[Annotation]:
    """Write each line's name right of the plot at the height of its last median, none over another.

    Call it after the limits are set. Returns the texts.
    """
    drawn = [line for line in lines if line.values]
    to_axes = ax.transData + ax.transAxes.inverted()
    heights = [float(to_axes.transform(line.end)[1]) for line in drawn]
    return [
        ax.annotate(
            line.label,
            xy=line.end,
            xytext=(1.03, y),
            textcoords="axes fraction",
            va="center",
            fontsize=SMALL_PT,
            color=".15",
            gid="end label",
            arrowprops={
                "arrowstyle": "-",
                "color": line.color,
                "relpos": (0, 0.5),
                "shrinkA": 1,
                "shrinkB": 3,
            },
        )
        for line, y in zip(drawn, spread(heights, ROW_PT / height_pt(ax), 0.03, 0.97), strict=True)
    ]


def legend_below(figure: Figure, lines: Sequence[Line]) -> None:
    """List the lines below the panels, once each: for more of them than fit at the line ends.

    The figure grows by the height of the legend, so the panels keep theirs.
    """
    looks = {line.label: line for line in lines}
    handles = [
        Line2D(
            [], [], color=k.color, linestyle=k.linestyle, marker=k.marker, fillstyle=k.fillstyle, label=name
        )
        for name, k in looks.items()
    ]
    columns = 1 if max(map(len, looks)) > 30 else 2
    figure.set_figheight(figure.get_figheight() + ROW_PT * 1.2 * math.ceil(len(looks) / columns) / 72)
    figure.legend(handles=handles, loc="outside lower left", ncols=columns, fontsize=SMALL_PT, handlelength=3)


def failure_strip(ax: Axes, lines: Sequence[Line], sizes: Sequence[int]) -> float:
    """Return the share of the Axes' height that `draw_failures` fills; 0 when no run failed."""
    names, in_a_row = _room(ax, sizes)
    heights = [
        math.ceil(len(failed) / in_a_row) * MARK_PT + (text.count("\n") + 1) * ROW_PT + 3
        for _, failed, text in _failures(lines, names=names)
    ]
    return min(0.6, max(heights, default=0.0) / height_pt(ax))


def draw_failures(ax: Axes, lines: Sequence[Line], sizes: Sequence[int]) -> None:
    """Draw a hollow marker at the top edge for every arm that failed at a batch size, and say how.

    Args:
        sizes: All batch sizes on the axis: they decide whether a failure has room for the arm's name.
    """
    names, in_a_row = _room(ax, sizes)
    strip = failure_strip(ax, lines, sizes)
    box = {"color": PALE, "alpha": 0.6, "linewidth": 0, "zorder": 0.5, "transform": ax.transAxes}
    ax.add_patch(Rectangle((0, 1 - strip), 1, strip, gid="failure strip", **box))
    for where, failed, text in _failures(lines, names=names):
        for place, line in enumerate(failed):
            # Side by side, in points: two arms that failed at one batch size stay two markers.
            row, column = divmod(place, in_a_row)
            beside = min(in_a_row, len(failed) - row * in_a_row)
            right_pt, down_pt = (column - (beside - 1) / 2) * BESIDE_PT, (row + 0.5) * MARK_PT + 1
            inch = ax.get_figure(root=True).dpi_scale_trans
            ax.plot(
                where,
                [1] * len(where),
                transform=ax.get_xaxis_transform() + ScaledTranslation(right_pt / 72, -down_pt / 72, inch),
                color=line.color,
                linestyle="none",
                marker=line.marker,
                fillstyle="none",
                markeredgewidth=1.6,
                markersize=6,
                gid="failed",
            )
        ax.annotate(
            text,
            (math.sqrt(where[0] * where[-1]), 1),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, -MARK_PT * math.ceil(len(failed) / in_a_row)),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize=SMALL_PT,
            color=".15",
            gid="failure",
        )


def _room(ax: Axes, sizes: Sequence[int]) -> tuple[bool, int]:
    """Return whether names fit side by side at every batch size, and how many markers do."""
    low, high = ax.get_xlim()
    width_pt = ax.get_window_extent().width / ax.get_figure(root=True).dpi * 72
    column_pt = width_pt / math.log2(high / low) if len(sizes) > 1 else width_pt
    return column_pt >= NAME_PT, max(1, int((column_pt - 6) // BESIDE_PT))


def _failures(lines: Sequence[Line], *, names: bool) -> list[tuple[list[int], list[Line], str]]:
    """Return (batch sizes, arms, text); neighbouring batch sizes that failed alike share one text."""
    groups: list[tuple[list[int], list[Line], str]] = []
    previous = None
    for size in sorted({size for line in lines for size in (*line.values, *line.failures)}):
        failed = [line for line in lines if line.failures.get(size)]
        kinds: dict[str, dict[str, None]] = {}
        for line in failed:
            for kind in line.failures[size]:
                kinds.setdefault(kind, {})[line.short] = None
        rows = [row for kind, shorts in kinds.items() for row in (kind, *(shorts if names else ())) if row]
        text = "\n".join(rows)
        if groups and groups[-1][0][-1] == previous and groups[-1][1:] == (failed, text):
            groups[-1][0].append(size)
        elif failed:
            groups.append(([size], failed, text))
        previous = size
    return groups
