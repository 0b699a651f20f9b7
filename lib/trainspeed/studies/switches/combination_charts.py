"""Charts of switches together: which need or spoil each other, and the way from plain to best. Computes nothing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.show.axes import note_below, nothing, panels, ratio_axis
from trainspeed.show.rows import require
from trainspeed.show.theme import OKABE_ITO, PALE, SMALL_PT

PAIR_COLUMNS = ["where", "one", "other", "value"]
WAY_COLUMNS = ["where", "step", "kind", "before", "after", "low", "high"]
STEP, GROUP, REST, TOTAL = "step", "group", "rest", "total"
SIZES = ["before", "after", "low", "high"]

CELL_IN = 0.36  # height of a row of the heat map
HEAD_IN = 1.9  # for the names below it, its title and its note
NAME_LETTERS = 24
COLOURS = "PuOr_r"  # purple saves, orange costs; told apart in grey by the sign that is written in
PALE_SHARE = 0.6  # of the largest size; beyond, letters are white
LEAST_LARGEST = 5.0  # percent: of the end of the colours, so that noise is not painted like a find

BAR_IN = 0.42
OUTSIDE_ROWS = 1.2  # of a panel, for its title and the room above and below the bars
SWITCH_LETTERS = 22
NUMBER_ROOM = 0.16  # share of the log axis behind the longest bar, for its number
FASTER = {"color": OKABE_ITO["sky blue"], "edgecolor": ".25"}
SETBACK = {"color": OKABE_ITO["orange"], "edgecolor": ".25", "hatch": "//"}
# Of the bars that are no single switch.
LOOKS = {
    REST: {"color": "white", "edgecolor": ".25", "hatch": ".."},
    TOTAL: {"color": PALE, "edgecolor": OKABE_ITO["black"]},
}


def plot_interactions(pairs: pd.DataFrame) -> Figure:
    """Draw what two switches do together beyond what they do apart: a small heat map per framework and model.

    Args:
        pairs: As returned by `views.pair_rows`: a value is a change in % of a step's time, less than 0 where the two
            save more together.
    """
    require(pairs, PAIR_COLUMNS)
    known = pairs[pairs["value"].notna()].astype({"value": float})
    if known.empty:
        return nothing("No two switches were measured together often enough.").get_figure()
    names = list(dict.fromkeys(known["where"]))
    of_each = [_square(known[known["where"] == name]) for name in names]
    heights = [CELL_IN * (len(square) - 1) + HEAD_IN for square, _ in of_each]
    title = "What two switches do beyond each alone"
    figure, axes = panels(len(names), title, height_in=heights, share_x=False, share_y=False)
    most = max(LEAST_LARGEST, known["value"].abs().max())
    for ax, name, (square, switches) in zip(axes, names, of_each, strict=True):
        _heat_map(ax, square, switches, most)
        ax.set_title(name)
    note_below(axes[-1], "% of a step's time; less than 0: together they save more")
    return figure


def _square(pairs: pd.DataFrame) -> tuple[np.ndarray, list[str]]:
    """Return the values below the diagonal, and the names in order."""
    switches = list(dict.fromkeys([*pairs["one"], *pairs["other"]]))
    square = np.full((len(switches), len(switches)), np.nan)
    for one, other, value in pairs[["one", "other", "value"]].itertuples(index=False):
        places = sorted((switches.index(one), switches.index(other)))
        square[places[1], places[0]] = value
    return square, switches


def _heat_map(ax: Axes, square: np.ndarray, switches: Sequence[str], most: float) -> None:
    # The first row and the last column of a triangle are empty.
    shown = square[1:, :-1]
    ax.imshow(shown, cmap=COLOURS, vmin=-most, vmax=most, aspect="auto", gid="pairs")
    for (row, column), value in np.ndenumerate(shown):
        if not np.isnan(value):
            colour = "white" if abs(value) > PALE_SHARE * most else "black"
            look = {"ha": "center", "va": "center", "fontsize": SMALL_PT, "color": colour, "gid": "pair"}
            ax.text(column, row, f"{round(value) + 0:+d}" if round(value) else "0", **look)
    labels = [textwrap.shorten(name, NAME_LETTERS, placeholder=" …") for name in switches]
    ax.set_yticks(range(len(labels) - 1), labels[1:], fontsize=SMALL_PT)
    ax.set_xticks(range(len(labels) - 1), labels[:-1], fontsize=SMALL_PT, rotation=40, ha="right")
    ax.grid(visible=False)
    for side in ax.spines.values():
        side.set_visible(False)


def plot_way(way: pd.DataFrame) -> Figure:
    """Draw the way from the plain setting to the best: a panel per framework and model, a bar per switch, the total.

    A bar that goes back to the left is hatched. The dotted bar is what the switches do together only.

    Args:
        way: As returned by `views.way_rows`: speed-ups over the plain setting before and after each bar, and where
            the interval of "after" ends.
    """
    require(way, WAY_COLUMNS)
    rows = way.astype(dict.fromkeys(SIZES, float))
    names = list(dict.fromkeys(rows["where"]))
    if not names:
        return nothing("Nothing was kept and confirmed: there is no way to draw.").get_figure()
    heights = [BAR_IN * (int((rows["where"] == name).sum()) + 1 + OUTSIDE_ROWS) for name in names]
    figure, axes = panels(len(names), "From plain to best, in fresh blocks", height_in=heights, share_y=False)
    ends = rows[SIZES].stack().dropna()
    low, high = min(ends.min(), 1.0), max(ends.max(), 1.0)
    for ax, name in zip(axes, names, strict=True):
        _way(ax, rows[rows["where"] == name], low, high * (high / low) ** NUMBER_ROOM)
        ax.set_title(name)
    axes[-1].set_xlabel("speed-up over the plain setting, log scale (more is better)")
    return figure


def _way(ax: Axes, rows: pd.DataFrame, low: float, high: float) -> None:
    ratio_axis(ax.xaxis, low, high)
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5)
    labels = ["plain"]
    _number(ax, "1.00×", 0, 1.0)
    for y, row in enumerate(rows.to_dict("records"), 1):
        before, after = row["before"], row["after"]
        right = max(before, after)
        is_total = row["kind"] == TOTAL
        look = LOOKS.get(row["kind"], SETBACK if after < before else FASTER)
        ax.barh(y, after - before, left=before, height=0.6, gid=row["kind"], **look)
        if pd.notna(row["low"]):
            ax.hlines(y, row["low"], row["high"], color=".15", linewidth=2, gid="interval")
            right = max(right, row["high"])
        if not is_total:
            ax.plot([after, after], [y + 0.3, y + 0.7], color=".5", linewidth=0.8)
        text = f"{after:.2f}×" if is_total else f"×{after / before:.2f}"
        _number(ax, text, y, right, **({"weight": "bold"} if is_total else {}))
        labels.append(textwrap.fill(row["step"], SWITCH_LETTERS))
    ax.set_yticks(range(len(labels)), labels, fontsize=SMALL_PT)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)


def _number(ax: Axes, text: str, y: int, right: float, **look: Any) -> None:
    """Write a size to the right of where its bar ends."""
    look |= {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": SMALL_PT}
    ax.annotate(text, (right, y), gid="number", **look)
