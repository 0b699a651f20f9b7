"""The monitor's chart: load, memory, power, temperature and clock of every device, with the runs shaded.

Draws what was sampled; whether a sample makes a run doubtful is decided elsewhere.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from trainspeed.axes import note_below, say, spread, title_above
from trainspeed.errors import UserError
from trainspeed.plots_devices import label, looks, meaning
from trainspeed.rows import require
from trainspeed.theme import (
    SMALL_PT,
    WIDTH_IN,
    framework_colour,
    framework_name,
)

MOST_NAMES = 12  # more runs than this are shaded without a number
LONGEST_IN_SECONDS = 300  # a longer time axis counts minutes
LEAST_TICK_PT = 2.0  # epoch ends nearer to each other than this would be a solid bar: left out
DENSE = 500  # samples per line from which a thinner line shows more
# Reasons for a lower clock that slow nothing down: the device had no work, or was told to by its user.
HARMLESS = re.compile(r"^(|none|.*idle.*|.*application.*clock.*|.*display.*)$", re.IGNORECASE)


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
        raise UserError(f"max_points (={max_points}) must be at least 2: the lowest and the highest sample.")
    samples = samples.assign(utc=pd.to_datetime(samples["utc"], utc=True)).sort_values("utc")
    runs = runs.assign(**{c: pd.to_datetime(runs[c], utc=True) for c in ("start", "end")}).sort_values(
        "start"
    )
    there = [p for p in PANELS if p.column in samples and samples[p.column].notna().any()]
    axes = _stack(len(there))
    figure = axes[0].get_figure()
    title_above(figure, "Devices while the runs were measured")
    if not there:
        say(axes[0], "The monitor recorded no sample.")
        axes[0].set(xticks=[], yticks=[])
        return figure
    clock = _Clock.of(samples, runs)
    devices = looks(samples[samples[[p.column for p in there]].notna().any(axis=1)])
    for ax, panel in zip(axes, there, strict=True):
        for device, look in devices.items():
            rows = samples[(samples["device"] == device) & samples[panel.column].notna()]
            if rows.empty:
                continue
            x, y = clock.read(rows["utc"]), rows[panel.column].to_numpy(float) / panel.divisor
            width = 1.3 if len(x) < DENSE else 0.8
            ax.plot(*thin(x, y, max_points), linewidth=width, label=device, gid=device, **look)
        _shade(ax, runs, clock)
        ax.set_ylabel(panel.label)
        ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
        ax.set_ylim(0, 1.1 * max(samples[panel.column].max() / panel.divisor, panel.least_top))
    axes[-1].set_xlabel(f"{clock.unit} since the start of the first run")
    ticks = _mark_epochs(axes[0], runs, clock)
    throttled = _mark_throttling(axes[-1], samples, clock)
    if len(runs) <= MOST_NAMES:
        _number(axes[0], runs, clock)
    missing = [p.sensor for p in PANELS if p not in there]
    _caption(axes[-1], meaning(samples), missing, throttled, ticks=ticks)
    _legends(figure, samples, devices, runs)
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
        long = (moments.max() - origin).total_seconds() > LONGEST_IN_SECONDS
        return cls(origin, 60.0 if long else 1.0, "minutes" if long else "seconds")

    def read(self, moments: Iterable[object]) -> np.ndarray:
        times = pd.Series(pd.to_datetime(list(moments), utc=True))
        return ((times - self.origin).dt.total_seconds() / self.seconds).to_numpy()


def thin(x: np.ndarray, y: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `most` points: the lowest and the highest of each stretch, so no spike is lost."""
    if len(x) <= most:
        return x, y
    kept = [
        stretch[place]
        for stretch in np.array_split(np.arange(len(x)), most // 2)
        for place in sorted({int(y[stretch].argmin()), int(y[stretch].argmax())})
    ]
    return x[kept], y[kept]


def _stack(count: int) -> list[Axes]:
    size = (WIDTH_IN, 1.15 * max(count, 1) + 2.0)
    return list(
        plt.subplots(max(count, 1), sharex=True, squeeze=False, figsize=size, layout="constrained")[1][:, 0]
    )


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
    width_pt = ax.get_window_extent().width / ax.get_figure(root=True).dpi * 72
    if not ends or len(ends) * LEAST_TICK_PT > width_pt:
        return False
    x = clock.read(ends)
    ax.plot(
        x,
        [0.05] * len(x),
        "|",
        transform=ax.get_xaxis_transform(),
        color=".2",
        markersize=6,
        gid="epoch ends",
    )
    return True


def _mark_throttling(ax: Axes, samples: pd.DataFrame, clock: _Clock) -> list[str]:
    """Hatch the spans in which any device was throttled; return the reasons."""
    if "throttle_reasons" not in samples:
        return []
    reasons: dict[str, None] = {}
    for _, rows in samples.groupby("device"):
        texts = rows["throttle_reasons"].fillna("").astype(str)
        named = [[r for r in re.split(r"\s*[,;|+]\s*", text) if not HARMLESS.match(r)] for text in texts]
        reasons |= dict.fromkeys(reason for several in named for reason in several)
        x = clock.read(rows["utc"])
        # A sample holds until the next one.
        ends = np.append(x[1:], x[-1])
        spans = [(a, b - a) for a, b, several in zip(x, ends, named, strict=True) if several]
        look = {"facecolor": "none", "edgecolor": ".2", "hatch": "/////", "linewidth": 0.8, "alpha": 0.6}
        if spans:
            across = ax.get_xaxis_transform()
            ax.broken_barh(_joined(spans), (0, 1), transform=across, gid="throttled", **look)
    return list(reasons)


def _joined(spans: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the spans with those that touch made one: hatching starts anew in each."""
    joined: list[tuple[float, float]] = []
    for start, width in spans:
        if joined and start <= sum(joined[-1]) + 1e-9:
            joined[-1] = (joined[-1][0], start + width - joined[-1][0])
        else:
            joined.append((start, width))
    return joined


def _number(ax: Axes, runs: pd.DataFrame, clock: _Clock) -> None:
    middles = (clock.read(runs["start"]) + clock.read(runs["end"])) / 2
    to_axes = ax.transData + ax.transAxes.inverted()
    wanted = [float(to_axes.transform((x, 0))[0]) for x in middles]
    width_pt = ax.get_window_extent().width / ax.get_figure(root=True).dpi * 72
    for number, x in enumerate(spread(wanted, 14 / width_pt, 0, 1), start=1):
        ax.text(
            x,
            1.03,
            str(number),
            transform=ax.transAxes,
            ha="center",
            fontsize=SMALL_PT,
            color=".15",
            gid="number",
        )


def _caption(ax: Axes, load: str, missing: list[str], throttled: list[str], *, ticks: bool) -> None:
    texts = [*([load] if load else []), *(["Short ticks in the top panel: ends of epochs."] if ticks else [])]
    if throttled:
        texts.append(f"Hatched: throttled ({', '.join(throttled)}).")
    if missing:
        texts.append(f"Not recorded on this machine: {', '.join(missing)}.")
    note_below(ax, "\n".join(textwrap.fill(text, 76) for text in texts))


def _legends(
    figure: Figure, samples: pd.DataFrame, devices: dict[str, dict[str, Any]], runs: pd.DataFrame
) -> None:
    """List the devices, then the runs by number, or only the frameworks where the runs are many."""
    handles: list[Line2D | Patch] = []
    for device, look in devices.items():
        rows = samples[samples["device"] == device]
        handles.append(Line2D([], [], label=label(device, rows), **look))
    if len(runs) <= MOST_NAMES:
        names = [
            (f"{n}  {row['name']}", row["framework"]) for n, (_, row) in enumerate(runs.iterrows(), start=1)
        ]
    else:
        names = [(f"runs of {framework_name(f)}", f) for f in runs["framework"].unique()]
    handles += [Patch(color=framework_colour(framework), alpha=0.3, label=name) for name, framework in names]
    columns = 1 if max(len(handle.get_label()) for handle in handles) > 38 else 2
    rows_in = math.ceil(len(handles) / columns) * SMALL_PT * 1.6 / 72
    figure.set_figheight(figure.get_figheight() + rows_in)
    figure.legend(
        handles=handles, loc="outside lower left", ncols=columns, fontsize=SMALL_PT, columnspacing=1
    )
