"""Chart of the roofline: what the device allows, and what training achieved below it. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import zip_longest

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator
from matplotlib.transforms import ScaledTranslation

from trainspeed.axes import note_below, panels, say, title_above
from trainspeed.lines import ROW_PT, Line, label_ends
from trainspeed.rows import require
from trainspeed.theme import FRAMEWORK_NAMES, GREY, PRECISION_STYLES, SMALL_PT, framework_name
from trainspeed.trial import check_name
from trainspeed.wording import model_of

# As many bits, so at one intensity: drawn beside each other, by so many points to the left or right.
BESIDE_PT = {"fp32": -3.5, "tf32": 3.5, "fp16": -3.5, "bf16": 3.5}
PARTNER = {"fp32": "tf32", "tf32": "fp32", "fp16": "bf16", "bf16": "fp16"}
SHAPES = ("o", "^", "D", "v", "P", "X", "<", ">", "*", "h")  # of the first, second, … model
SWATCH = "s"  # of a precision in the legend: no model's shape
POINT_COLUMNS = ("framework", "model", "precision", "intensity", "flop_per_s")
CEILING_COLUMNS = ("precision", "peak_flop_per_s", "bandwidth_bytes_per_s")
TERA_FROM = 10e12  # from here on FLOP/s are told in TFLOP/s
ROOM = 1.8  # factor on an axis beyond what is drawn
FINE_DECADES = 2.3  # an axis up to so long has ticks within its decades
TRAFFIC = "an estimate, as if no layers were fused; halved at 16 bits"
NOTE_LETTERS = 80
PANEL_IN = 3.4


def plot_roofline(points: pd.DataFrame, ceilings: pd.DataFrame, *, traffic: str = TRAFFIC) -> Figure:
    """Draw achieved FLOP/s over FLOPs per byte below one roof per precision; a panel per framework.

    Args:
        points: One row per mark: framework, model, precision, intensity (FLOPs per byte), flop_per_s.
        ceilings: One row per precision: peak_flop_per_s, bandwidth_bytes_per_s. A precision without either
            has no roof, which the note says.
        traffic: For the note: what the bytes are.
    """
    require(points, POINT_COLUMNS)
    require(ceilings, CEILING_COLUMNS)
    for precision in {*points["precision"], *ceilings["precision"]}:
        check_name("precision", precision, tuple(PRECISION_STYLES))
    data = points.astype(dict.fromkeys(POINT_COLUMNS[3:], float))
    placed = data[(data["intensity"] > 0) & (data["flop_per_s"] > 0)]
    if placed.empty:
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: no training with known FLOPs and bytes was measured on this machine.")
        ax.set(xticks=[], yticks=[])
        return figure
    roofs = ceilings.dropna(subset=list(CEILING_COLUMNS))
    ranks = {name: rank for rank, name in enumerate(FRAMEWORK_NAMES)}
    frameworks = sorted(placed["framework"].unique(), key=lambda name: ranks.get(name, len(ranks)))
    models = list(placed["model"].unique())
    figure, axes = panels(len(frameworks), height_in=PANEL_IN)
    divisor, unit = _unit(placed, roofs)
    (left, right), ys = _limits(placed, roofs)
    _log_axis(axes[0].xaxis, left, right)
    _log_axis(axes[0].yaxis, *(y / divisor for y in ys))
    for ax, framework in zip(axes, frameworks, strict=True):
        own = placed[placed["framework"] == framework]
        ax.set(title=framework_name(framework), ylabel=f"{unit} achieved\n(more is better)")
        _roofs(ax, roofs, (left, right), divisor)
        _points(ax, own, models, divisor)
    axes[-1].set_xlabel("FLOP per byte of memory traffic")
    note_below(axes[-1], _note(data, placed, roofs, traffic))
    title_above(figure, "Roofline: measured ceilings and achieved speed")
    precisions = {*placed["precision"], *roofs["precision"]}
    _legend(figure, sorted(precisions, key=[*PRECISION_STYLES].index), models)
    return figure


def _roofs(ax: Axes, roofs: pd.DataFrame, ends: tuple[float, float], divisor: float) -> None:
    """Draw each roof, sloped and then flat, with its name and peak right of the flat part."""
    left, right = ends
    lines = []
    for row in roofs.to_dict("records"):
        peak, bandwidth = row["peak_flop_per_s"] / divisor, row["bandwidth_bytes_per_s"] / divisor
        look = PRECISION_STYLES[row["precision"]]
        ridge = min(max(peak / bandwidth, left), right)
        xs = [left, ridge, right]
        ys = [min(peak, x * bandwidth) for x in xs]
        style = {"color": look["color"], "linestyle": look["linestyle"]}
        ax.plot(xs, ys, linewidth=1.6, gid="roof", label=row["precision"], zorder=1.8, **style)
        label = f"{row['precision']}: {_three(peak)}"
        lines.append(Line(label=label, short="", marker="", values={right: [ys[-1]]}, **style))
    label_ends(ax, lines)


def _points(ax: Axes, rows: pd.DataFrame, models: Sequence[str], divisor: float) -> None:
    """Draw a filled mark per row: shape by model, colour and edge by precision."""
    here = set(rows["precision"])
    inches = ax.get_figure(root=True).dpi_scale_trans
    for row in rows.to_dict("records"):
        look, precision = PRECISION_STYLES[row["precision"]], row["precision"]
        aside = BESIDE_PT[precision] if PARTNER[precision] in here else 0
        ax.plot(
            [row["intensity"]],
            [row["flop_per_s"] / divisor],
            marker=SHAPES[models.index(row["model"]) % len(SHAPES)],
            color=look["color"],
            markeredgecolor=look["edge"],
            markeredgewidth=0.8,
            markersize=8,
            linestyle="none",
            transform=ax.transData + ScaledTranslation(aside / 72, 0, inches),
            label=f"{row['model']} {precision}",
            zorder=2.5,
            gid="point",
        )


def _legend(figure: Figure, precisions: Sequence[str], models: Sequence[str]) -> None:
    """List the precisions in the left column and the models in the right one, below the panels."""
    colours = [
        Line2D(
            [],
            [],
            color=PRECISION_STYLES[name]["color"],
            linestyle=PRECISION_STYLES[name]["linestyle"],
            marker=SWATCH,
            markeredgecolor=PRECISION_STYLES[name]["edge"],
            label=name,
        )
        for name in precisions
    ]
    shapes = [
        Line2D([], [], color=GREY, linestyle="none", marker=SHAPES[place % len(SHAPES)], label=model_of(name))
        for place, name in enumerate(models)
    ]
    blank = Line2D([], [], linestyle="none", label=" ")
    pairs = list(zip_longest(colours, shapes, fillvalue=blank))  # matplotlib fills column by column
    handles = [pair[column] for column in (0, 1) for pair in pairs]
    figure.set_figheight(figure.get_figheight() + ROW_PT * 1.2 * len(pairs) / 72)
    figure.legend(handles=handles, loc="outside lower left", ncols=2, fontsize=SMALL_PT, handlelength=3.5)


def _unit(points: pd.DataFrame, roofs: pd.DataFrame) -> tuple[float, str]:
    most = max([*points["flop_per_s"], *roofs["peak_flop_per_s"]])
    return (1e12, "TFLOP/s") if most >= TERA_FROM else (1e9, "GFLOP/s")


def _limits(points: pd.DataFrame, roofs: pd.DataFrame) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ends of both axes: all marks, all ridges and all peaks are within."""
    ridges = roofs["peak_flop_per_s"] / roofs["bandwidth_bytes_per_s"]
    xs = [*points["intensity"], *ridges]
    ys = [*points["flop_per_s"], *roofs["peak_flop_per_s"]]
    return (min(xs) / ROOM, max(xs) * ROOM), (min(ys) / ROOM, max(ys) * ROOM)


