"""Chart of what a training step on several devices is made of. Decides nothing."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from trainspeed.axes import note_below, panels, say, title_above
from trainspeed.rows import require
from trainspeed.theme import GREY, OKABE_ITO, framework_name

# Column -> name in the legend and look, in the order of the stack: told apart by hatching too.
PIECES = {
    "compute_s": ("one device's share, alone", {"color": OKABE_ITO["sky blue"]}),
    "exchange_s": ("sum of gradients, alone", {"color": OKABE_ITO["orange"], "hatch": "///"}),
    "rest_s": ("the rest", {"color": "#E4E4E4", "hatch": "..", "edgecolor": GREY}),
}
ROW_IN = 0.5
NOTE = "mark: the whole step;\nwhere the bar ends beyond it, parts ran side by side"


def plot_costs(costs: pd.DataFrame) -> Figure:
    """Draw milliseconds of a step: a stacked bar per trial, a panel per framework.

    Args:
        costs: As of `scaling_costs.cost_frame`; rows without compute_s are left out.
    """
    require(costs, ("where", "framework", "step_s", *PIECES))
    known = costs[costs["compute_s"].notna()]
    groups = list(known.groupby("framework", sort=False))
    if not groups:
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: not measured on more than one device.")
        ax.set(xticks=[], yticks=[])
        return figure
    height_in = 0.7 + ROW_IN * max(len(group) for _, group in groups)
    figure, axes = panels(len(groups), height_in=height_in, share_y=False)
    handles = {}
    for ax, (framework, group) in zip(axes, groups, strict=True):
        places = range(len(group) - 1, -1, -1)
        left = pd.Series(0.0, index=group.index)
        for column, (name, look) in PIECES.items():
            widths = 1000 * group[column].astype(float).fillna(0.0).clip(lower=0.0)
            if not widths.any():
                continue
            handles[name] = ax.barh(list(places), widths, left=left, height=0.6, linewidth=0.6, **look)
            left = left + widths
        marks = ax.plot(1000 * group["step_s"], places, "|", color="black", markersize=18, markeredgewidth=2)
        handles["the whole step"] = marks[0]
        ax.set_yticks(list(places), group["where"])
        ax.set(title=framework_name(framework), ylim=(-0.6, len(group) - 0.4))
        ax.grid(visible=False, axis="y")
    axes[-1].set_xlim(left=0)
    axes[-1].set_xlabel("milliseconds per step (less is better)")
    note_below(axes[-1], NOTE)
    title_above(figure, "What a step on several devices is made of")
    figure.legend(handles.values(), handles.keys(), loc="outside lower left", ncols=2)
    return figure
