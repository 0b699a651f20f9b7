"""The monitor's chart: load, memory, power, temperature and clock of every device, with the runs shaded.

Draws what was sampled; whether a sample makes a run doubtful is decided elsewhere.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from trainspeed.core.format import gigabytes
from trainspeed.show.axes import NOTE_LETTERS, legend_below, note_below, nothing, panels
from trainspeed.show.loads import median_loads
from trainspeed.show.rows import require
from trainspeed.show.theme import OKABE_ITO, SMALL_PT, Look, framework_colour, framework_name

QUESTION = "Were the devices busy while the runs were measured?"
DEVICE = re.compile(r"(.*?)(\d*)", re.DOTALL)  # its kind and its number
MOST_NAMED = 4  # devices that the title names
MAX_NAMES = 12  # more runs than this are shaded without a number
MAX_AXIS_IN_SECONDS_S = 300  # a longer time axis counts minutes
MOMENTS = 8  # on the time axis, at most, beside its start
MAX_TICKS = 200  # more epoch ends than this would be a solid bar: left out
LETTER_SHARE = 0.027  # of the time axis, for a letter of a run's number: on a phone
MAX_BARS = 100  # more than these are turns that no white edge sets apart any more
HAIR_SHARE = 1 / 1000  # of the time axis, which is about as many pixels wide
DENSE = 500  # samples per line from which a thinner line shows more
HARMLESS_REASONS = {"", "applications_clocks_setting", "display_clock_setting"}  # clocks that a user has set
MEANINGS = {  # kind of device -> sentence
    "gpu": "Load of a GPU: share of time in which a kernel was running (not how full the GPU was).",
    "core": "Load of a core: share of time it was busy, by any process.",
    "host": "Load of the host: share of all cores that were busy.",
}
SEVERAL = {"gpu": "GPUs", "core": "cores"}  # kind of device -> what several are called
OTHERS = "other processes"
OTHERS_MEANING = (
    "Other processes: what they, or the hypervisor, had of the cores that the arms ran on, as a share of all cores, "
    "in turns that they disturbed."
)
OTHERS_LOOK: Look = {"color": "#8B0000", "linewidth": 3}  # no colour of a framework or of a device
HOST_LOOK: Look = {"color": ".35", "linestyle": (0, (3, 1))}
# No colour of a framework.
LOOKS = tuple(
    {"color": OKABE_ITO[color], "linestyle": linestyle}
    for linestyle in ("-", "--")
    for color in ("black", "purple", "sky blue", "orange")
)


@dataclass(frozen=True)
class MonitorPanel:
    """A panel of the chart: a column of the samples, the name of its sensor, and the unit of the axis.

    `divisor` turns the column's unit into the axis's; the axis reaches at least up to `least_top`.
    """

    column: str
    sensor: str
    unit: str
    divisor: float = 1.0
    least_top: float = 0.1


PANELS = (
    MonitorPanel("load_percent", "load", "%", least_top=100),
    MonitorPanel("memory_used_bytes", "memory", "GB", 1e9),
    MonitorPanel("power_w", "power", "W"),
    MonitorPanel("temperature_c", "temperature", "°C"),
    MonitorPanel("sm_clock_mhz", "SM clock", "MHz"),
)
COLUMNS = ("utc", "device", "name", "memory_total_bytes", "throttle_reasons", *(p.column for p in PANELS))


def plot_monitor(samples: pd.DataFrame, runs: pd.DataFrame) -> Figure:
    """Draw what the monitor sampled, a panel per quantity over time since the first run, the runs shaded.

    Args:
        samples: As returned by `trainspeed.core.monitor_csv.read_monitor`. An empty column is a line of
            text.
        runs: start, end, active (a list of the pairs of times between which it did not wait for its turn), timed (the
            same of its turns alone, where it had some), others (of each turn that others disturbed begin, end, and the
            share of all cores, 0 to 100, that they had in it), name, framework, devices (how many it had, missing for
            all), epoch_ends (a list of times); may have no rows.
    """
    require(samples, COLUMNS)
    require(runs, ("start", "end", "active", "timed", "others", "name", "framework", "devices", "epoch_ends"))
    samples = samples.assign(utc=pd.to_datetime(samples["utc"], utc=True)).sort_values("utc")
    moments = {name: pd.to_datetime(runs[name], utc=True) for name in ("start", "end")}
    runs = runs.assign(**moments).sort_values("start")
    recorded = [panel for panel in PANELS if samples[panel.column].notna().any()]
    if not recorded:
        return nothing("The monitor recorded no sample.", title=QUESTION).get_figure()
    origin = runs["start"].min() if len(runs) else samples["utc"].min()
    last = max(times.max() for times in (samples["utc"], runs["start"], runs["end"]) if len(times))
    long = (last - origin).total_seconds() > MAX_AXIS_IN_SECONDS_S
    second = 1 / 60 if long else 1.0  # in units of the time axis

    def elapsed(moments: pd.Series) -> pd.Series:
        return second * (pd.to_datetime(moments, utc=True) - origin).dt.total_seconds()

    samples = samples.assign(x=elapsed(samples["utc"]))
    runs = runs.assign(x=elapsed(runs["start"]), x_end=elapsed(runs["end"]))

    def spans_of(kind: str) -> pd.DataFrame:
        spans = runs[["framework", "devices", kind]].explode(kind).dropna(subset=kind)
        begun, ended = (elapsed(spans[kind].str[end]) for end in (0, 1))
        return spans.assign(x=begun, x_end=ended)

    spans = spans_of("active")
    epoch_ends = elapsed(runs["epoch_ends"].explode().dropna())
    title = _title(samples, spans_of("timed"))
    figure, axes = panels(len(recorded), title, height_in=1.4, share_y=False, columns_allowed=False)
    sampled = samples[samples[[panel.column for panel in recorded]].notna().any(axis=1)]
    devices = _looks(sampled["device"])
    for ax, panel in zip(axes, recorded, strict=True):
        _draw_lines(ax, panel, samples, devices)
        _shade(ax, spans)
    # As many ticks whatever the width: one that comes with the last layout has no room left at the edge.
    axes[-1].xaxis.set_major_locator(MaxNLocator(MOMENTS, steps=[1, 2, 5, 10]))
    axes[-1].set_xlabel(f"{'minutes' if long else 'seconds'} since the start of the first run")
    notes, taken = _meanings(samples), runs["others"].explode().dropna()
    with_others = len(taken) > 0 and recorded[0].column == "load_percent"
    if with_others:
        begun, ended = (elapsed(taken.str[end]) for end in (0, 1))
        axes[0].hlines(taken.str[2].astype(float), begun, ended, gid="others", **OTHERS_LOOK)
        notes.append(OTHERS_MEANING)
    if 0 < len(epoch_ends) <= MAX_TICKS:
        look = {"color": ".2", "markersize": 6, "transform": axes[0].get_xaxis_transform()}
        axes[0].plot(epoch_ends, [0.05] * len(epoch_ends), "|", gid="epoch ends", **look)
        notes.append("Short ticks in the top panel: ends of epochs.")
    if reasons := _hatch_throttling(axes[-1], samples):
        notes.append(f"Hatched: throttled ({', '.join(reasons)}).")
    if missing := [panel.sensor for panel in PANELS if panel not in recorded]:
        notes.append(f"Not recorded on this machine: {', '.join(missing)}.")
    note_below(axes[-1], "\n".join(textwrap.fill(note, NOTE_LETTERS) for note in notes))
    if len(runs) <= MAX_NAMES:
        _number(axes[0], runs)
    lines = [Line2D([], [], label=_label(device, samples), **look) for device, look in devices.items()]
    lines += [Line2D([], [], label=OTHERS, **OTHERS_LOOK)] if with_others else []
    legend_below(figure, [*lines, *_run_patches(runs)])
    return figure


def _title(samples: pd.DataFrame, spans: pd.DataFrame) -> str:
    """Return the median load of each device while runs were measured, of the host without another; else the question.

    In a turn of a run with one device the others rest, so that what is said of several is said of runs on several.

    Args:
        samples, spans: With x, and x and x_end, on the same axis of time; the spans are of what was timed.
    """
    loads, runs = median_loads(samples, spans), "runs"
    together = spans[spans["devices"].ne(1)]
    if len(loads) > 1 and 0 < len(together) < len(spans):
        loads = median_loads(samples, together)
        kinds = {_kind_and_number(device)[0] for device in loads.index}
        runs = f"runs on several {SEVERAL.get(kinds.pop(), 'devices') if len(kinds) == 1 else 'devices'}"
    if loads.empty:
        return QUESTION
    if len(loads) == 1:
        return f"Load of {_name(loads.index[0])} while {runs} were measured: median {loads.iloc[0]:.0f} %"
    each = [f"{_name(device)} {loads[device]:.0f} %" for device in sorted(loads.index, key=_kind_and_number)]
    if len(each) > MOST_NAMED:
        each = [f"{loads.min():.0f} to {loads.max():.0f} % on {len(loads)} devices"]
    return f"Median load while {runs} were measured: {', '.join(each)}"


def _draw_lines(ax: Axes, panel: MonitorPanel, samples: pd.DataFrame, devices: Mapping[str, Look]) -> None:
    """Draw a line per device that has the sensor; matplotlib thins a long one and keeps its spikes."""
    for device, look in devices.items():
        rows = samples[(samples["device"] == device) & samples[panel.column].notna()]
        if len(rows):
            width = 1.3 if len(rows) < DENSE else 0.8
            values = rows[panel.column].astype(float) / panel.divisor
            ax.plot(rows["x"], values, linewidth=width, label=device, gid=device, **look)
    ax.set_ylabel(f"{panel.sensor}\nin {panel.unit}")
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.set_ylim(0, 1.1 * max(samples[panel.column].max() / panel.divisor, panel.least_top))


def _shade(ax: Axes, spans: pd.DataFrame) -> None:
    """Shade what each run did, but for its waiting while others had their turns."""
    look = {"edgecolor": "white", "linewidth": 0.6, "alpha": 0.2, "zorder": 0.5}
    hair = HAIR_SHARE * (spans["x_end"].max() - spans["x"].min()) if len(spans) else 0.0
    for framework, rows in spans.groupby("framework", sort=False):
        rows = rows if len(spans) <= MAX_BARS else _joined(rows, hair)
        bars = list(zip(rows["x"], rows["x_end"] - rows["x"], strict=True))
        where = {"transform": ax.get_xaxis_transform(), "gid": f"runs of {framework}"}
        ax.broken_barh(bars, (0, 1), facecolor=framework_colour(framework), **where, **look)


def _joined(spans: pd.DataFrame, hair: float) -> pd.DataFrame:
    """Return spans with those made one between which no gap is to be seen: an SVG of thousands is slow to draw."""
    spans = spans.sort_values("x")
    ends = spans["x_end"].cummax()
    group = (spans["x"] - ends.shift() > hair).cumsum()
    return spans.groupby(group).agg({"x": "min", "x_end": "max"})


def _hatch_throttling(ax: Axes, samples: pd.DataFrame) -> list[str]:
    """Hatch the spans in which any device was throttled; return the reasons."""
    reasons: dict[str, None] = {}
    look = {"facecolor": "none", "edgecolor": ".2", "hatch": "/////", "linewidth": 0.8, "alpha": 0.6}
    for _, rows in samples.groupby("device"):
        names = rows["throttle_reasons"].fillna("").astype(str).str.split("|")
        throttled = names.map(lambda names: not HARMLESS_REASONS.issuperset(names))
        reasons |= dict.fromkeys(name for name in names.explode() if name not in HARMLESS_REASONS)
        if throttled.any():
            held = throttled | throttled.shift(fill_value=False)  # a sample holds until the next one
            where = {"where": held, "step": "post", "transform": ax.get_xaxis_transform()}
            ax.fill_between(rows["x"], 0, 1, gid="throttled", **where, **look)
    return list(reasons)


def _number(ax: Axes, runs: pd.DataFrame) -> None:
    """Write a run's number over its middle; one label for runs in a row whose numbers have no room side by side."""
    low, high = ax.get_xlim()
    begun, ended = ((runs[end].to_numpy(float) - low) / (high - low) for end in ("x", "x_end"))
    labels: list[tuple[int, int]] = []  # the first and the last run of each

    def words(label: tuple[int, int]) -> str:
        return "–".join(dict.fromkeys(str(number + 1) for number in label))

    def middle(label: tuple[int, int]) -> float:
        own = slice(label[0], label[1] + 1)
        half = LETTER_SHARE * len(words(label)) / 2
        return min(max((begun[own].min() + ended[own].max()) / 2, half), 1 - half)

    for number in range(len(runs)):
        labels.append((number, number))
        while len(labels) > 1 and _touch(*((middle(label), words(label)) for label in labels[-2:])):
            labels[-2:] = [(labels[-2][0], number)]
    look = {"transform": ax.transAxes, "ha": "center", "fontsize": SMALL_PT, "color": ".15", "gid": "number"}
    for label in labels:
        ax.text(middle(label), 1.03, words(label), **look)


