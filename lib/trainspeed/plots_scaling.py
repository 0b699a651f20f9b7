"""Charts over the number of devices: speed-up and efficiency, with the ideal line and the forecast.

Draws speed-ups, computes none: intervals come with the rows, a forecast from `forecast`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trainspeed.axes import note_below, panels, say, title_above
from trainspeed.errors import UserError
from trainspeed.lines import Line, legend_below
from trainspeed.rows import require
from trainspeed.theme import FRAMEWORK_NAMES, framework_colour, framework_name
from trainspeed.trial import check_name

COLUMNS = ("framework", "strategy", "scaling", "devices", "batch_size", "speedup", "low", "high")
NUMBERS = COLUMNS[3:]
FORECAST_COLUMNS = ("framework", "scaling", "devices", "speedup")
# In the order of the panels, with what is held equal over devices.
TITLES = {"strong": "strong scaling: batch {}", "weak": "weak scaling: batch {} per device"}
MARKERS = {"mirrored": "o", "ddp": "s", "dp": "D", "data_parallel": "^"}
BATCH_LINES = ("-", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)))  # of the first, second, … batch size
IDEAL = Line(label="ideal", short="", color=".3", linestyle="--", marker="")
FORECAST = Line(label="forecast", short="", color=".3", linestyle=":", marker="")
NUDGE = 0.015  # of the axis, from series to series: equal speed-ups do not hide each other …
MOST_NUDGE = 0.1  # … of a device: on a long axis a marker stays at its number
ROOM = 0.06  # of the axis, left and right of the data
NOTE_LETTERS = 80


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What is drawn of a speed-up on a number of devices: `y` takes both, as numbers or as columns."""

    title: str
    ylabel: str
    unit: str
    y: Callable[[Any, Any], Any]


SPEEDUP = Chart(
    title="Speed-up in throughput over one device",
    ylabel="speed-up\n(more is better)",
    unit="×",
    y=lambda speedup, devices: speedup,
)
EFFICIENCY = Chart(
    title="Efficiency: speed-up as a share of the ideal",
    ylabel="speed-up / devices in %\n(more is better)",
    unit="",
    y=lambda speedup, devices: 100 * speedup / devices,
)


def plot_scaling(
    rows: pd.DataFrame, forecasts: pd.DataFrame | None = None, *, ax: Axes | None = None
) -> Figure | Axes:
    """Draw speed-up over devices: a line per framework, strategy and batch size, a panel per scaling.

    Every line starts at one device with 1, by definition: rows of one device are not drawn.

    Args:
        rows: One row per comparison with one device: framework, strategy, scaling ("strong" or "weak"),
            devices, batch_size (summed over all devices), speedup (in throughput), low and high. Without
            low and high the marker is hollow; without a speed-up the row is named below the chart.
        forecasts: One row per number of devices: framework, scaling, devices, speedup; and strategy,
            where a framework has several. Drawn in the panels that `rows` has.
        ax: Only for rows of one scaling; then it is returned, instead of a Figure.
    """
    return _draw(rows, forecasts, ax, SPEEDUP)


def plot_efficiency(
    rows: pd.DataFrame, forecasts: pd.DataFrame | None = None, *, ax: Axes | None = None
) -> Figure | Axes:
    """Draw efficiency over devices, in % of the ideal speed-up; everything else as `plot_scaling`."""
    return _draw(rows, forecasts, ax, EFFICIENCY)


def _draw(rows: pd.DataFrame, forecasts: pd.DataFrame | None, ax: Axes | None, chart: Chart) -> Figure | Axes:
    data = pd.DataFrame(columns=COLUMNS) if rows.empty else _series(rows)
    expected = pd.DataFrame(columns=FORECAST_COLUMNS) if forecasts is None else forecasts
    require(expected, FORECAST_COLUMNS)
    kinds = [kind for kind in TITLES if kind in set(data["scaling"])]
    if ax is not None and len(kinds) > 1:
        raise UserError("ax takes one scaling, the rows have strong and weak: leave ax out for a panel each.")
    expected = expected[expected["scaling"].isin(kinds) & (expected["devices"] > 1)]
    most = max([2, *data["devices"], *expected["devices"]])
    figure, axes = (ax.get_figure(), [ax]) if ax is not None else panels(max(1, len(kinds)))
    above = "" if ax is None else f"{chart.title}\n"
    looks = []
    for panel, kind in zip(axes, kinds, strict=bool(kinds)):
        of_kind = data[data["scaling"] == kind]
        looks += _panel(panel, of_kind, expected[expected["scaling"] == kind], most, chart)
        batches = ", ".join(f"{batch:g}" for batch in sorted(of_kind["batch"].unique()))
        panel.set(title=above + TITLES[kind].format(batches), ylabel=chart.ylabel)
    if ax is None:
        title_above(figure, chart.title)
    elif not kinds:
        ax.set_title(chart.title)
    if not kinds:
        say(axes[0], "Nothing to draw: not measured on this machine.")
    if not looks:
        axes[0].set(xticks=[], yticks=[])
        return figure if ax is None else ax
    _limit(axes, most, chart)
    note_below(axes[-1], _note(data))
    legend_below(figure, sorted(looks, key=lambda look: look.label in (IDEAL.label, FORECAST.label)))
    return figure if ax is None else ax


