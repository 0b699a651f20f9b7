"""The monitor's chart: load, memory, power, temperature and clock of every device, with the runs shaded.

Draws what was sampled; whether a sample makes a run doubtful is decided elsewhere.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from trainspeed.core.errors import UserError
from trainspeed.core.format import gigabytes
from trainspeed.show.axes import NOTE_LETTERS, legend_below, note_below, nothing, panels
from trainspeed.show.rows import require
from trainspeed.show.theme import OKABE_ITO, SMALL_PT, framework_colour, framework_name

MAX_NAMES = 12  # more runs than this are shaded without a number
MAX_AXIS_IN_SECONDS_S = 300  # a longer time axis counts minutes
MAX_TICKS = 200  # more epoch ends than this would be a solid bar: left out
NUMBER_SHARE = 0.033  # of the time axis, for the number of a run
DENSE = 500  # samples per line from which a thinner line shows more
# Reasons for a lower clock that slow nothing down: the device had no work, or was told to by its user.
HARMLESS_REASONS = re.compile(r"^(|none|.*idle.*|.*application.*clock.*|.*display.*)$", re.IGNORECASE)
MEANINGS = {  # kind of device -> sentence
    "gpu": "Load of a GPU: share of time in which a kernel was running (not how full the GPU was).",
    "core": "Load of a core: share of time it was busy, by any process.",
    "host": "Load of the host: share of all cores that were busy.",
}
# No colour of a framework; the host is grey.
LOOKS = tuple(
    {"color": OKABE_ITO[color], "linestyle": linestyle}
    for linestyle in ("-", "--")
    for color in ("black", "purple", "sky blue", "orange")
)


@dataclass(frozen=True)
class Panel:
    """One quantity: its column, the axis label with its unit, and the name of the sensor if it is missing.

    `divisor` turns the column's unit into the label's; the axis reaches at least up to `least_top`.
    """

    column: str
    label: str
    sensor: str
    divisor: float = 1.0
    least_top: float = 0.1


PANELS = (
    Panel("load_percent", "load\nin %", "load", least_top=100),
    Panel("memory_used_bytes", "memory\nin GB", "memory", 1e9),
    Panel("power_w", "power\nin W", "power"),
    Panel("temperature_c", "temperature\nin °C", "temperature"),
    Panel("sm_clock_mhz", "SM clock\nin MHz", "SM clock"),
)


def plot_monitor(samples: pd.DataFrame, runs: pd.DataFrame, *, max_points: int = 2000) -> Figure:
    """Draw what the monitor sampled, a panel per quantity over time since the first run, the runs shaded.

    Args:
        samples: utc, device ("host", "gpu0", "core2", …), name, and of load_percent, memory_used_bytes,
            memory_total_bytes, power_w, temperature_c, sm_clock_mhz and throttle_reasons what there is. A
            column that is missing or empty is a line of text.
        runs: start, end, name, framework, epoch_ends (a list of times); may have no rows.
        max_points: Per line. More are thinned so that the highest and lowest of each stretch remain.
    """
    require(samples, ("utc", "device"))
    require(runs, ("start", "end", "name", "framework", "epoch_ends"))
    if max_points < 2:
        raise UserError("max_points", max_points, "must be at least 2: the lowest and the highest sample.")
    samples = samples.assign(utc=pd.to_datetime(samples["utc"], utc=True)).sort_values("utc")
    runs = runs.assign(**{c: pd.to_datetime(runs[c], utc=True) for c in ("start", "end")}).sort_values(
        "start"
    )
    there = [p for p in PANELS if p.column in samples and samples[p.column].notna().any()]
    title = "Devices while the runs were measured"
    if not there:
        return nothing("The monitor recorded no sample.", title=title).get_figure()
    figure, axes = panels(len(there), title, height_in=1.4, share_y=False)
    clock = _Clock.of(samples, runs)
    devices = _looks(samples[samples[[p.column for p in there]].notna().any(axis=1)])
    for ax, panel in zip(axes, there, strict=True):
        for device, look in devices.items():
            rows = samples[(samples["device"] == device) & samples[panel.column].notna()]
            if rows.empty:
                continue
            x, y = clock.read(rows["utc"]), rows[panel.column].to_numpy(float) / panel.divisor
            width = 1.3 if len(x) < DENSE else 0.8
            ax.plot(*downsample_minmax(x, y, max_points), linewidth=width, label=device, gid=device, **look)
        _shade(ax, runs, clock)
        ax.set_ylabel(panel.label)
        ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        ax.set_ylim(0, 1.1 * max(samples[panel.column].max() / panel.divisor, panel.least_top))
    axes[-1].set_xlabel(f"{clock.unit} since the start of the first run")
    ticks = _mark_epochs(axes[0], runs, clock)
    throttled = _mark_throttling(axes[-1], samples, clock)
    if len(runs) <= MAX_NAMES:
        _number(axes[0], runs, clock)
    missing = [p.sensor for p in PANELS if p not in there]
    _caption(axes[-1], _meaning(samples), missing, throttled, ticks=ticks)
    legend_below(figure, [*_device_lines(samples, devices), *_run_patches(runs)])
    return figure


@dataclass(frozen=True)
class _Clock:
    """Turns moments into what the time axis counts."""

    origin: pd.Timestamp
    seconds: float
    unit: str

    @classmethod
    def of(cls, samples: pd.DataFrame, runs: pd.DataFrame) -> _Clock:
        moments = pd.concat([samples["utc"], runs["start"], runs["end"]]).dropna()
        origin = runs["start"].min() if len(runs) else moments.min()
        long = (moments.max() - origin).total_seconds() > MAX_AXIS_IN_SECONDS_S
        return cls(origin, 60.0 if long else 1.0, "minutes" if long else "seconds")

    def read(self, moments: Iterable[object]) -> np.ndarray:
        times = pd.Series(pd.to_datetime(list(moments), utc=True))
        return ((times - self.origin).dt.total_seconds() / self.seconds).to_numpy()


def downsample_minmax(x: np.ndarray, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `most` points: the lowest and the highest of each stretch, so no spike is lost."""
    if len(x) <= most:
        return x, y
    kept = [
        stretch[place]
        for stretch in np.array_split(np.arange(len(x)), most // 2)
        for place in sorted({int(y[stretch].argmin()), int(y[stretch].argmax())})
    ]
    return x[kept], y[kept]


def _shade(ax: Axes, runs: pd.DataFrame, clock: _Clock) -> None:
    for framework, rows in runs.groupby("framework", sort=False):
        starts, ends = clock.read(rows["start"]), clock.read(rows["end"])
        ax.broken_barh(
            list(zip(starts, ends - starts, strict=True)),
            (0, 1),
            transform=ax.get_xaxis_transform(),
            facecolor=framework_colour(framework),
            edgecolor="white",
            linewidth=0.6,
            alpha=0.2,
            zorder=0.5,
            gid=f"runs of {framework}",
        )


def _mark_epochs(ax: Axes, runs: pd.DataFrame, clock: _Clock) -> bool:
    """Draw a short tick at the end of every epoch; return whether there were any, and room."""
    ends = [end for several in runs["epoch_ends"] for end in (several if several is not None else ())]
    if not 0 < len(ends) <= MAX_TICKS:
        return False
    look = {"color": ".2", "markersize": 6, "transform": ax.get_xaxis_transform()}
    ax.plot(clock.read(ends), [0.05] * len(ends), "|", gid="epoch ends", **look)
    return True


def _mark_throttling(ax: Axes, samples: pd.DataFrame, clock: _Clock) -> list[str]:
    """Hatch the spans in which any device was throttled; return the reasons."""
    if "throttle_reasons" not in samples:
        return []
    reasons: dict[str, None] = {}
    look = {"facecolor": "none", "edgecolor": ".2", "hatch": "/////", "linewidth": 0.8, "alpha": 0.6}
    for _, rows in samples.groupby("device"):
        texts = rows["throttle_reasons"].fillna("").astype(str)
        named = [
            [r for r in re.split(r"\s*[,;|+]\s*", text) if not HARMLESS_REASONS.match(r)] for text in texts
        ]
        reasons |= dict.fromkeys(reason for several in named for reason in several)
        throttled = np.array([bool(several) for several in named])
        if throttled.any():
            held = throttled | np.append(False, throttled[:-1])  # a sample holds until the next one
            where = {"where": held, "step": "post", "transform": ax.get_xaxis_transform()}
            ax.fill_between(clock.read(rows["utc"]), 0, 1, gid="throttled", **where, **look)
    return list(reasons)


def _number(ax: Axes, runs: pd.DataFrame, clock: _Clock) -> None:
    """Write a run's number over its middle, or a little to the right of the one before."""
    low, high = ax.get_xlim()
    places = ((clock.read(runs["start"]) + clock.read(runs["end"])) / 2 - low) / (high - low)
    at = {"transform": ax.transAxes, "ha": "center", "fontsize": SMALL_PT, "color": ".15", "gid": "number"}
    last = -1.0
    for count, place in enumerate(places, start=1):
        last = max(place, last + NUMBER_SHARE)
        ax.text(last, 1.03, str(count), **at)


def _caption(ax: Axes, load: str, missing: list[str], throttled: list[str], *, ticks: bool) -> None:
    texts = [*([load] if load else []), *(["Short ticks in the top panel: ends of epochs."] if ticks else [])]
    if throttled:
        texts.append(f"Hatched: throttled ({', '.join(throttled)}).")
    if missing:
        texts.append(f"Not recorded on this machine: {', '.join(missing)}.")
    note_below(ax, "\n".join(textwrap.fill(text, NOTE_LETTERS) for text in texts))


def _device_lines(samples: pd.DataFrame, devices: dict[str, dict[str, Any]]) -> list[Line2D]:
    rows = {device: samples[samples["device"] == device] for device in devices}
    return [Line2D([], [], label=_label(device, rows[device]), **look) for device, look in devices.items()]


def _run_patches(runs: pd.DataFrame) -> list[Patch]:
    """Return the runs by number, or only the frameworks where the runs are many."""
    if len(runs) <= MAX_NAMES:
        rows = enumerate(runs[["name", "framework"]].to_numpy(), start=1)
        names = [(f"{count}  {name}", framework) for count, (name, framework) in rows]
    else:
        names = [(f"runs of {framework_name(f)}", f) for f in runs["framework"].unique()]
    return [Patch(color=framework_colour(framework), alpha=0.3, label=name) for name, framework in names]


def _looks(samples: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return each device's line: the host in grey first, below the accelerators and cores."""
    names = sorted(samples["device"].unique(), key=lambda name: (name != "host", *_kind_and_number(name)))
    host = {"host": {"color": ".35", "linestyle": (0, (3, 1))}} if "host" in names else {}
    others = [name for name in names if name != "host"]
    return host | {name: LOOKS[place % len(LOOKS)] for place, name in enumerate(others)}


def _label(device: str, rows: pd.DataFrame) -> str:
    """Return "gpu0: NVIDIA H200 (141 GB)", or "core 2"; `rows` are the samples of this device."""
    kind, number = _kind_and_number(device)
    if kind == "core":
        return f"core {number}"
    name = rows["name"].dropna().iloc[0] if "name" in rows and rows["name"].notna().any() else ""
    total = rows["memory_total_bytes"].max() if "memory_total_bytes" in rows else None
    size = f" ({gigabytes(total)})" if pd.notna(total) else ""
    return f"{device}: {name}{size}" if name else f"{device}{size}"


def _meaning(samples: pd.DataFrame) -> str:
    """Return what load means for each kind of device that has one here."""
    devices = samples.loc[samples["load_percent"].notna(), "device"] if "load_percent" in samples else ()
    kinds = {_kind_and_number(device)[0] for device in devices}
    return " ".join(sentence for kind, sentence in MEANINGS.items() if kind in kinds)


def _kind_and_number(device: str) -> tuple[str, int]:
    kind, digits = re.fullmatch(r"(.*?)(\d*)", str(device), re.DOTALL).groups()
    return kind, int(digits or -1)