def _touch(left: tuple[float, str], right: tuple[float, str]) -> bool:
    """Whether two labels, each a middle and its words, have no letter's room between them."""
    letters = (len(left[1]) + len(right[1])) / 2 + 0.5
    return right[0] - left[0] < LETTER_SHARE * letters


def _run_patches(runs: pd.DataFrame) -> list[Patch]:
    """Return what ran, with the numbers of the runs, or only the frameworks where the runs are many."""
    if len(runs) <= MAX_NAMES:
        numbers: dict[tuple[str, str], list[str]] = {}
        for count, (name, framework) in enumerate(runs[["name", "framework"]].to_numpy(), start=1):
            numbers.setdefault((name, framework), []).append(str(count))
        names = [(f"{', '.join(own)}  {name}", framework) for (name, framework), own in numbers.items()]
    else:
        names = [(f"runs of {framework_name(f)}", f) for f in runs["framework"].unique()]
    return [Patch(color=framework_colour(framework), alpha=0.3, label=name) for name, framework in names]


def _looks(devices: pd.Series) -> dict[str, Look]:
    """Return each device's line: the host in grey first, below the accelerators and cores."""
    others = sorted(set(devices) - {"host"}, key=_kind_and_number)
    host = {"host": HOST_LOOK} if "host" in set(devices) else {}
    return host | {name: LOOKS[index % len(LOOKS)] for index, name in enumerate(others)}


