"""Charts over the number of devices: speed-up and efficiency, with the ideal line and the forecast.

Draws speed-ups, computes none: intervals come with the rows, a forecast from `forecast`.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trainspeed.core.check import check_name
from trainspeed.show.axes import legend_below, note_below, nothing, panels, write_sentence
from trainspeed.show.rows import by_framework, refuse_repeats, require
from trainspeed.show.series import Look, handles, marks
from trainspeed.show.theme import framework_colour, framework_name

COLUMNS = ("framework", "strategy", "scaling", "devices", "batch_size", "speedup", "low", "high")
NUMBERS, ENDS = COLUMNS[3:], COLUMNS[5:]
FORECAST_COLUMNS = ("framework", "scaling", "devices", "speedup")
# In the order of the panels, with what is held equal over devices.
TITLES = {"strong": "strong scaling: batch {}", "weak": "weak scaling: batch {} per device"}
MARKERS = {"mirrored": "o", "ddp": "s", "dp": "D", "data_parallel": "^"}
BATCH_LINES = ("-", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)))  # of the first, second, … batch size
IDEAL = {"color": ".3", "linestyle": "--"}
FORECAST = {"color": ".3", "linestyle": ":"}
NUDGE = 0.015  # of the axis, from series to series: equal speed-ups do not hide each other …
MAX_NUDGE = 0.1  # … of a device: on a long axis a marker stays at its number
AXIS_MARGIN = 0.06  # of the axis, left and right of the data
NOTE_LETTERS = 80


@dataclass(frozen=True, kw_only=True)
class Chart:
    """What is drawn; `start` is the value of one device, from which each line starts."""

    title: str
    ylabel: str
    unit: str
    start: float
    of_ideal: bool


SPEEDUP = Chart(
    title="Speed-up in throughput over one device",
    ylabel="speed-up\n(more is better)",
    unit="×",
    start=1,
    of_ideal=False,
)
EFFICIENCY = Chart(
    title="Efficiency: speed-up as a share of the ideal",
    ylabel="speed-up / devices in %\n(more is better)",
    unit="",
    start=100,
    of_ideal=True,
)


def plot_scaling(rows: pd.DataFrame, forecasts: pd.DataFrame | None = None) -> Figure:
    """Draw speed-up over devices: a line per framework, strategy and batch size, a panel per scaling.

    Every line starts at one device with 1, by definition: rows of one device are not drawn.

    Args:
        rows: One row per comparison with one device: framework, strategy, scaling ("strong" or "weak"),
            devices, batch_size (summed over all devices), speedup (in throughput), low and high. Without
            low and high the marker is hollow; without a speed-up the row is named below the chart.
        forecasts: One row per number of devices: framework, scaling, devices, speedup; and strategy,
            where a framework has several. Drawn in the panels that `rows` has.
    """
    return _draw(rows, forecasts, SPEEDUP)


def plot_efficiency(rows: pd.DataFrame, forecasts: pd.DataFrame | None = None) -> Figure:
    """Draw efficiency over devices, in % of the ideal speed-up; everything else as `plot_scaling`."""
    return _draw(rows, forecasts, EFFICIENCY)


def _draw(rows: pd.DataFrame, forecasts: pd.DataFrame | None, chart: Chart) -> Figure:
    expected = pd.DataFrame(columns=FORECAST_COLUMNS) if forecasts is None else forecasts
    require(expected, FORECAST_COLUMNS)
    if rows.empty:
        return nothing("Nothing to draw: not measured on this machine.", title=chart.title).get_figure()
    data = _series(rows)
    kinds = [kind for kind in TITLES if kind in set(data["scaling"])]
    expected = expected[expected["scaling"].isin(kinds) & (expected["devices"] > 1)].sort_values("devices")
    if chart.of_ideal:
        data, expected = (
            frame.assign(**{name: 100 * frame[name] / frame["devices"] for name in ENDS if name in frame})
            for frame in (data, expected)
        )
    most = max([2, *data["devices"], *expected["devices"]])
    figure, axes = panels(len(kinds), chart.title)
    looks: dict[str, Look] = {}
    for ax, kind in zip(axes, kinds, strict=True):
        of_kind = data[data["scaling"] == kind]
        looks |= _panel(ax, of_kind, expected[expected["scaling"] == kind], most, chart)
        batches = ", ".join(f"{batch:g}" for batch in sorted(of_kind["batch"].unique()))
        ax.set(title=TITLES[kind].format(batches), ylabel=chart.ylabel)
    if not any(ax.lines for ax in axes):
        axes[0].set(xticks=[], yticks=[])
        return figure
    _limit(axes, most, chart)
    note_below(axes[-1], _note(data))
    looks |= {"ideal": IDEAL} | ({} if expected.empty else {"forecast": FORECAST})
    legend_below(figure, handles(looks))
    return figure


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
    remedy = "pass those of one model and study"
    refuse_repeats(data[data["devices"] > 1], ("scaling", "label", "devices"), _name, remedy)
    return by_framework(data, "strategy", "batch", "devices")


def _panel(
    ax: Axes, rows: pd.DataFrame, expected: pd.DataFrame, most: float, chart: Chart
) -> dict[str, Look]:
    """Draw one kind of scaling and return how the measured lines look."""
    points = rows[(rows["devices"] > 1) & rows["speedup"].notna()]
    if points.empty and expected.empty:
        alone = not (rows["devices"] > 1).any()
        why = "only one device was measured" if alone else "no pair of runs finished"
        write_sentence(ax, f"Nothing to draw: {why}.")
        return {}
    ax.plot(
        [1, most], [chart.start, chart.start if chart.of_ideal else most], gid="ideal", label="ideal", **IDEAL
    )
    for _, group in expected.groupby([name for name in ("framework", "strategy") if name in expected]):
        look = FORECAST | {"color": framework_colour(group.iloc[0]["framework"])}
        path = [1, *group["devices"]], [chart.start, *group["speedup"]]
        ax.plot(*path, linewidth=1.8, label="forecast", gid="forecast", **look)
    batches, series = sorted(rows["batch"].unique()), list(points.groupby("label", sort=False))
    nudge, looks = min(MAX_NUDGE, NUDGE * (most - 1)), {}
    for place, (label, group) in enumerate(series):
        framework, strategy, batch = group.iloc[0][["framework", "strategy", "batch"]]
        style = BATCH_LINES[batches.index(batch) % len(BATCH_LINES)]
        line = {"color": framework_colour(framework), "linestyle": style}
        looks[label] = line | {"marker": MARKERS.get(strategy, "P")}
        group = group.assign(x=group["devices"] + (place - (len(series) - 1) / 2) * nudge, y=group["speedup"])
        path = [1, *group["x"]], [chart.start, *group["y"]]
        ax.plot(*path, linewidth=1.8, label=label, gid="line", **line)
        marks(ax, group, along="y", look=looks[label], gid="speedup")
    return looks


def _limit(axes: list[Axes], most: float, chart: Chart) -> None:
    """Set x to whole numbers of devices with room at both ends, and y to start at 0."""
    axes[-1].set_xlabel("devices")
    for ax in axes:
        ax.set_xlim(max(0.5, 1 - AXIS_MARGIN * (most - 1)), most + AXIS_MARGIN * (most - 1))
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
