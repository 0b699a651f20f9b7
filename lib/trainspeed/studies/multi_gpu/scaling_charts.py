"""Charts over the number of devices: speed-up and efficiency, with the ideal line and the forecast.

Draws speed-ups and computes none: intervals come with the rows, a forecast from `more_devices.forecasts`.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from trainspeed.core.factors import TRAINING
from trainspeed.show.axes import legend_below, log_axis, note_below, nothing, panels, ratio_axis, size_axis
from trainspeed.show.forest import forest
from trainspeed.show.rows import by_framework, require
from trainspeed.show.series import Look, handles, marks
from trainspeed.show.theme import PALE, framework_colour, framework_name

SCALING_COLUMNS = ("framework", "strategy", "scaling", "devices", "batch_size", "speedup", "low", "high")
FORECAST_COLUMNS = ("framework", "scaling", "devices", "speedup")
# Those that vary have panels of their own.
PANEL_COLUMNS = ("nodes", "model", "layout", "precision", "compile")
STRATEGY_MARKERS = {"mirrored": "o", "ddp": "s", "data_parallel": "^"}
NODES_MARKER = "D"  # of several nodes, whatever the strategy
# Of the first, second, … batch size.
BATCH_LINES = ("-", "-.", (0, (7, 2)), (0, (3, 1, 1, 1, 1, 1)), (0, (2, 2)))
IDEAL = {"color": ".3", "linestyle": "--"}
ONE = {"color": ".3", "linestyle": "-"}
FORECAST = {"color": ".3", "linestyle": ":"}
SHIFT = 0.015  # of the axis, from series to series: equal speed-ups do not hide each other …
MAX_SHIFT = 0.1  # … of a device: on a long axis a marker stays at its number
LOG_FROM = 16  # devices: beyond, both axes are logarithmic, or what was measured would be a dot in a corner
SPEEDUP_QUESTION, IDEAL_QUESTION = "Do more devices train faster?", "How near to the ideal are more devices?"
ROW_IN, EDGES_IN = 0.42, 0.75  # height of a row of a panel of one number of devices; of its title and labels
END_MARGIN = 0.06  # of the axis, left and right of the data


def plot_scaling(
    rows: pd.DataFrame,
    forecasts: pd.DataFrame | None = None,
    *,
    title: str = SPEEDUP_QUESTION,
    on_cores: bool = False,
) -> Figure:
    """Draw speed-up over devices: a line per framework, strategy and batch size, a panel per kind of scaling.

    A line starts at one device with 1, by definition; one of several nodes at what was measured of them, as from one
    device to those the number of nodes changes, too. One number of devices makes no lines: a row of dots each,
    with the interval, beside what one device does and the ideal. Where `rows` holds
    several models, layouts, precisions or settings of the compiler, each has a panel of its own.

    Args:
        rows: One row per comparison with one device: framework, strategy, scaling ("strong" or "weak"),
            devices, batch_size (summed over all devices), speedup (in throughput), low and high; and
            PANEL_COLUMNS, where they vary; nodes, where there are several. Without low and high the marker is hollow.
        forecasts: One row per number of devices: framework, scaling, devices, speedup; strategy, where a
            framework has several; and those of PANEL_COLUMNS that vary. Drawn in the panels that `rows` has.
        title: What was found, or else the question.
        on_cores: Whether a device is a CPU core, which the note says.
    """
    ylabel = "speed-up\n(more is better)"
    return _draw(rows, forecasts, title, ylabel, of_ideal=False, on_cores=on_cores)


def plot_efficiency(
    rows: pd.DataFrame,
    forecasts: pd.DataFrame | None = None,
    *,
    title: str = IDEAL_QUESTION,
    on_cores: bool = False,
) -> Figure:
    """Draw efficiency over devices, in % of the ideal speed-up; everything else as in `plot_scaling`."""
    ylabel = "speed-up / devices in %\n(more is better)"
    return _draw(rows, forecasts, title, ylabel, of_ideal=True, on_cores=on_cores)


def _draw(
    rows: pd.DataFrame,
    forecasts: pd.DataFrame | None,
    title: str,
    ylabel: str,
    *,
    of_ideal: bool,
    on_cores: bool,
) -> Figure:
    """Draw the panels.

    Args:
        of_ideal: Whether values are percentages of the ideal speed-up, not speed-ups.
    """
    if rows.empty:
        return nothing("Nothing to draw: not measured on this machine.", title=title).get_figure()
    require(rows, SCALING_COLUMNS)
    expected = rows.iloc[:0] if forecasts is None else forecasts
    require(expected, FORECAST_COLUMNS)
    varying = _varying(rows)
    rows = rows.assign(panel=_panel_names(rows, varying))
    names = sorted(rows["panel"].unique(), key=lambda name: name.startswith("weak"))
    data = _series(rows)
    expected = expected.assign(panel=_panel_names(expected, varying)).sort_values("devices")
    expected = expected[expected["panel"].isin(names) & (expected["devices"] > 1)]
    if of_ideal:
        for name in ("speedup", "low", "high"):
            data[name] = 100 * data[name] / data["devices"]
        expected = expected.assign(speedup=100 * expected["speedup"] / expected["devices"])
    most = max([2, *data["devices"], *expected["devices"]])
    counts = sorted({1, 2, *data["devices"], *expected["devices"]})
    alone = expected.empty and data["devices"].nunique() == 1  # one number of devices makes no line
    heights = [EDGES_IN + ROW_IN * data.loc[data["panel"] == name, "label"].nunique() for name in names]
    figure, axes = panels(len(names), title, height_in=heights if alone else 2.7, share_y=not alone)
    looks: dict[str, Look] = {}
    beyond = False
    for ax, name in zip(axes, names, strict=True):
        mine = data[data["panel"] == name]
        foreseen = expected[expected["panel"] == name]
        looks |= _rows(ax, mine, of_ideal) if alone else _panel(ax, mine, foreseen, most, of_ideal)
        beyond |= _shade(ax, mine["devices"].max(), foreseen["devices"].max())
        batches = ", ".join(f"{batch:g}" for batch in sorted(mine["batch"].unique()))
        per_device = " per device" if name.startswith("weak") else ""
        ax.set(title=f"{name}: batch {batches}{per_device}", ylabel="" if alone else ylabel)
    if alone:
        _limit_alone(axes, data, ylabel.replace("\n", " "), of_ideal)
    else:
        _limit(axes, counts, of_ideal)
    note_below(axes[-1], _note(data, beyond, on_cores))
    looks |= (
        {"ideal": IDEAL}
        | ({"as fast as one device": ONE} if alone else {})
        | ({} if expected.empty else {"forecast": FORECAST})
    )
    legend_below(figure, handles(looks))
    return figure


def _varying(rows: pd.DataFrame) -> list[str]:
    """Return the PANEL_COLUMNS in which two rows differ; JAX always compiles, which is no difference."""
    varying = [name for name in PANEL_COLUMNS if name in rows and rows[name].nunique() > 1]
    if "compile" in varying and rows.loc[rows["framework"] != "jax", "compile"].nunique() < 2:
        varying.remove("compile")
    return varying


def _panel_names(rows: pd.DataFrame, varying: list[str]) -> pd.Series:
    """Return what the panel of each row is called: "strong scaling, cnn10, bf16"."""
    names = rows["scaling"] + " scaling"
    for column in varying:
        names = names + ", " + rows[column].map(TRAINING[column].value)
    return names


def _series(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows in the order of the legend, with the columns `batch` (held equal), `style` and `label`."""
    numbers = ("devices", "batch_size", "speedup", "low", "high")
    data = rows.reset_index(drop=True).astype(dict.fromkeys(numbers, float))
    strong = data["scaling"] == "strong"
    data["batch"] = data["batch_size"].where(strong, data["batch_size"] / data["devices"])
    by_scaling = data.groupby("scaling")["batch"]
    several = by_scaling.transform("nunique") > 1
    data["style"] = by_scaling.rank("dense").astype(int) - 1
    data["nodes"] = data.get("nodes", 1)
    names = data["framework"].map(framework_name) + " " + data["strategy"]
    names = names.where(data["nodes"] == 1, names + ", " + data["nodes"].map("{} nodes".format))
    batches = ", batch " + data["batch"].map("{:g}".format)
    batches = batches.where(strong, batches + " per device")
    data["label"] = names + batches.where(several, "")
    return by_framework(data, "strategy", "batch", "devices")