def _log_axis(axis: Axis, low: float, high: float) -> None:
    """Make an axis logarithmic from low to high: ticks at 1, 2, 5; on a long one at 1 alone."""
    digits = (1, 2, 5) if math.log10(high / low) <= FINE_DECADES else (1,)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    name = axis.axis_name
    axis.axes.set(**{f"{name}scale": "log"})
    axis.axes.set(**{f"{name}lim": (low, high)})
    axis.set_major_locator(FixedLocator([digit * 10.0**decade for decade in decades for digit in digits]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:g}")


def _three(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _note(data: pd.DataFrame, placed: pd.DataFrame, roofs: pd.DataFrame, traffic: str) -> str:
    """Return how to read the chart, and what is missing in it."""
    parts = ["line: measured ceiling"] * (not roofs.empty) + [f"traffic: {traffic}"]
    without = [name for name in placed["precision"].unique() if name not in set(roofs["precision"])]
    if without:
        parts.append(f"no roof for {', '.join(without)}: peak or bandwidth was not measured")
    lost = data.drop(placed.index)
    if len(lost):
        names = (lost["model"].map(model_of) + " " + lost["precision"]).unique()
        parts.append(f"not drawn, FLOPs or bytes unknown: {', '.join(names)}")
    return textwrap.fill("; ".join(parts), NOTE_LETTERS)
