"""Chart of what a training step on several devices is made of. Decides nothing."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from trainspeed.show.axes import legend_below, note_below, nothing, panels
from trainspeed.show.bars import patches, stack
from trainspeed.show.rows import require
from trainspeed.show.theme import GREY, OKABE_ITO, framework_name

# Column -> name in the legend, in the order of the stack; told apart by hatching too.
PIECES = {
    "compute_s": "one device's share, alone",
    "exchange_s": "sum of gradients, alone",
    "rest_s": "the rest",
}
LOOKS = {
    "one device's share, alone": {"facecolor": OKABE_ITO["sky blue"]},
    "sum of gradients, alone": {"facecolor": OKABE_ITO["orange"], "hatch": "///"},
    "the rest": {"facecolor": "#E4E4E4", "hatch": "..", "edgecolor": GREY},
}
ROW_IN = 0.5
NOTE = "mark: the whole step;\nwhere the bar ends beyond it, parts ran side by side"


def plot_costs(costs: pd.DataFrame) -> Figure:
    """Draw milliseconds of a step: a stacked bar per trial, a panel per framework.

    Args:
        costs: As of `scaling_costs.cost_frame`; rows without compute_s are left out.
    """
    require(costs, ("where", "framework", "step_s", *PIECES))
    groups = list(costs[costs["compute_s"].notna()].groupby("framework", sort=False))
    if not groups:
        return nothing("Nothing to draw: not measured on more than one device.").get_figure()
    heights_in = [0.7 + ROW_IN * len(group) for _, group in groups]
    title = "What a step on several devices is made of"
    figure, axes = panels(len(groups), title, height_in=heights_in, share_y=False)
    for ax, (framework, group) in zip(axes, groups, strict=True):
        table = 1000 * group.set_index("where")[list(PIECES)].astype(float)
        stack(table.rename(columns=PIECES), looks=LOOKS, ax=ax)
        mark = {"color": "black", "markersize": 18, "markeredgewidth": 2, "linestyle": "none"}
        (step,) = ax.plot(1000 * group["step_s"], ax.get_yticks(), marker="|", label="the whole step", **mark)
        ax.set_title(framework_name(framework))
    axes[-1].set_xlabel("milliseconds per step (less is better)")
    note_below(axes[-1], NOTE)
    drawn = {container.get_label() for ax in axes for container in ax.containers}
    legend_below(figure, [*patches({name: look for name, look in LOOKS.items() if name in drawn}), step])
    return figure