def _label(device: str, samples: pd.DataFrame) -> str:
    """Return "GPU 0: NVIDIA H200 (141 GB)", or "core 2"."""
    if _kind_and_number(device)[0] == "core":
        return _name(device)
    rows = samples[samples["device"] == device]
    name, total = rows["name"].dropna(), rows["memory_total_bytes"].max()
    size = f" ({gigabytes(total)})" if pd.notna(total) else ""
    said = _name(device).removeprefix("the ")
    return f"{said}: {name.iloc[0]}{size}" if len(name) else f"{said}{size}"


def _name(device: str) -> str:
    """Return what a sentence calls a device: "GPU 0", "core 2", "the host"."""
    kind, number = _kind_and_number(device)
    word = {"gpu": "GPU", "host": "the host"}.get(kind, kind)
    return word if number < 0 else f"{word} {number}"


def _meanings(samples: pd.DataFrame) -> list[str]:
    """Return what load means for each kind of device that has one here, as one note."""
    devices = samples.loc[samples["load_percent"].notna(), "device"].unique()
    kinds = {_kind_and_number(device)[0] for device in devices}
    meanings = " ".join(sentence for kind, sentence in MEANINGS.items() if kind in kinds)
    return [meanings] if meanings else []


def _kind_and_number(device: str) -> tuple[str, int]:
    kind, digits = DEVICE.fullmatch(str(device)).groups()
    return kind, int(digits or -1)
