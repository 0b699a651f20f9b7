"""Chart of the roofline: what the device allows, and what training achieved below it. Decides nothing."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation

from trainspeed.core.errors import check_name
from trainspeed.core.format import DEFAULT_PRECISION, model_of, three
from trainspeed.judge.roofline import PRECISION_BYTES
from trainspeed.show.axes import NOTE_LETTERS, legend_below, log_axis, note_below, nothing, panels
from trainspeed.show.rows import by_framework, require
from trainspeed.show.series import handles
from trainspeed.show.theme import GREY, PRECISION_STYLES, framework_name

MARK_STEP_PT = 7  # between the marks of precisions of as many bits, which have one intensity
SHAPES = ("o", "^", "D", "v", "P", "X", "<", ">", "*", "h")  # of the first, second, … model
SWATCH = "s"  # of a precision in the legend: no model's shape
POINT_COLUMNS = ("framework", "model", "precision", "intensity", "flop_per_s")
CEILING_COLUMNS = ("precision", "peak_flop_per_s", "bandwidth_bytes_per_s")
TERA_FROM = 10e12  # FLOP/s; from here on the unit is TFLOP/s
AXIS_MARGIN = 1.8  # factor on an axis beyond what is drawn
TRAFFIC = "an estimate, as if no layers were fused; halved at 16 bits"
PANEL_IN = 3.4
QUESTION = "Roofline: how near is that to what the device allows?"
CEILINGS = {
    True: "memory traffic",
    False: "arithmetic",
}  # whether a mark is left of its roof's knee -> which ceiling is lower there


def plot_roofline(points: pd.DataFrame, ceilings: pd.DataFrame, *, traffic: str = TRAFFIC) -> Figure:
    """Draw achieved FLOP/s over FLOPs per byte below one roof per precision; a panel per framework.

    Args:
        points: One row per mark: framework, model, precision, intensity (FLOPs per byte), flop_per_s.
        ceilings: One row per precision: peak_flop_per_s, bandwidth_bytes_per_s. Where either is missing, the
            precision has no roof, which the note says.
        traffic: What the bytes are, for the note.
    """
    require(points, POINT_COLUMNS)
    require(ceilings, CEILING_COLUMNS)
    for precision in {*points["precision"], *ceilings["precision"]}:
        check_name("precision", precision, tuple(PRECISION_STYLES))
    data = points.astype(dict.fromkeys(POINT_COLUMNS[3:], float))
    placed = data[(data["intensity"] > 0) & (data["flop_per_s"] > 0)]
    if placed.empty:
        why = "Nothing to draw: no training with known FLOPs and bytes was measured on this machine."
        return nothing(why).get_figure()
    roofs = ceilings.dropna(subset=list(CEILING_COLUMNS))
    xs = [*placed["intensity"], *(roofs["peak_flop_per_s"] / roofs["bandwidth_bytes_per_s"])]
    ys = [*placed["flop_per_s"], *roofs["peak_flop_per_s"]]
    left, right = min(xs) / AXIS_MARGIN, max(xs) * AXIS_MARGIN
    divisor, unit = (1e12, "TFLOP/s") if max(ys) >= TERA_FROM else (1e9, "GFLOP/s")
    frameworks = by_framework(placed)["framework"].unique()
    shapes = {model: SHAPES[n % len(SHAPES)] for n, model in enumerate(placed["model"].unique())}
    figure, axes = panels(len(frameworks), _title(placed, roofs), height_in=PANEL_IN)
    for ax, framework in zip(axes, frameworks, strict=True):
        log_axis(ax.xaxis, left, right)
        log_axis(ax.yaxis, min(ys) / AXIS_MARGIN / divisor, max(ys) * AXIS_MARGIN / divisor)
        ax.set(title=framework_name(framework), ylabel=f"{unit} achieved\n(more is better)")
        _draw_roofs(ax, roofs, left, right, divisor)
        _draw_points(ax, placed[placed["framework"] == framework], shapes, divisor)
    axes[-1].set_xlabel("FLOP per byte of memory traffic")
    note_below(axes[-1], _note(data, placed, roofs, traffic))
    peaks = roofs.set_index("precision")["peak_flop_per_s"]
    precisions = [name for name in PRECISION_STYLES if name in {*placed["precision"], *peaks.index}]
    names = {n: f"{n}: {three(peaks[n] / divisor)} {unit} at most" if n in peaks else n for n in precisions}
    entries = {
        names[n]: _look(n) | {"marker": SWATCH, "linestyle": PRECISION_STYLES[n]["linestyle"]}
        for n in precisions
    }
    entries |= {
        model_of(name): {"color": GREY, "linestyle": "none", "marker": shape}
        for name, shape in shapes.items()
    }
    legend_below(figure, handles(entries))
    return figure


def _title(placed: pd.DataFrame, roofs: pd.DataFrame) -> str:
    """Return which ceiling is the lower one for how many of the marks, and how near they come to it.

    That is no cause: what is far below both is held back by neither. The default precision is below the roof of tf32
    or of fp32: it counts where both say the same, and how near it comes is told where one alone was measured. Without
    a roof for each mark, the title is the question.
    """
    ceilings = roofs.set_index("precision")
    counts, reached = Counter(), []
    for mark in placed.itertuples():
        own = (
            (mark.precision,) if mark.precision != DEFAULT_PRECISION else (DEFAULT_PRECISION, "fp32", "tf32")
        )
        peaks = ceilings.loc[ceilings.index.isin(own), "peak_flop_per_s"]
        sloped = mark.intensity * ceilings["bandwidth_bytes_per_s"][peaks.index]
        sides = {*(sloped < peaks)}
        if len(sides) != 1:
            return QUESTION
        counts[bool(sides.pop())] += 1
        reached += [100 * mark.flop_per_s / min(sloped.iloc[0], peaks.iloc[0]) if len(peaks) == 1 else None]
    said = [f"{what} for {counts[side]} of {len(placed)}" for side, what in CEILINGS.items() if counts[side]]
    near = "" if None in reached else f"; {_span(min(reached), max(reached))} % of it was reached"
    return f"The lower ceiling is {', '.join(said)}{near}"


def _span(low: float, high: float) -> str:
    """Return two percentages, or the one that both are, without more digits than a title needs."""
    return " to ".join(
        dict.fromkeys(f"{value:.0f}" if value >= 1 else f"{value:.1g}" for value in (low, high))
    )


def _look(precision: str) -> dict[str, str]:
    style = PRECISION_STYLES[precision]
    return {"color": style["color"], "markeredgecolor": style["edge"]}


def _draw_roofs(ax: Axes, roofs: pd.DataFrame, left: float, right: float, divisor: float) -> None:
    """Draw each roof, sloped and then flat."""
    for row in roofs.to_dict("records"):
        peak, bandwidth = row["peak_flop_per_s"] / divisor, row["bandwidth_bytes_per_s"] / divisor
        style = PRECISION_STYLES[row["precision"]]
        xs = [left, min(max(peak / bandwidth, left), right), right]
        line = {"color": style["color"], "linestyle": style["linestyle"], "label": row["precision"]}
        ax.plot(xs, [min(peak, x * bandwidth) for x in xs], linewidth=1.6, zorder=1.8, gid="roof", **line)


def _draw_points(ax: Axes, rows: pd.DataFrame, shapes: Mapping[str, str], divisor: float) -> None:
    """Draw a filled mark per row: shape by model, colour and edge by precision."""
    drawn = set(rows["precision"])
    inches = ax.get_figure(root=True).dpi_scale_trans
    style = {"markeredgewidth": 0.8, "markersize": 8, "linestyle": "none", "zorder": 2.5, "gid": "point"}
    for row in rows.to_dict("records"):
        precision = row["precision"]
        alike = [
            n for n in PRECISION_STYLES if n in drawn and PRECISION_BYTES[n] == PRECISION_BYTES[precision]
        ]
        aside_pt = MARK_STEP_PT * (alike.index(precision) - (len(alike) - 1) / 2)
        ax.plot(
            [row["intensity"]],
            [row["flop_per_s"] / divisor],
            marker=shapes[row["model"]],
            transform=ax.transData + ScaledTranslation(aside_pt / 72, 0, inches),
            label=f"{row['model']} {precision}",
            **_look(precision),
            **style,
        )


def _note(data: pd.DataFrame, placed: pd.DataFrame, roofs: pd.DataFrame, traffic: str) -> str:
    """Return how to read the chart, and what it lacks."""
    parts = ["line: measured ceiling"] * (not roofs.empty) + [f"traffic: {traffic}"]
    without = [name for name in placed["precision"].unique() if name not in set(roofs["precision"])]
    if DEFAULT_PRECISION in without and not roofs.empty:
        without.remove(DEFAULT_PRECISION)
        parts.append("default: below the roof of tf32 where that is allowed, else of fp32")
    if without:
        parts.append(f"no roof for {', '.join(without)}: peak or bandwidth was not measured")
    lost = data.drop(placed.index)
    if len(lost):
        names = (lost["model"].map(model_of) + " " + lost["precision"]).unique()
        parts.append(f"not drawn, FLOPs or bytes unknown: {', '.join(names)}")
    return textwrap.fill("; ".join(parts), NOTE_LETTERS)
