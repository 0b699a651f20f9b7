"""The waterfall of a recipe: what each switch adds on top of those before it. Computes no speed-up."""

from __future__ import annotations

import textwrap

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.axes import panels, ratio_axis, say
from trainspeed.rows import require
from trainspeed.theme import OKABE_ITO, PALE, SMALL_PT

COLUMNS = ("where", "switch", "speedup", "low", "high")
ROW_IN = 0.42
LABEL_LETTERS = 22
STEP, ALL = OKABE_ITO["sky blue"], OKABE_ITO["black"]


def plot_waterfall(rows: pd.DataFrame) -> Figure:
    """Draw a panel per search: a bar per switch, from the speed-up before it to the one with it, and the total.

    Args:
        rows: As `recipe_words.chain_rows`: the speed-up over the plain trial with this switch and all before it,
            with its interval (None where there is none).
    """
    require(rows, COLUMNS)
    names = list(dict.fromkeys(rows["where"]))
    most = max((len(group) for _, group in rows.groupby("where")), default=0)
    figure, axes = panels(max(len(names), 1), height_in=0.9 + ROW_IN * (most + 2))
    if not names:
        say(axes[0], "No switch was kept: nothing to put together.")
        axes[0].set(xticks=[], yticks=[])
        return figure
    ends = rows[["speedup", "low", "high"]].astype(float).stack().dropna()
    for ax, name in zip(axes, names, strict=True):
        _panel(ax, rows[rows["where"] == name], min(ends.min(), 1.0), max(ends.max(), 1.0))
        ax.set_title(name)
    axes[-1].set_xlabel("speed-up over the plain setting, log scale (more is better)")
    figure.suptitle("What each switch adds")
    return figure


def _panel(ax: Axes, rows: pd.DataFrame, low: float, high: float) -> None:
    ratio_axis(ax.xaxis, low, high)
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5)
    labels, before = ["plain"], 1.0
    ax.plot([1], [0], marker="|", markersize=14, color=".3", gid="plain")
    for place, (_, row) in enumerate(rows.iterrows(), 1):
        now = float(row["speedup"])
        ax.barh(place, now - before, left=before, height=0.6, color=STEP, edgecolor=".25", gid="step")
        ax.plot([before, before], [place - 1 + 0.3, place - 0.3], color=".5", linewidth=0.8)
        labels.append(textwrap.fill(f"+ {row['switch']}", LABEL_LETTERS))
        before = now
    last = rows.iloc[-1]
    place = len(rows) + 1
    ax.barh(place, before - 1, left=1.0, height=0.6, color=PALE, edgecolor=ALL, gid="total")
    if pd.notna(last["low"]) and pd.notna(last["high"]):
        ax.hlines(place, last["low"], last["high"], color=".15", linewidth=2, gid="interval")
    ax.annotate(
        f"{before:.2f}×",
        (max(before, float(last["high"]) if pd.notna(last["high"]) else before), place),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        fontsize=SMALL_PT,
        annotation_clip=False,
    )
    labels.append("all together")
    ax.set_yticks(range(place + 1), labels, fontsize=SMALL_PT)
    ax.set_ylim(place + 0.6, -0.6)
    ax.grid(axis="y", visible=False)
