"""Chart of what a first and a warm call of a convolution are made of. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from trainspeed.axes import note_below, panels, say, title_above
from trainspeed.cells import digits
from trainspeed.errors import UserError
from trainspeed.rows import require
from trainspeed.theme import OKABE_ITO, SMALL_PT, WIDTH_IN
from trainspeed.trial import check_name

STAGE_COLUMNS = ("library", "devices", "temperature", "stage", "seconds")
TEMPERATURES = {"cold": "First call of a fresh process", "warm": "A warm call"}
# Stage -> name in the legend and look, in the order of the stack. No colour of a framework.
STAGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "context": ("context", {"facecolor": "#C8C8C8", "hatch": "..."}),
    "to_device": ("to the device", {"facecolor": OKABE_ITO["sky blue"], "hatch": "////"}),
    "kernel": ("first call / kernel", {"facecolor": OKABE_ITO["orange"], "hatch": ""}),
    "from_device": ("from the device", {"facecolor": OKABE_ITO["purple"], "hatch": "\\\\\\\\"}),
    "gather": ("gather", {"facecolor": OKABE_ITO["yellow"], "hatch": "++"}),
}
IMPORT = "import"  # so much longer than all the others that it would hide them: told beside the bar
EDGE = {"edgecolor": ".2", "linewidth": 0.5}  # also the colour of the hatch
ROW_IN = 0.45
AROUND_IN = 0.95  # title and labels of a panel
REST_IN = 1.1  # title, note and legend of the figure
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
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: not measured on this machine.")
        ax.set(xticks=[], yticks=[])
        return figure
    names = list(data["name"].unique())
    shown = [kind for kind in TEMPERATURES if kind in set(data["temperature"])]
    height_in = ROW_IN * len(names) + AROUND_IN
    figure, grid = plt.subplots(
        len(shown),
        1,
        squeeze=False,
        figsize=(WIDTH_IN, height_in * len(shown) + REST_IN),
        layout="constrained",
    )
    longest = data.groupby(["temperature", "name"])["seconds"].sum().groupby("temperature").max()
    for ax, kind in zip(grid[:, 0], shown, strict=True):
        _bars(ax, data[data["temperature"] == kind], names, imports if kind == "cold" else {})
        times = longest["cold"] / longest[kind] if "cold" in shown and longest[kind] else 1
        magnified = f" (scale magnified about {float(f'{times:.1g}'):,.0f}×)" if times >= 2 else ""
        ax.set_title(TEMPERATURES[kind] + magnified)
    note_below(grid[-1, 0], NOTE)
    title_above(figure, "What a call is made of")
    seen = [stage for stage in STAGES if stage in set(data["stage"])]
    handles = [Patch(label=STAGES[stage][0], **STAGES[stage][1], **EDGE) for stage in seen]
    figure.legend(handles=handles, loc="outside lower left", ncols=3, handlelength=2.4, handleheight=1.1)
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
    twice = data[data.duplicated(["name", "temperature", "stage"])]
    if not twice.empty:
        row = twice.iloc[0]
        name = row["name"].replace("\n", " ")
        raise UserError(
            f"the rows hold {row['stage']} of {name} ({row['temperature']}) twice: pass one row of each."
        )
    return data


def _bars(ax: Axes, rows: pd.DataFrame, names: Sequence[str], imports: Mapping[str, float]) -> None:
    """Draw the bars of one panel, the first name on top, each with its total at the end.

    Args:
        imports: Name -> seconds of the import before, for the text.
    """
    table = rows.pivot(index="name", columns="stage", values="seconds").reindex(names)
    totals = table.sum(axis=1, min_count=1)
    factor, unit, word = (1, "s", "seconds") if totals.max() >= SECONDS_FROM else (1e3, "ms", "milliseconds")
    places = range(len(names) - 1, -1, -1)
    left = pd.Series(0.0, index=names)
    for stage in (stage for stage in STAGES if stage in table):
        widths = factor * table[stage].fillna(0.0)
        ax.barh(places, widths, left=left, height=0.62, gid=stage, **STAGES[stage][1], **EDGE)
        left = left + widths
    for place, end, total in zip(places, left, totals, strict=True):
        name = names[len(names) - 1 - place]
        before = f" (import: {digits(imports[name])} s)" if name in imports else ""
        ax.annotate(
            "not measured" if pd.isna(total) else f"{digits(factor * total)} {unit}{before}",
            (end, place),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=SMALL_PT,
            bbox={"facecolor": "white", "linewidth": 0, "pad": 1},  # over the grid
            gid="total",
        )
    ax.set_yticks(list(places), names)
    ax.set(
        xlim=(0, (left.max() or 1) * (IMPORT_ROOM if len(imports) else TOTAL_ROOM)),
        ylim=(-0.6, len(names) - 0.4),
    )
    ax.set_xlabel(f"{word} (less is better)")
    ax.grid(visible=False, axis="y")
