"""Bars of training time per model and precision, as article 003 drew them. Decides nothing."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trainspeed.axes import note_below, panels, say, title_above
from trainspeed.frame import ARTICLE_EPOCHS
from trainspeed.rows import data_rows, require, succeeded
from trainspeed.theme import GREY, PRECISION_STYLES, SMALL_PT, framework_name, status_name

BAR = 0.8  # of the room of a model
MINUTE_S = 60.0


def plot_training_times(frame: pd.DataFrame, *, title: str = "Training time") -> Figure:
    """Draw a bar per model and precision, a panel per framework: medians over the blocks, a dot per run.

    Args:
        frame: As of `trainspeed.frame`: framework, model, precision, status, label, epochs, training_s.
            An arm without a result is a word in its place.
    """
    require(frame, ("framework", "model", "precision", "status", "label", "epochs", "training_s"))
    data = data_rows(frame) if len(frame) else frame
    if data.empty:
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: not measured on this machine.")
        ax.set(xticks=[], yticks=[])
        return figure
    groups = list(data.groupby("framework", sort=False))
    figure, axes = panels(len(groups), height_in=2.6, share_y=False)
    models = list(dict.fromkeys(data["model"]))
    precisions = [name for name in PRECISION_STYLES if name in set(data["precision"])]
    top = data.loc[succeeded(data), "training_s"].astype(float).max()
    divisor, unit = (MINUTE_S, "minutes") if top > 2 * MINUTE_S else (1.0, "seconds")
    for ax, (framework, rows) in zip(axes, groups, strict=True):
        for place, model in enumerate(models):
            for index, precision in enumerate(precisions):
                arm = rows[(rows["model"] == model) & (rows["precision"] == precision)]
                x = place + BAR * ((index + 0.5) / len(precisions) - 0.5)
                _bar(ax, arm, x, BAR / len(precisions), precision, divisor)
        ax.set(title=framework_name(framework), ylabel=unit, xlim=(-0.6, len(models) - 0.4))
        ax.set_xticks(range(len(models)), [model.replace("_", "\n") for model in models])
        ax.set_ylim(bottom=0)
        ax.grid(visible=False, axis="x")
    projected = (data["epochs"] < ARTICLE_EPOCHS).any()
    how = "projected from the first epoch and the median of the others" if projected else "measured"
    note_below(axes[-1], f"{ARTICLE_EPOCHS} epochs, {how}; less is better; dots: runs")
    title_above(figure, title)
    handles = [Patch(label=name, edgecolor="white", **_fill(name)) for name in precisions]
    figure.legend(handles=handles, loc="outside lower left", ncols=4)
    return figure


def _fill(precision: str) -> dict[str, str]:
    style = PRECISION_STYLES[precision]
    return {"facecolor": style["color"], "hatch": style["hatch"]}


def _bar(ax: Axes, rows: pd.DataFrame, x: float, width: float, precision: str, divisor: float) -> None:
    seconds = rows.loc[succeeded(rows), "training_s"].astype(float).to_numpy() if len(rows) else np.array([])
    if not len(rows):
        return
    if not len(seconds):
        ax.text(
            x,
            0.02,
            f"{precision} {status_name(rows['status'].iloc[0])}",
            rotation=90,
            ha="center",
            va="bottom",
            fontsize=SMALL_PT,
            color=GREY,
            transform=ax.get_xaxis_transform(),
            gid="failed",
        )
        return
    ax.bar(
        x,
        np.median(seconds) / divisor,
        0.92 * width,
        edgecolor="white",
        linewidth=0.8,
        gid="bar",
        **_fill(precision),
    )
    ax.plot([x] * len(seconds), seconds / divisor, ".", color="black", markersize=4, gid="run")
