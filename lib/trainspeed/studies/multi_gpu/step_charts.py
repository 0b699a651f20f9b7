"""Charts of what a step on several devices is made of, and of what feeds it. Decides nothing."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from trainspeed.show.axes import legend_below, note_below, nothing, panels
from trainspeed.show.bars import patches, stack
from trainspeed.show.rows import require
from trainspeed.show.series import handles
from trainspeed.show.theme import GREY, OKABE_ITO, PALE, framework_name

HOW_TO_READ_PIPELINES = (
    "How to read the chart: were input and compute perfectly side by side, whole steps would take as long as the "
    "longer of the two; one after the other, as long as both."
)
# Both in the order of the stack; the hatch tells the pieces apart without colour.
PIECE_COLUMNS = ["compute_s", "exchange_s", "rest_s"]
PIECE_LOOKS = {
    "one device's share, alone": {"facecolor": OKABE_ITO["sky blue"]},
    "sum of gradients, alone": {"facecolor": OKABE_ITO["orange"], "hatch": "///"},
    "the rest": {"facecolor": PALE, "hatch": "..", "edgecolor": GREY},
}
STEP_NOTE = "mark: the whole step;\nwhere the bar ends beyond it, parts ran side by side"
# The shape of the mark tells the parts of an epoch apart without colour.
PART_COLUMNS = ["input_s", "compute_s", "both_s"]
PART_LOOKS = {
    "input alone": {"marker": "<", "color": OKABE_ITO["blue"], "markersize": 7, "linestyle": "none"},
    "compute alone": {"marker": "|", "color": GREY, "markersize": 14, "linestyle": "none"},
    "whole steps": {"marker": "o", "color": OKABE_ITO["vermillion"], "markersize": 7, "linestyle": "none"},
}
BAR_ROW_IN, MARK_ROW_IN = 0.5, 0.32  # height of a row of a panel: of a bar, of marks
EDGE = 0.04  # of the longest time, left and right of the marks
PANEL_EDGES_IN = 0.7  # height of a panel's title and labels


def plot_costs(costs: pd.DataFrame, *, title: str = "What is a step on several devices made of?") -> Figure:
    """Draw the milliseconds of a step: a stacked bar per trial, a panel per framework.

    Args:
        costs: As returned by `costs.step_costs`; rows without compute_s are left out.
        title: What was found, or else the question.
    """
    require(costs, ("framework", "what", "devices", "step_s", *PIECE_COLUMNS))
    groups = list(costs[costs["compute_s"].notna()].groupby("framework", sort=False))
    if not groups:
        return nothing("Nothing to draw: not measured on more than one device.").get_figure()
    heights_in = [PANEL_EDGES_IN + BAR_ROW_IN * len(group) for _, group in groups]
    figure, axes = panels(len(groups), title, height_in=heights_in, share_y=False)
    for ax, (framework, group) in zip(axes, groups, strict=True):
        table = 1000 * group.set_index(group["what"] + "\n" + group["devices"])[PIECE_COLUMNS].astype(float)
        stack(table.set_axis(list(PIECE_LOOKS), axis="columns"), looks=PIECE_LOOKS, ax=ax)
        mark = {"color": "black", "markersize": 18, "markeredgewidth": 2, "linestyle": "none"}
        (step,) = ax.plot(1000 * group["step_s"], ax.get_yticks(), marker="|", label="the whole step", **mark)
        ax.set_title(framework_name(framework))
    axes[-1].set_xlabel("milliseconds per step (less is better)")
    note_below(axes[-1], STEP_NOTE)
    drawn = {container.get_label() for ax in axes for container in ax.containers}
    pieces = {name: look for name, look in PIECE_LOOKS.items() if name in drawn}
    legend_below(figure, [*patches(pieces), step])
    return figure


def plot_pipelines(balances: pd.DataFrame, *, title: str = "What holds a training step back?") -> Figure:
    """Draw the seconds of an epoch: a row per pipeline, a mark for each part, a panel per framework and devices.

    Args:
        balances: As returned by `balances.pipeline_balances`.
        title: What was found, or else the question.
    """
    require(balances, ("where", "pipeline", *PART_COLUMNS))
    seconds = balances[PART_COLUMNS].astype(float)
    if seconds.isna().all(axis=None):
        return nothing("Nothing to draw: not measured on this machine.").get_figure()
    groups = list(balances.groupby("where", sort=False))
    heights_in = [PANEL_EDGES_IN + MARK_ROW_IN * len(group) for _, group in groups]
    figure, axes = panels(len(groups), title, height_in=heights_in, share_y=False)
    for ax, (where, group) in zip(axes, groups, strict=True):
        rows = range(len(group))
        for column, (name, look) in zip(PART_COLUMNS, PART_LOOKS.items(), strict=True):
            ax.plot(seconds.loc[group.index, column], rows, markeredgewidth=2, label=name, **look)
        ax.set_yticks(rows, group["pipeline"])
        ax.set(title=where, ylim=(len(group) - 0.4, -0.6))
        ax.grid(axis="y", visible=False)
    longest_s = seconds.max(axis=None)
    axes[-1].set_xlim(-EDGE * longest_s, (1 + EDGE) * longest_s)  # a mark at 0 is whole
    axes[-1].set_xlabel("seconds per epoch (less is better)")
    note_below(axes[-1], "medians over the blocks; a missing mark was not measured")
    legend_below(figure, handles(PART_LOOKS))
    return figure
