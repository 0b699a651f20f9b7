"""Chart of what a first and a warm call of a convolution are made of. Decides nothing."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.format import digits
from trainspeed.show.axes import legend_below, note_below, nothing, panels
from trainspeed.show.bars import patches, stack
from trainspeed.show.rows import require
from trainspeed.show.series import handles
from trainspeed.show.theme import OKABE_ITO, SMALL_PT
from trainspeed.studies.conv2d.frames import STAGE_COLUMNS

TEMPERATURES = {"cold": "First call of a fresh process", "warm": "A warm call, stage by stage"}
# Stage -> name in the legend, in the order of the stack. No colour of a framework.
STAGE_NAMES = {
    "context": "context",
    "to_device": "to the device",
    "kernel": "first call / kernel",
    "from_device": "from the device",
    "gather": "gather",
}
STAGE_HATCHES = ("...", "////", "", "\\\\\\\\", "++")
STAGE_COLOURS = ("#C8C8C8", *(OKABE_ITO[name] for name in ("sky blue", "orange", "purple", "yellow")))
STAGE_LOOKS = {
    name: {"facecolor": colour, "hatch": hatch, "edgecolor": ".2"}  # also the colour of the hatch
    for name, colour, hatch in zip(STAGE_NAMES.values(), STAGE_COLOURS, STAGE_HATCHES, strict=True)
}
ROW_IN, AROUND_IN = 0.55, 1.2  # height of a bar, and of a panel's title and labels
SECONDS_FROM = 1.0  # a panel whose longest bar is shorter is in milliseconds
WHOLE = {"color": "black", "linestyle": "none", "marker": "|", "markersize": 22, "markeredgewidth": 2}
# Length of the x axis over the longest bar, beyond which stands its sum, or the times of the whole call and import too.
SUM_ROOM, NAMED_ROOM = 1.22, 1.7
NOTE = (
    "first call / kernel: when cold, tracing, compiling and\nautotuning as well; when warm, the kernel alone"
)
WHOLE_NOTE = (
    "\ntick: the whole call, as in the table; stages are medians of their own, so that their sum may be another time;"
    " those of a warm call are from the few calls before the turns, each waited for"
)


def plot_stages(stages: pd.DataFrame, *, title: str = "What is a call made of?") -> Figure:
    """Draw what a call is made of: a stacked bar per library, cold and warm below each other.

    The panels have an x axis each, from 0, since a first call takes far longer than a warm one. The import
    takes so much longer than all stages that it would hide them: its time stands next to the bar.

    Args:
        stages: As returned by `frames.stage_rows`.
        title: What was found, or else the question.
    """
    require(stages, STAGE_COLUMNS)
    devices = stages["devices"].map(lambda count: f",\n{count} devices" if count > 1 else "")
    named = stages.assign(name=stages["library"] + devices).rename(columns=STAGE_NAMES)
    measured = named.dropna(subset=list(STAGE_LOOKS), how="all")
    if measured.empty:
        return nothing("Nothing to draw: not measured on this machine.").get_figure()
    names = measured["name"].unique()
    tables = {kind: rows.set_index("name").reindex(names) for kind, rows in measured.groupby("temperature")}
    height_in = ROW_IN * len(names) + AROUND_IN
    figure, axes = panels(len(tables), title, height_in=height_in, share_x=False, share_y=False)
    ends_s = {kind: _bars(ax, table) for ax, (kind, table) in zip(axes, tables.items(), strict=True)}
    for ax, kind in zip(axes, tables, strict=True):
        times = ends_s.get("cold", 0) / ends_s[kind]
        magnified = f" (scale magnified about {float(f'{times:.1g}'):,.0f}×)" if times >= 2 else ""
        ax.set_title(TEMPERATURES[kind] + magnified)
    note_below(axes[-1], NOTE + WHOLE_NOTE * bool(measured["whole"].notna().any()))
    drawn = {name: look for name, look in STAGE_LOOKS.items() if measured[name].notna().any()}
    whole = {"whole call": {**WHOLE, "markersize": 9}} if measured["whole"].notna().any() else {}
    legend_below(figure, [*patches(drawn), *handles(whole)])
    return figure


def _bars(ax: Axes, table: pd.DataFrame) -> float:
    """Draw the bars of one panel, the first row on top, each with its sum; return where its x axis ends, in seconds.

    What the whole call takes is a tick of its own: that is another time than the sum.
    """
    pieces = table[list(STAGE_LOOKS)]
    totals = pieces.sum(axis=1, min_count=1)
    longest_s = max(totals.max(), table["whole"].max() if table["whole"].notna().any() else 0) or 1
    factor, unit, word = (1, "s", "seconds") if longest_s >= SECONDS_FROM else (1e3, "ms", "milliseconds")
    ends = stack(factor * pieces, looks=STAGE_LOOKS, ax=ax)
    for y, name in zip(ax.get_yticks(), table.index, strict=True):
        import_s, whole = table["import"][name], factor * table["whole"][name]
        text = f"{digits(ends[name])} {unit}"
        if pd.notna(whole):
            ax.plot([whole], [y], gid="whole", **WHOLE)
            text = f"sum: {text}\nwhole: {digits(whole)} {unit}"
        text += "" if pd.isna(import_s) else f"\nimport: {digits(import_s)} s"
        ax.annotate(
            "not measured" if pd.isna(totals[name]) else text,
            (ends[name] if pd.isna(whole) else max(ends[name], whole), y),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_PT,
            bbox={"facecolor": "white", "linewidth": 0, "pad": 1},  # over the grid
            gid="total",
        )
    room = NAMED_ROOM if table[["whole", "import"]].notna().any(axis=None) else SUM_ROOM
    ax.set_xlim(0, factor * longest_s * room)
    ax.set_xlabel(f"{word} (less is better)")
    return longest_s * room