def _panel(
    ax: Axes, rows: pd.DataFrame, expected: pd.DataFrame, most: float, of_ideal: bool
) -> dict[str, Look]:
    """Draw one panel and return how the measured lines look."""
    start, ideal_end = (100, 100) if of_ideal else (1, most)  # every line starts at one device
    ax.plot([1, most], [start, ideal_end], gid="ideal", label="ideal", **IDEAL)
    alike = [name for name in ("framework", "strategy", "nodes") if name in expected]
    for _, group in expected.groupby(alike):
        look = FORECAST | {"color": framework_colour(group.iloc[0]["framework"])}
        path = _from_one(group, group["devices"], start)
        ax.plot(*path, linewidth=1.8, label="forecast", gid="forecast", **look)
    series = list(rows.groupby("label", sort=False))
    shift, looks = min(MAX_SHIFT, SHIFT * (most - 1)), {}
    for number, (label, group) in enumerate(series):
        framework, strategy, style = group.iloc[0][["framework", "strategy", "style"]]
        line = {"color": framework_colour(framework), "linestyle": BATCH_LINES[style % len(BATCH_LINES)]}
        marker = STRATEGY_MARKERS[strategy] if group["nodes"].iloc[0] == 1 else NODES_MARKER
        looks[label] = line | {"marker": marker}
        x = group["devices"] + (number - (len(series) - 1) / 2) * shift
        group = group.assign(x=x, y=group["speedup"])
        ax.plot(*_from_one(group, x, start), linewidth=1.8, label=label, gid="line", **line)
        marks(ax, group, along="y", look=looks[label], gid="speedup")
    return looks


