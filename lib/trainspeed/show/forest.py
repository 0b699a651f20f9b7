"""Charts with a row per arm or comparison: the forest of speed-ups, and test accuracy.

Draws outcomes, decides none: the outcome comes with the verdict.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trainspeed.core.format import model_of
from trainspeed.judge.verdict import MARGIN
from trainspeed.show.axes import (
    NOTE_LETTERS,
    break_labels,
    legend_below,
    name_figure,
    note_below,
    nothing,
    panels,
    ratio_axis,
)
from trainspeed.show.dot_rows import dot_rows, dot_rows_legend, height_in, looks_in, write_in_row
from trainspeed.show.fitting import at_width
from trainspeed.show.rows import (
    ARM_COLUMNS,
    accuracy_context,
    data_rows,
    epochs_trained,
    require,
    shared_factors,
    succeeded,
    verdict_frame,
)
from trainspeed.show.series import handles, marks
from trainspeed.show.theme import GREY, OUTCOME_STYLES, PALE, SMALL_PT, WIDTH_IN, Look, framework_colour

LABEL_LETTERS = 32  # a longer label of a row is broken into lines
WIDE_LABEL_LETTERS = 56  # … where the chart is as wide as a page
ROW_IN = 0.21  # height of one line of a label
EDGES_IN = 1.3  # height of what is above and below the rows
SIDE_LABELS_FROM_IN, WIDE_FROM_IN = (
    5.2,
    8.0,
)  # width of a panel in which labels stand beside the rows, and long ones too
NARROW_ROWS = 1.7  # times as high is a row with its label above
ABOVE_PT = 6  # from the middle of a mark to its label
ABOVE_FIRST = 0.6  # of a line of a label: room for the label above the first row
LETTERS_PER_IN = 12  # of a label above its row
ROOM = 0.04  # of what a forest of changes spans, at each end: half a mark, on the narrowest page too
HOLLOW = {"linestyle": "none", "marker": "o", "color": GREY, "markerfacecolor": "white"}


def forest(data: pd.DataFrame, *, looks: Mapping[str, Look], ax: Axes | None = None) -> Axes:
    """Draw each row of the frame as a row, the first on top: a mark with its interval, hollow without one.

    Args:
        data: label, kind (of `looks`), value, low, high; and `blocks`, which is written at the right, where
            the frame has it. A value may be missing.
        looks: Kind -> look, as `trainspeed.show.series.marks` takes it.
    """
    texts = [textwrap.fill(str(label), LABEL_LETTERS) for label in data["label"]]
    heights = pd.Series([text.count("\n") + 1.5 for text in texts])
    ys = (heights.cumsum() - heights / 2).to_numpy()
    alone = ax is None
    if alone:
        ax = plt.subplots(figsize=(WIDTH_IN, ROW_IN * heights.sum() + EDGES_IN), layout="constrained")[1]
    rows = data.assign(x=data["value"], y=ys)
    for kind, of_kind in rows[rows["value"].notna()].groupby("kind", sort=False):
        marks(ax, of_kind, along="x", look=looks[kind], gid=kind)
    ax.set_yticks(ys, texts, fontsize=SMALL_PT)
    ax.set_ylim(heights.sum(), 0)
    ax.grid(axis="y", visible=False)
    if "blocks" in data:
        small = {"fontsize": SMALL_PT, "transform": ax.get_yaxis_transform()}
        ax.text(1.02, 0, "blocks", color=GREY, va="bottom", **small)
        for y, blocks in rows[["y", "blocks"]].dropna().to_numpy():
            ax.text(1.02, y, f"{blocks:g}", va="center", gid="blocks", **small)
    figure = ax.get_figure(root=True)
    at_width(
        figure,
        lambda width_in, columns: _label_rows(ax, data["label"], heights, width_in / columns) / columns,
    )
    if alone:
        break_labels(figure, [ax])
    return ax


def show_zero_and(ends: pd.Series, ax: Axes, *, least: float) -> None:
    """Let the axis of a forest of changes reach from below 0 to above it, with room for the marks at its ends.

    Args:
        ends: What has to be seen: values, ends of intervals.
        least: How far the axis reaches on either side of 0, at least.
    """
    low, high = min(ends.min(), 0.0), max(ends.max(), 0.0)
    room = ROOM * (high - low)
    ax.set_xlim(min(low - room, -least), max(high + room, least))


def _label_rows(ax: Axes, labels: Sequence[str], heights: pd.Series, width_in: float) -> float:
    """Write the labels beside the rows, or above each where the panel is narrow; return what height that adds."""
    ys = ax.get_yticks()
    for old in [text for text in ax.texts if text.get_gid() == "label"]:
        old.remove()
    if width_in >= SIDE_LABELS_FROM_IN:
        letters = LABEL_LETTERS if width_in < WIDE_FROM_IN else WIDE_LABEL_LETTERS
        ax.set_yticks(ys, [textwrap.fill(str(label), letters) for label in labels])
        ax.set_ylim(heights.sum(), 0)
        return 0.0
    ax.set_yticks(ys, [""] * len(ys))
    ax.set_ylim(heights.sum(), -ABOVE_FIRST)
    where = {"xycoords": ax.get_yaxis_transform(), "xytext": (4, ABOVE_PT), "textcoords": "offset points"}
    for y, label in zip(ys, labels, strict=True):
        text = textwrap.fill(str(label), int(LETTERS_PER_IN * width_in))
        label = ax.annotate(text, (0, y), va="bottom", fontsize=SMALL_PT, gid="label", zorder=1.8, **where)
        label.set_bbox({"facecolor": "white", "linewidth": 0, "pad": 1})  # no line goes through it
    return (NARROW_ROWS - 1) * ROW_IN * heights.sum()


def plot_speedups(verdicts: Iterable[Any], *, title: str = "", ax: Axes | None = None) -> Axes:
    """Draw a forest plot: a row per comparison, dot and interval on a log axis, the largest speed-up on top.

    The grey band is the margin within which two times count as the same.

    Args:
        verdicts: Objects or mappings with label, speedup, low, high, outcome and blocks. Without low and
            high (fewer than 6 blocks) the dot is hollow and has no interval; without a speed-up (no pair
            of runs finished) the row says so.
    """
    data = verdict_frame(verdicts).sort_values("speedup", ascending=False, na_position="last")
    title = title or ("Speed-up with its 95 % interval" if data["low"].notna().any() else "Speed-up")
    alone = ax is None
    known = data[["speedup", "low", "high"]].stack().dropna()
    if known.empty:
        return nothing("No comparison has a pair of finished runs.", title=title, ax=ax)
    kinds = data["outcome"].where(data["outcome"].isin(OUTCOME_STYLES), "undecided")
    ax = forest(data.assign(kind=kinds, value=data["speedup"]), looks=OUTCOME_STYLES, ax=ax)
    for y, speedup in zip(ax.get_yticks(), data["speedup"], strict=True):
        if pd.isna(speedup):
            write_in_row(ax, y, "no pair of runs finished")
    ratio_axis(ax.xaxis, min(known.min(), 1 / (1 + MARGIN)), max(known.max(), 1 + MARGIN))
    ax.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, linewidth=0, zorder=0.5, gid="margin")
    ax.axvline(1, color=".3", linewidth=1.2, zorder=1.5, gid="one")
    if alone:
        name_figure(ax.get_figure(root=True), title)
    else:
        ax.set_title(title)
    ax.set_xlabel("speed-up: baseline time / candidate time\n(log scale; right of 1: candidate faster)")
    filled = {*kinds[data["low"].notna()]}  # marks without an interval are hollow, whatever their outcome
    looks = {kind: {**look, "linestyle": "none"} for kind, look in OUTCOME_STYLES.items() if kind in filled}
    if (data["low"].isna() & data["speedup"].notna()).any():
        looks["fewer than 6 blocks: no interval"] = HOLLOW
    entries: list[Artist] = handles(looks)
    entries.append(Patch(color=PALE, label=f"margin: same within {100 * MARGIN:g} %"))
    legend_below(ax.get_figure(root=True), entries)
    return ax


def plot_accuracy(frame: pd.DataFrame, *, title: str = "") -> Figure:
    """Draw test accuracy in %: a row per framework and layout, a dot per run, a panel per model.

    Args:
        title: What the chart says, by default what it shows.
    """
    require(frame, (*ARM_COLUMNS, "status", "label", "epochs_trained", "test_accuracy", "chance"))
    data = data_rows(frame)
    data["value"] = 100 * data["test_accuracy"].astype(float).where(succeeded(data))
    evaluated = data[data["value"].notna()]  # of the points of lines only the time is measured
    models = list(data["model"].unique())
    known = evaluated.dropna(subset="chance")
    looks = {
        arm: {"color": framework_colour(name)}
        for arm, name in zip(data["arm"], data["framework"], strict=True)
    }
    context = accuracy_context(data)
    title = title or "Test accuracy" + context + shared_factors(data)
    own = {model: data[data["model"] == model] for model in models}
    rows = {model: looks_in(own[model], looks) for model in models}
    heights = [height_in(rows[model]) for model in models]
    figure, axes = panels(len(models), title, height_in=heights, share_y=False)
    sizes = sorted(evaluated["batch_size"].unique())  # which learn differently
    for ax, model in zip(axes, models, strict=True):
        dot_rows(own[model], looks=rows[model], ax=ax, unknown="not evaluated", alike=len(sizes) <= 1)
        for chance in known.loc[known["model"] == model, "chance"].unique():
            ax.axvline(100 * chance, color=GREY, linestyle=":", linewidth=1.2, zorder=1, gid="chance")
        ax.set_title(model_of(model))
    together = f"; batch sizes {', '.join(map(str, sizes))} together" if len(sizes) > 1 else ""
    axes[-1].set_xlabel("test accuracy in %\n(more is better)")
    guessed = "; dotted: chance, one over the number of classes" if len(known) else ""
    unequal = ": compare what trained equally long, the table of results has the epochs"
    after = f";{context}{unequal if ' to ' in epochs_trained(data) else ''}" if context else ""
    note = f"{dot_rows_legend(data, alike=len(sizes) <= 1)}{guessed}{together}{after}"
    note_below(axes[-1], textwrap.fill(note, NOTE_LETTERS))
    if not data["value"].notna().any():
        axes[-1].set_xticks([])
    return figure