def _series(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order of the legend, with the columns `batch` (held equal) and `label`."""
    require(rows, COLUMNS)
    for scaling in rows["scaling"].unique():
        check_name("scaling", scaling, tuple(TITLES))
    data = rows.reset_index(drop=True).astype(dict.fromkeys(NUMBERS, float))
    strong = data["scaling"] == "strong"
    data["batch"] = data["batch_size"].where(strong, data["batch_size"] / data["devices"])
    several = data.groupby("scaling")["batch"].transform("nunique") > 1
    names = data["framework"].map(framework_name) + " " + data["strategy"]
    batches = ", batch " + data["batch"].map("{:g}".format)
    batches = batches.where(strong, batches + " per device")
    data["label"] = names + batches.where(several, "")
    twice = data[(data["devices"] > 1) & data.duplicated(["scaling", "label", "devices"])]
    if not twice.empty:
        raise UserError(f"the rows hold {_name(twice.iloc[0])} twice: pass those of one model and study.")
    ranks = data["framework"].map({known: rank for rank, known in enumerate(FRAMEWORK_NAMES)})
    return data.assign(rank=ranks).sort_values(["rank", "strategy", "batch", "devices"])


def _panel(ax: Axes, rows: pd.DataFrame, expected: pd.DataFrame, most: float, chart: Chart) -> list[Line]:
    """Draw one kind of scaling and return how its lines look, for the legend."""
    points = rows[(rows["devices"] > 1) & rows["speedup"].notna()]
    if points.empty and expected.empty:
        alone = not (rows["devices"] > 1).any()
        why = "only one device was measured" if alone else "no pair of runs finished"
        say(ax, f"Nothing to draw: {why}.")
        return []
    ends = [1, most]
    ax.plot(ends, [chart.y(end, end) for end in ends], gid="ideal", **_look(IDEAL))
    for _, group in expected.groupby([name for name in ("framework", "strategy") if name in expected]):
        look = _look(FORECAST) | {"color": framework_colour(group["framework"].iloc[0])}
        ax.plot(*_path(group.sort_values("devices"), chart), gid="forecast", linewidth=1.8, **look)
    batches, series = sorted(rows["batch"].unique()), list(points.groupby("label", sort=False))
    nudge, looks = min(MOST_NUDGE, NUDGE * (most - 1)), []
    for place, (label, group) in enumerate(series):
        row = group.iloc[0]
        looks.append(
            Line(
                label=label,
                short="",
                color=framework_colour(row["framework"]),
                linestyle=BATCH_LINES[batches.index(row["batch"]) % len(BATCH_LINES)],
                marker=MARKERS.get(row["strategy"], "P"),
            )
        )
        _line(ax, group, looks[-1], (place - (len(series) - 1) / 2) * nudge, chart)
    return [*looks, IDEAL, *([] if expected.empty else [FORECAST])]


def _line(ax: Axes, rows: pd.DataFrame, line: Line, nudge: float, chart: Chart) -> None:
    """Draw a series: the line from one device on, a marker per number of devices, an interval where known."""
    xs, ys = _path(rows, chart)
    ax.plot([1, *(x + nudge for x in xs[1:])], ys, linewidth=1.8, gid="line", **_look(line))
    sure = rows["low"].notna() & rows["high"].notna()
    for group, gid, fill in ((rows[sure], "speedup", line.color), (rows[~sure], "hollow", "white")):
        if group.empty:
            continue
        where = group["devices"] + nudge
        ends = [chart.y(group[end], group["devices"]) for end in ("low", "high")]
        if gid == "speedup":
            ax.vlines(where, *ends, color=line.color, linewidth=1.8, gid="interval")
        dots = {"marker": line.marker, "markersize": 6, "markerfacecolor": fill, "linestyle": "none"}
        ax.plot(where, chart.y(group["speedup"], group["devices"]), color=line.color, gid=gid, **dots)


def _path(rows: pd.DataFrame, chart: Chart) -> tuple[list[float], list[float]]:
    """Return x and y of a line that starts at one device with a speed-up of 1."""
    return [1, *rows["devices"]], [chart.y(1, 1), *chart.y(rows["speedup"], rows["devices"])]


def _look(line: Line) -> dict[str, Any]:
    return {"label": line.label, "color": line.color, "linestyle": line.linestyle}


def _limit(axes: list[Axes], most: float, chart: Chart) -> None:
    """Set x to whole numbers of devices with room at both ends, and y to start at 0."""
    axes[-1].set_xlabel("devices")
    for ax in axes:
        ax.set_xlim(max(0.5, 1 - ROOM * (most - 1)), most + ROOM * (most - 1))
        ax.set_ylim(bottom=0)
        ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}{chart.unit}")


def _note(data: pd.DataFrame) -> str:
    """Return how to read the marks, and what has none."""
    data = data[data["devices"] > 1]
    lost, sure = data["speedup"].isna(), data["low"].notna() & data["high"].notna()
    parts = ["bar: 95 % interval"] if (sure & ~lost).any() else []
    if (~sure & ~lost).any():
        parts.append("hollow: fewer than 6 blocks, no interval")
    if lost.any():
        parts.append("no pair of runs finished: " + ", ".join(_name(row) for _, row in data[lost].iterrows()))
    return textwrap.fill("; ".join(parts), NOTE_LETTERS)


def _name(row: pd.Series) -> str:
    return f"{row['label']} on {row['devices']:g} devices ({row['scaling']})"
