"""The way from a plain setting to the best one: a bar per switch that was kept, and the total. Computes nothing."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.judge.verdict import MARGIN
from trainspeed.show.axes import note_below, nothing, panels, ratio_axis
from trainspeed.show.rows import require
from trainspeed.show.theme import OKABE_ITO, PALE, SMALL_PT

WAY_COLUMNS = ["where", "step", "kind", "before", "after", "low", "high"]
STEP, GROUP, REST, TOTAL = "step", "group", "rest", "total"
SIZES = ["before", "after", "low", "high"]
QUESTION = "What does each switch add, from plain to best?"

BAR_IN = 0.42
LINES = 2  # of a label that a row has room for
OUTSIDE_ROWS = 1.2  # of a panel, for its title and the room above and below the bars
SWITCH_LETTERS = 22
NUMBER_ROOM = 0.16  # share of the log axis behind the longest bar, for its number
FASTER = {"color": OKABE_ITO["sky blue"], "edgecolor": ".25"}
UNDECIDED = {"color": "white", "edgecolor": ".25"}
SETBACK = {"color": OKABE_ITO["orange"], "edgecolor": ".25", "hatch": "//"}
# Of the bars that are no single switch.
LOOKS = {
    REST: {"color": "white", "edgecolor": ".25", "hatch": ".."},
    TOTAL: {"color": PALE, "edgecolor": OKABE_ITO["black"]},
}


def plot_way(way: pd.DataFrame, *, title: str = QUESTION) -> Figure:
    """Draw the way from the plain setting to the best: a panel per framework and model, a bar per switch, the total.

    A bar that goes back to the left is hatched, one whose interval decides nothing is white. The dotted bar is what the
    switches do together only.

    Args:
        way: A row per bar: where (name of the panel), step (its words), kind, before and after (speed-ups over the
            plain setting), low and high (where the interval of "after" ends; missing without one).
        title: What was found, or else the question.
    """
    require(way, WAY_COLUMNS)
    rows = way.astype(dict.fromkeys(SIZES, float))
    names = list(dict.fromkeys(rows["where"]))
    if not names:
        return nothing("Nothing was kept and confirmed: there is no way to draw.").get_figure()
    heights = [_height_in(rows.loc[rows["where"] == name, "step"]) for name in names]
    figure, axes = panels(len(names), title, height_in=heights, share_y=False)
    ends = rows[SIZES].stack().dropna()
    low, high = min(ends.min(), 1.0), max(ends.max(), 1.0)
    for ax, name in zip(axes, names, strict=True):
        _way(ax, rows[rows["where"] == name], low, high * (high / low) ** NUMBER_ROOM)
        ax.set_title(name)
    axes[-1].set_xlabel("speed-up over the plain setting, log scale (more is better)")
    note_below(axes[-1], _note(rows))
    return figure


def _height_in(steps: pd.Series) -> float:
    """Return the height of a panel: each of its rows has room for the longest of their labels."""
    lines = max(_wrapped(step).count("\n") + 1 for step in steps)
    return BAR_IN * ((len(steps) + 1) * max(1.0, lines / LINES) + OUTSIDE_ROWS)


def _wrapped(step: str) -> str:
    return textwrap.fill(step, SWITCH_LETTERS)


def alt_of(way: pd.DataFrame) -> str:
    """Return which bars `plot_way` draws of these rows, for a reader who does not see them."""
    apart = not _apart(way).empty
    totals = len(way) if way["kind"].eq(TOTAL).all() else way["where"].nunique()
    together = "all together" if totals == 1 else "all together in each search"
    bars = f"a bar for each part that was left out, and {together}" if apart else f"a bar for {together}"
    ends = ", with the interval" if way["low"].notna().any() else ""
    return f"Speed-up over the plain setting: {bars}{ends}."


def _apart(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the bars of switches that were left out: a bar that is alone in its panel is all together."""
    alone = rows.groupby("where")["step"].transform("size") == 1
    return rows[rows["kind"].isin([STEP, GROUP]) & ~alone]


def _note(rows: pd.DataFrame) -> str:
    """Return how to read the bars that are drawn, and no others."""
    switches, apart = rows[rows["kind"].isin([STEP, GROUP])], _apart(rows)
    told = rows if rows["kind"].eq(TOTAL).all() else switches
    hatches = [_look(*ends) for ends in told[["before", "low", "high"]].itertuples(index=False)]
    said = {
        "bar: what a step loses without that switch, all others on": len(apart) > 0,
        "bar: all together": len(apart) == 0,
        "line: interval": rows["low"].notna().any(),
        "hollow: undecided": UNDECIDED in hatches,
        "hatched: slower with it": SETBACK in hatches,
        "dotted: what they do only together, or more than once": (rows["kind"] == REST).any(),
    }
    bar, *others = (words for words, drawn in said.items() if drawn)
    return f"{bar};\n{'; '.join(others)}" if others else bar


def _way(ax: Axes, rows: pd.DataFrame, low: float, high: float) -> None:
    ratio_axis(ax.xaxis, low, high)
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5)
    labels, only_totals = ["plain"], rows["kind"].eq(TOTAL).all()
    _number(ax, "1.00x", 0, 1.0)
    for y, row in enumerate(rows.to_dict("records"), 1):
        before, after = row["before"], row["after"]
        right = max(before, after)
        is_total = row["kind"] == TOTAL
        own = {} if only_totals else LOOKS.get(row["kind"])  # a frame of pale bars alone would say nothing
        look = own or _look(before, row["low"], row["high"])
        ax.barh(y, after - before, left=before, height=0.6, gid=row["kind"], **look)
        if pd.notna(row["low"]):
            ax.hlines(y, row["low"], row["high"], color=".15", linewidth=2, gid="interval")
            right = max(right, row["high"])
        if not is_total:
            ax.plot([after, after], [y + 0.3, y + 0.7], color=".5", linewidth=0.8)
        text = f"{after if is_total else after / before:.2f}x"
        _number(ax, text, y, right, **({"weight": "bold"} if is_total else {}))
        labels.append(_wrapped(row["step"]))
    ax.set_yticks(range(len(labels)), labels, fontsize=SMALL_PT)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.grid(axis="y", visible=False)


def _look(before: float, low: float, high: float) -> dict[str, Any]:
    """Return how the bar of a switch looks: as its verdict, by where its interval lies."""
    if low > before * (1 + MARGIN):
        return FASTER
    return SETBACK if high < before / (1 + MARGIN) else UNDECIDED  # a missing end is neither


def _number(ax: Axes, text: str, y: int, right: float, **look: Any) -> None:
    """Write a size to the right of where its bar ends."""
    look |= {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": SMALL_PT}
    ax.annotate(text, (right, y), gid="number", **look)
