"""Chart of what a first and a warm call of a convolution are made of. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.check import check_name
from trainspeed.core.errors import UserError
from trainspeed.core.format import digits
from trainspeed.show.axes import legend_below, note_below, nothing, panels
from trainspeed.show.bars import patches, stack
from trainspeed.show.rows import refuse_repeats, require
from trainspeed.show.theme import OKABE_ITO, SMALL_PT

STAGE_COLUMNS = ("library", "devices", "temperature", "stage", "seconds")
TEMPERATURES = {"cold": "First call of a fresh process", "warm": "A warm call"}
# Stage -> name in the legend, in the order of the stack. No colour of a framework.
STAGES = {
    "context": "context",
    "to_device": "to the device",
    "kernel": "first call / kernel",
    "from_device": "from the device",
    "gather": "gather",
}
HATCHES = ("...", "////", "", "\\\\\\\\", "++")
COLOURS = ("#C8C8C8", *(OKABE_ITO[name] for name in ("sky blue", "orange", "purple", "yellow")))
LOOKS = {
    name: {"facecolor": colour, "hatch": hatch, "edgecolor": ".2"}  # also the colour of the hatch
    for name, colour, hatch in zip(STAGES.values(), COLOURS, HATCHES, strict=True)
}
IMPORT = "import"  # so much longer than all the others that it would hide them: told beside the bar
ROW_IN, AROUND_IN = 0.45, 1.2  # height of a bar, and of a panel's title and labels
SECONDS_FROM = 1.0  # a panel whose longest bar is shorter is in milliseconds
TOTAL_ROOM, IMPORT_ROOM = 1.22, 1.7  # of the x axis over the longest bar: its total stands beyond it
NOTE = (
    "first call / kernel: when cold, tracing, compiling and\nautotuning as well; when warm, the kernel alone"
)


def plot_stages(stages: pd.DataFrame) -> Figure:
    """Draw what a call is made of: a stacked bar per library, cold and warm below each other.

    The panels have an x axis each, from 0, since a first call takes far longer than a warm one.

    Args:
        stages: As of `conv2d_frames.stage_rows`: library, devices, temperature ("cold" or "warm"), stage
            (one of STAGES, or "import"), seconds. Rows without seconds are left out.
    """
    data = _checked(stages)
    imports = data[data["stage"] == IMPORT].set_index("name")["seconds"] if len(data) else {}
    data = data[data["stage"] != IMPORT] if len(data) else data
    if data.empty:
        return nothing("Nothing to draw: not measured on this machine.").get_figure()
    names = list(data["name"].unique())
    shown = [kind for kind in TEMPERATURES if kind in set(data["temperature"])]
    height_in = ROW_IN * len(names) + AROUND_IN
    figure, axes = panels(
        len(shown), "What a call is made of", height_in=height_in, share_x=False, share_y=False
    )
    longest = data.groupby(["temperature", "name"])["seconds"].sum().groupby("temperature").max()
    for ax, kind in zip(axes, shown, strict=True):
        _bars(ax, data[data["temperature"] == kind], names, imports if kind == "cold" else {})
        times = longest["cold"] / longest[kind] if "cold" in shown and longest[kind] else 1
        magnified = f" (scale magnified about {float(f'{times:.1g}'):,.0f}×)" if times >= 2 else ""
        ax.set_title(TEMPERATURES[kind] + magnified)
    note_below(axes[-1], NOTE)
    seen = [name for stage, name in STAGES.items() if stage in set(data["stage"])]
    legend_below(figure, patches({name: LOOKS[name] for name in seen}))
    return figure


def _checked(stages: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have seconds, with the column `name` of their bar."""
    if stages.empty:
        return stages
    require(stages, STAGE_COLUMNS)
    for kind in stages["temperature"].unique():
        check_name("temperature", kind, tuple(TEMPERATURES))
    for stage in stages["stage"].unique():
        check_name("stage", stage, (IMPORT, *STAGES))
    data = stages[stages["seconds"].notna()].astype({"seconds": float})
    if (data["seconds"] < 0).any():
        raise UserError("seconds must be 0 or more in every row: a stage cannot take less than no time.")
    names = [
        row["library"] + (f",\n{row['devices']:g} devices" if row["devices"] > 1 else "")
        for row in data.to_dict("records")
    ]
    data = data.assign(name=names)
    refuse_repeats(
        data,
        ("name", "temperature", "stage"),
        lambda row: f"{row['stage']} of {row['name']} ({row['temperature']})".replace("\n", " "),
        "pass one row of each",
    )
    return data


def _bars(ax: Axes, rows: pd.DataFrame, names: Sequence[str], imports: Mapping[str, float]) -> None:
    """Draw the bars of one panel, the first name on top, each with its total at the end.

    Args:
        imports: Name -> seconds of the import before, for the text.
    """
    table = rows.pivot(index="name", columns="stage", values="seconds").reindex(names).rename(columns=STAGES)
    totals = table.sum(axis=1, min_count=1)
    factor, unit, word = (1, "s", "seconds") if totals.max() >= SECONDS_FROM else (1e3, "ms", "milliseconds")
    ends = stack(factor * table, looks=LOOKS, ax=ax)
    for place, name in zip(ax.get_yticks(), names, strict=True):
        before = f" (import: {digits(imports[name])} s)" if name in imports else ""
        ax.annotate(
            "not measured" if pd.isna(totals[name]) else f"{digits(ends[name])} {unit}{before}",
            (ends[name], place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_PT,
            bbox={"facecolor": "white", "linewidth": 0, "pad": 1},  # over the grid
            gid="total",
        )
    ax.set_xlim(0, (ends.max() or 1) * (IMPORT_ROOM if len(imports) else TOTAL_ROOM))
    ax.set_xlabel(f"{word} (less is better)")
