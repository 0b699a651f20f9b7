"""The waterfall of a recipe: what each switch adds on top of those before it. Computes no speed-up."""

from __future__ import annotations

import textwrap
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.show.axes import nothing, panels, ratio_axis
from trainspeed.show.rows import require
from trainspeed.show.theme import OKABE_ITO, PALE, SMALL_PT
from trainspeed.studies.summary.recipe_text import CHAIN_COLUMNS

SIZE_COLUMNS = ["speedup", "low", "high"]
BAR_IN = 0.42
OUTSIDE_ROWS = 1.2  # of a panel, for its title and the room above and below the bars
SWITCH_LETTERS = 22
NUMBER_ROOM = 0.14  # share of the log axis behind the longest bar, for its number
STEP = {"color": OKABE_ITO["sky blue"], "edgecolor": ".25"}
# A switch that costs time after all.
SETBACK = {"color": OKABE_ITO["orange"], "edgecolor": ".25", "hatch": "//"}
TOTAL = {"color": PALE, "edgecolor": OKABE_ITO["black"]}


def plot_waterfall(rows: pd.DataFrame) -> Figure:
    """Draw a panel per search: a bar per switch, from the speed-up before it to the one with it, and the total.

    The bar of a switch that makes it slower goes back to the left and is hatched.

    Args:
        rows: As `recipe_text.chain_rows` returns them: the speed-up over the plain trial with this switch and all
            before it, with its interval (None where there is none).
    """
    require(rows, CHAIN_COLUMNS)
    rows = rows.astype(dict.fromkeys(SIZE_COLUMNS, float))
    names = list(dict.fromkeys(rows["where"]))
    if not names:
        return nothing("No switch was kept: nothing to put together.").get_figure()
    # Besides its own switches, each panel has a row for the plain trial and one for the total.
    counts = [int((rows["where"] == name).sum()) + 2 for name in names]
    heights_in = [BAR_IN * (count + OUTSIDE_ROWS) for count in counts]
    figure, axes = panels(len(names), "What each switch adds", height_in=heights_in, share_y=False)
    ends = rows[SIZE_COLUMNS].stack().dropna()
    low, high = min(ends.min(), 1.0), max(ends.max(), 1.0)
    for ax, name in zip(axes, names, strict=True):
        _panel(ax, rows[rows["where"] == name], low, high * (high / low) ** NUMBER_ROOM)
        ax.set_title(name)
    axes[-1].set_xlabel("speed-up over the plain setting, log scale (more is better)")
    return figure


def _panel(ax: Axes, rows: pd.DataFrame, low: float, high: float) -> None:
    ratio_axis(ax.xaxis, low, high)
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5)
    labels, before = ["plain"], 1.0
    _number(ax, before, 0, before)
    for y, (_, row) in enumerate(rows.iterrows(), 1):
        now = row["speedup"]
        look = SETBACK if now < before else STEP
        ax.barh(y, now - before, left=before, height=0.6, gid="step", **look)
        ax.plot([before, before], [y - 1 + 0.3, y - 0.3], color=".5", linewidth=0.8)
        _number(ax, now, y, max(before, now))
        labels.append(textwrap.fill(f"+ {row['switch']}", SWITCH_LETTERS))
        before = now
    last, y = rows.iloc[-1], len(rows) + 1
    ax.barh(y, last["speedup"] - 1, left=1.0, height=0.6, gid="total", **TOTAL)
    right = max(1.0, last["speedup"])
    if pd.notna(last["low"]) and pd.notna(last["high"]):
        ax.hlines(y, last["low"], last["high"], color=".15", linewidth=2, gid="interval")
        right = max(right, last["high"])
    _number(ax, last["speedup"], y, right, weight="bold")
    ax.set_yticks(range(len(rows) + 2), [*labels, "all together"], fontsize=SMALL_PT)
    ax.set_ylim(len(rows) + 1.6, -0.6)
    ax.grid(axis="y", visible=False)


def _number(ax: Axes, size: float, y: int, right: float, **look: Any) -> None:
    """Write a speed-up to the right of where its bar ends."""
    look |= {"xytext": (5, 0), "textcoords": "offset points", "va": "center", "fontsize": SMALL_PT}
    ax.annotate(f"{size:.2f}×", (right, y), gid="number", **look)
