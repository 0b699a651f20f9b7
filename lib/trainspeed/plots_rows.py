"""Charts with a row per arm or comparison: test accuracy, and the forest of speed-ups.

Draws outcomes, decides none: the outcome comes with the verdict.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.transforms import ScaledTranslation

from trainspeed.axes import note_below, panels, ratio_axis, say, title_above
from trainspeed.rows import (
    accuracy_context,
    count_failures,
    data_rows,
    require,
    shared_factors,
    succeeded,
    verdict_frame,
)
from trainspeed.theme import (
    FILLS,
    GREY,
    OUTCOME_STYLES,
    PALE,
    SMALL_PT,
    WIDTH_IN,
    framework_colour,
    layout_style,
)
from trainspeed.wording import model_of

LABEL_LETTERS = 32  # a longer label of a comparison is broken into lines
LEGEND_DOWN_PT = 58
ROW_IN = 0.21  # height of one line of a label


def plot_accuracy(frame: pd.DataFrame) -> Figure:
    """Draw test accuracy in %: a row per framework and layout, a dot per run, a panel per model."""
    require(frame, ("framework", "layout", "model", "status", "label", "test_accuracy"))
    data = data_rows(frame)
    data["value"] = 100 * data["test_accuracy"].astype(float).where(succeeded(data))
    models, arms = list(data["model"].unique()), list(data["arm"].unique())
    figure, axes = panels(len(models), height_in=0.6 + 0.3 * len(arms))
    for ax, model in zip(axes, models, strict=True):
        rows = data[data["model"] == model]
        for place, arm in enumerate(arms):
            _accuracy_row(ax, rows[rows["arm"] == arm], place)
        ax.set(title=model_of(model), ylim=(len(arms) - 0.5, -0.5))
        ax.set_yticks(range(len(arms)), arms, fontsize=SMALL_PT)
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlabel("test accuracy in % (more is better)")
    note_below(axes[-1], "dot: one run; bar: median" + _batches(data))
    if not data["value"].notna().any():
        axes[-1].set_xticks([])
    title_above(figure, "Test accuracy" + accuracy_context(data) + shared_factors(data))
    return figure


def _accuracy_row(ax: Axes, rows: pd.DataFrame, place: int) -> None:
    values = rows["value"].dropna()
    if values.empty:
        text = count_failures(rows) or ("not measured" if rows.empty else "not evaluated")
        ax.text(
            0.01, place, text, transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL_PT, color=GREY
        )
        return
    row = rows.iloc[0]
    color, marker = framework_colour(row["framework"]), layout_style(row["layout"])["marker"]
    fill = FILLS[row["fill"] % len(FILLS)]
    look = {"color": color, "marker": marker, "fillstyle": fill, "linestyle": "none", "markersize": 5}
    ax.plot(values, [place] * len(values), alpha=0.8, gid="runs", **look)
    ax.vlines(values.median(), place - 0.32, place + 0.32, color=".15", linewidth=2, gid="median")


def _batches(data: pd.DataFrame) -> str:
    sizes = sorted(data["batch_size"].unique()) if "batch_size" in data else []
    return f"; batch sizes {', '.join(map(str, sizes))} together" if len(sizes) > 1 else ""


def plot_speedups(verdicts: Iterable[Any], *, margin: float = 0.02, ax: Axes | None = None) -> Axes:
    """Draw a forest plot: a row per comparison, dot and interval on a log axis, the largest speed-up on top.

    Args:
        verdicts: Objects or mappings with label, speedup, low, high, outcome and blocks. Without low and
            high (fewer than 6 blocks) the dot is hollow and has no interval; without a speed-up (no pair
            of runs finished) the row says so.
        margin: Within 1 ± margin two times count as the same: the grey band.
    """
    data = verdict_frame(verdicts).sort_values("speedup", ascending=False, na_position="last")
    labels = [textwrap.fill(str(label), LABEL_LETTERS) for label in data["label"]]
    heights = [0.5 + label.count("\n") + 1 for label in labels]
    if ax is None:
        size = (WIDTH_IN, ROW_IN * sum(heights) + 1.7)
        ax = plt.subplots(figsize=size, layout="constrained")[1]
    ax.set_title("Speed-up with its 95 % interval" if data["low"].notna().any() else "Speed-up")
    ends = [sum(heights[: place + 1]) for place in range(len(heights))]
    places = [end - height / 2 for end, height in zip(ends, heights, strict=True)]
    known = data[["speedup", "low", "high"]].stack().dropna()
    if known.empty:
        say(ax, "No comparison has a pair of finished runs.")
        ax.set(xticks=[], yticks=[])
        return ax
    ratio_axis(ax.xaxis, min(known.min(), 1 / (1 + margin)), max(known.max(), 1 + margin))
    ax.axvspan(1 / (1 + margin), 1 + margin, color=PALE, linewidth=0, zorder=0.5, gid="margin")
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5, gid="one")
    for place, (_, row) in zip(places, data.iterrows(), strict=True):
        _verdict_row(ax, row, place)
    ax.set_yticks(places, labels, fontsize=SMALL_PT)
    ax.set_ylim(ends[-1], 0)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("speed-up = baseline time / candidate time, log scale\n(above 1: the candidate is faster)")
    ax.text(1.02, 1, "blocks", transform=ax.transAxes, fontsize=SMALL_PT, color=GREY, va="bottom")
    _outcome_legend(ax, data, margin)
    return ax


def _verdict_row(ax: Axes, row: pd.Series, place: float) -> None:
    blocks = "" if pd.isna(row["blocks"]) else f"{row['blocks']:g}"
    ax.text(
        1.02, place, blocks, transform=ax.get_yaxis_transform(), fontsize=SMALL_PT, va="center", gid="blocks"
    )
    if pd.isna(row["speedup"]):
        box = {"facecolor": "white", "linewidth": 0, "pad": 1}
        text = {"fontsize": SMALL_PT, "va": "center", "color": GREY, "bbox": box}
        ax.text(0.01, place, "no pair of runs finished", transform=ax.get_yaxis_transform(), **text)
        return
    style = OUTCOME_STYLES.get(str(row["outcome"]), OUTCOME_STYLES["undecided"])
    sure = pd.notna(row["low"]) and pd.notna(row["high"])
    if sure:
        ax.hlines(place, row["low"], row["high"], color=".25", linewidth=1.8, gid="interval")
    ax.plot(
        [row["speedup"]],
        [place],
        marker=style["marker"],
        markersize=8,
        markerfacecolor=style["color"] if sure else "white",
        markeredgecolor=".25" if sure else style["color"],
        linestyle="none",
        gid=str(row["outcome"]),
    )


def _outcome_legend(ax: Axes, data: pd.DataFrame, margin: float) -> None:
    """List the outcomes that occur, what hollow means and what the band is, below the axis."""
    dot = {"linestyle": "none", "markersize": 8, "markeredgecolor": ".25"}
    handles: list[Artist] = [
        Line2D([], [], marker=style["marker"], markerfacecolor=style["color"], label=outcome, **dot)
        for outcome, style in OUTCOME_STYLES.items()
        if outcome in set(data["outcome"])
    ]
    if (data["low"].isna() & data["speedup"].notna()).any():
        hollow = dot | {"markeredgecolor": GREY, "markerfacecolor": "white"}
        handles.append(Line2D([], [], marker="o", label="fewer than 6 blocks: no interval", **hollow))
    handles.append(Patch(color=PALE, label=f"margin: same within {100 * margin:g} %"))
    # Clears the tick labels and the two lines of the axis label, whatever the height of the Axes.
    below = ax.transAxes + ScaledTranslation(
        0, -LEGEND_DOWN_PT / 72, ax.get_figure(root=True).dpi_scale_trans
    )
    place = {"loc": "upper left", "bbox_to_anchor": (0, 0), "bbox_transform": below, "borderaxespad": 0}
    ax.legend(handles=handles, ncols=2, fontsize=SMALL_PT, columnspacing=1, **place)
