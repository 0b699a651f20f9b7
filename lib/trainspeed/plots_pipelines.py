"""Chart of input pipelines: input alone, compute alone, and whole steps. Decides nothing."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from trainspeed.axes import note_below, panels, say, title_above
from trainspeed.rows import require
from trainspeed.theme import GREY

# Column -> name in the legend, marker, colour: told apart by shape too.
PARTS = {
    "input_s": ("input alone", "<", "#0072B2"),
    "compute_s": ("compute alone", "|", GREY),
    "both_s": ("whole steps", "o", "#D55E00"),
}
ROW_IN = 0.32


def plot_pipelines(balances: pd.DataFrame) -> Figure:
    """Draw seconds per epoch: a row per pipeline, a mark for each part, a panel per framework and devices.

    Args:
        balances: As of `pipeline_study.balance_frame`.
    """
    require(balances, ("where", "pipeline", *PARTS))
    measured = balances[list(PARTS)].astype(float).notna().any(axis=None)
    groups = list(balances.groupby("where", sort=False)) if measured else []
    if not groups:
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: not measured on this machine.")
        ax.set_xticks([])
        ax.set_yticks([])
        return figure
    rows = max(len(group) for _, group in groups)
    figure, axes = panels(len(groups), height_in=0.7 + ROW_IN * rows, share_y=False)
    for ax, (where, group) in zip(axes, groups, strict=True):
        places = range(len(group) - 1, -1, -1)
        for column, (name, marker, colour) in PARTS.items():
            size = 14 if marker == "|" else 7
            seconds = group[column].astype(float)
            ax.plot(seconds, places, marker, color=colour, label=name, markersize=size, markeredgewidth=2)
        ax.set_yticks(list(places), group["pipeline"])
        ax.set_ylim(-0.6, len(group) - 0.4)
        ax.set_title(where)
    top = balances[list(PARTS)].astype(float).max().max()
    axes[-1].set_xlim(0, top * 1.05)
    axes[-1].set_xlabel("seconds per epoch (less is better)")
    note_below(axes[-1], "medians over the blocks; a missing mark was not measured")
    title_above(figure, "What holds a training step back")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower left", ncols=3)
    return figure
