"""Bars: side by side with a dot per run, and stacked. Knows numbers and Axes, and not what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from trainspeed.core.format import three
from trainspeed.show.seaborn_alone import sns
from trainspeed.show.theme import GREY, SMALL_PT, Look

GROUP = 0.8  # share of a group's room that its bars take
THICK = 0.6  # height of a stacked bar, as a share of its row
TOO_LONG = 4.0  # times as long as the next one: such a bar is cut off
ROOM_ABOVE = 1.3  # of the longest bar that is not cut off
GROUPS_PT = 280.0  # about as long as an axis of groups, of two panels side by side


def bars(
    data: pd.DataFrame,
    *,
    groups: Sequence[str],
    looks: Mapping[str, Look],
    ax: Axes,
    most: float | None = None,
) -> Axes:
    """Draw a bar per group and kind, the median, with a dot per run; where no run has a value, write why.

    Args:
        data: One row per run: group, kind (of `looks`), value, and why, the word to write without a value.
        looks: Kind -> facecolor, edgecolor and hatch, in the order of the bars of a group.
        most: Where the axis ends, if some bars are cut off there: see `cut_of`. Those have their value written on them.
    """
    known, count = data[data["value"].notna()], len(looks)
    if most is not None:
        middles = known.groupby(["group", "kind"], sort=False)["value"].transform("median")
        _write_values(known[middles > most].assign(value=middles), groups, [*looks], ax)
        known = known.assign(value=known["value"].where(middles <= most, 1.1 * most))
    names = {"x": "group", "y": "value", "hue": "kind", "order": groups, "hue_order": [*looks]}
    if len(known):
        options = {"data": known, **names, "legend": False, "ax": ax}
        edge = {"edgecolor": "white", "linewidth": 0.8, "gid": "bar"}
        sns.barplot(**options, dodge=True, estimator="median", errorbar=None, width=GROUP, gap=0.08, **edge)
        for container, look in zip(ax.containers, looks.values(), strict=True):
            for bar in container:
                bar.set(**look)
        # The dots have a white edge, or a black bar would hide them.
        dots = {"size": 5, "edgecolor": "white", "linewidth": 0.8, "clip_on": most is not None, "gid": "run"}
        sns.stripplot(**options, dodge=True, jitter=False, palette=["black"] * count, **dots)
    drawn = set(zip(known["group"], known["kind"], strict=True))
    reasons = data.drop(known.index).drop_duplicates(["group", "kind"])
    look = {"ha": "center", "va": "bottom", "rotation": 90, "color": GREY, "gid": "failed"}
    look["fontsize"] = min(SMALL_PT, 0.95 * GROUPS_PT * GROUP / count / len(groups))
    for row in reasons.to_dict("records"):
        if (row["group"], row["kind"]) not in drawn:
            x = groups.index(row["group"]) + GROUP * (([*looks].index(row["kind"]) + 0.5) / count - 0.5)
            ax.text(x, 0.02, f"{row['kind']} {row['why']}", transform=ax.get_xaxis_transform(), **look)
    ax.set(xlabel="", xlim=(-0.6, len(groups) - 0.4) if len(groups) > 1 else (-1, 1))
    ax.set_ylim(0, most)
    ax.grid(visible=False, axis="x")
    if known.empty:
        ax.set_yticks([])
    return ax


def cut_of(middles: Sequence[float]) -> float | None:
    """Return where an axis of bars ends that cuts off those that are many times as long; None where none is.

    Beside one bar of six minutes nothing can be read of bars of ten seconds. At most a third of the bars are cut off.

    Args:
        middles: Lengths of all bars.
    """
    longest = sorted(middles, reverse=True)
    for number in range(1, len(longest) // 3 + 1):
        if longest[number - 1] > TOO_LONG * longest[number]:
            return ROOM_ABOVE * longest[number]
    return None


def _write_values(cut: pd.DataFrame, groups: Sequence[str], kinds: Sequence[str], ax: Axes) -> None:
    """Write the value on each bar that is cut off."""
    box = {"facecolor": "white", "linewidth": 0, "pad": 1.5}
    for row in cut.drop_duplicates(["group", "kind"]).to_dict("records"):
        x = groups.index(row["group"]) + GROUP * ((kinds.index(row["kind"]) + 0.5) / len(kinds) - 0.5)
        text = f"{three(row['value'])} ↑"
        look = {"ha": "center", "va": "top", "fontsize": SMALL_PT, "bbox": box, "zorder": 6, "gid": "cut"}
        ax.text(x, 0.97, text, transform=ax.get_xaxis_transform(), **look)


def stack(table: pd.DataFrame, *, looks: Mapping[str, Look], ax: Axes) -> pd.Series:
    """Draw a stacked bar per row, the first on top; return where each ends.

    Args:
        table: Index: the names of the bars. A column for each piece, in any order; less than 0 is drawn as 0.
        looks: Piece -> facecolor, edgecolor and hatch, in the order of the stack.
    """
    ys = range(len(table) - 1, -1, -1)
    ends = pd.Series(0.0, index=table.index)
    for piece in (piece for piece in looks if piece in table and (table[piece] > 0).any()):
        widths = table[piece].astype(float).fillna(0.0).clip(lower=0.0)
        look = {"height": THICK, "linewidth": 0.6, "gid": piece, "label": piece, **looks[piece]}
        ax.barh(ys, widths, left=ends, **look)
        ends = ends + widths
    ax.set_yticks(ys, table.index)
    ax.set_ylim(-0.6, len(table) - 0.4)
    ax.set_xlim(left=0)
    ax.grid(visible=False, axis="y")
    return ends


def patches(looks: Mapping[str, Look]) -> list[Patch]:
    """Return a legend entry for each name."""
    return [Patch(label=name, **look) for name, look in looks.items()]