def _from_one(rows: pd.DataFrame, x: pd.Series, start: float) -> tuple[list[float], list[float]]:
    """Return the points of a line over devices: from one device on, where that is on as many nodes."""
    if "nodes" in rows and rows["nodes"].iloc[0] > 1:
        return [*x], [*rows["speedup"]]
    return [1, *x], [start, *rows["speedup"]]


def _rows(ax: Axes, rows: pd.DataFrame, of_ideal: bool) -> dict[str, Look]:
    """Draw a panel of one number of devices: a row per series, with what one device does and the ideal as lines."""
    devices = rows["devices"].iloc[0]
    one, ideal = (100 / devices, 100) if of_ideal else (1, devices)
    ax.axvline(ideal, gid="ideal", label="ideal", **IDEAL)
    ax.axvline(one, linewidth=1.2, zorder=1.5, gid="one", **ONE)
    looks = {
        row["label"]: {
            "color": framework_colour(row["framework"]),
            "marker": STRATEGY_MARKERS[row["strategy"]],
        }
        for row in rows.to_dict("records")
    }
    forest(rows.assign(kind=rows["label"], value=rows["speedup"]), looks=looks, ax=ax)
    return {}  # each row has its name


def _limit_alone(axes: list[Axes], data: pd.DataFrame, label: str, of_ideal: bool) -> None:
    """Set x to reach from one device to the ideal, and as far as the intervals go."""
    devices = data["devices"].iloc[0]
    known = data[["speedup", "low", "high"]].stack()
    axes[-1].set_xlabel(label)
    for ax in axes:
        if of_ideal:
            ax.set_xlim(0, max(100, known.max()) * 1.05)
        else:
            ratio_axis(ax.xaxis, min(1, known.min()), max(devices, known.max()))


def _shade(ax: Axes, measured: float, foreseen: float) -> bool:
    """Shade the numbers of devices beyond those that were measured; return whether any of them is foreseen."""
    if not foreseen > measured:
        return False
    ax.axvspan(measured, 2 * foreseen, color=PALE, alpha=0.5, linewidth=0, zorder=0, gid="unmeasured")
    return True


def _limit(axes: list[Axes], counts: list[float], of_ideal: bool) -> None:
    """Set x to whole numbers of devices with room at both ends, and y to start at 0, but on logarithmic axes."""
    most, unit = counts[-1], "" if of_ideal else "x"
    margin = END_MARGIN * (most - 1)
    axes[-1].set_xlabel("devices")
    # Panels may share an axis: the last one's limits would cut off what others have below.
    low, high = min(ax.dataLim.y0 for ax in axes), max(ax.dataLim.y1 for ax in axes)
    for ax in axes:
        if most > LOG_FROM:
            size_axis(ax, counts, base=2)
            if not of_ideal:
                log_axis(ax.yaxis, 0.8 * low, 1.2 * high, unit=unit)
                continue
        else:
            ax.set_xlim(max(0.5, 1 - margin), most + margin)
            ax.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
        ax.set_ylim(bottom=0)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}{unit}")


def _note(data: pd.DataFrame, beyond: bool, on_cores: bool) -> str:
    """Return how to read the marks, and the ground where it is shaded."""
    parts = ["bar: 95 % interval"] if data["low"].notna().any() else []
    if data["low"].isna().any():
        parts.append("hollow: fewer than 6 blocks, no interval")
    lines = ["; ".join(parts)] if parts else []
    lines += ["shaded: nothing measured"] if beyond else []
    return ";\n".join([*lines, *(["a device is a CPU core"] if on_cores else [])])
