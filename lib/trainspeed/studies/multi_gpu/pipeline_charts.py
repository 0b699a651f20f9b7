"""Chart of input pipelines: input alone, compute alone, and whole steps. Decides nothing."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from trainspeed.show.axes import legend_below, note_below, nothing, panels
from trainspeed.show.rows import require
from trainspeed.show.series import handles
from trainspeed.show.theme import GREY, OKABE_ITO

PARTS = {"input_s": "input alone", "compute_s": "compute alone", "both_s": "whole steps"}
# Told apart by shape too.
LOOKS = {
    "input alone": {"marker": "<", "color": OKABE_ITO["blue"], "markersize": 7},
    "compute alone": {"marker": "|", "color": GREY, "markersize": 14},
    "whole steps": {"marker": "o", "color": OKABE_ITO["vermillion"], "markersize": 7},
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
        return nothing("Nothing to draw: not measured on this machine.").get_figure()
    heights_in = [0.7 + ROW_IN * len(group) for _, group in groups]
    figure, axes = panels(len(groups), "What holds a training step back", height_in=heights_in, share_y=False)
    for ax, (where, group) in zip(axes, groups, strict=True):
        for column, name in PARTS.items():
            look = {**LOOKS[name], "linestyle": "none", "markeredgewidth": 2, "label": name}
            ax.plot(group[column].astype(float), range(len(group)), **look)
        ax.set_yticks(range(len(group)), group["pipeline"])
        ax.set(title=where, ylim=(len(group) - 0.4, -0.6))
        ax.grid(axis="y", visible=False)
    axes[-1].set_xlim(0, balances[list(PARTS)].astype(float).max(axis=None) * 1.05)
    axes[-1].set_xlabel("seconds per epoch (less is better)")
    note_below(axes[-1], "medians over the blocks; a missing mark was not measured")
    legend_below(figure, handles({name: {**look, "linestyle": "none"} for name, look in LOOKS.items()}))
    return figure
