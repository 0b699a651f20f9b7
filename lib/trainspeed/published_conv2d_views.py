"""Article 004's times of one convolution, alone and with this machine's, as tables and a chart. Decides nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullLocator
from pandas.io.formats.style import Styler

from trainspeed.axes import note_below, say
from trainspeed.cells import NOTHING, fixed, styled
from trainspeed.errors import UserError
from trainspeed.lines import MOST_END_LABELS, Line, label_ends, legend_below
from trainspeed.published_conv2d import SERIES_COLUMNS, Conv2dClaim, device_ratios
from trainspeed.rows import require
from trainspeed.theme import OKABE_ITO, WIDTH_IN, framework_colour
from trainspeed.verdict import CONFIDENCE

ARTICLE_GREY = ".45"
ARTICLE_MARKERS = ("o", "s", "^", "D")
# No colour of a framework: a series is a library, a stage or the CPU, unless the frame names its framework.
OUR_COLOURS = tuple(OKABE_ITO[name] for name in ("black", "sky blue", "purple", "orange"))
OUR_STYLES = (("-", "o"), ((0, (4, 2)), "s"), ((0, (1, 1)), "^"), ((0, (6, 2, 1, 2)), "D"))
ALL_TICKS = 12  # up to so many devices each has a tick
LOG_TICKS = tuple(digit * 10.0**decade for decade in range(-3, 7) for digit in (1, 2, 5))
FEW_DECADES = 60  # beyond this ratio of longest to shortest only powers of ten are ticks


def devices_table(gpus: pd.DataFrame, cpus: pd.DataFrame) -> Styler:
    """Return a row per number of devices: the article's times, relative to one device and to the CPU.

    Args:
        gpus: As `published_conv2d.gpu_times` returns it.
        cpus: As `published_conv2d.cpu_times` returns it.
    """
    require(gpus, ("source", "gpu", "devices", "images", "width", "height", "filter_px", "ms"))
    require(cpus, ("library", "ms", "std_ms"))
    data, cpu = device_ratios(gpus), cpus.loc[cpus["ms"].idxmin()]
    rows: dict[int, dict[str, str]] = {}
    for row in data.sort_values("devices", kind="stable").to_dict("records"):
        cells = rows.setdefault(row["devices"], {"devices": str(row["devices"])})
        cells[f"{row['gpu']}, ms"] = fixed(row["ms"], 0)
        cells[f"{row['gpu']} / its 1 device"] = fixed(row["relative_time"], 3)
        cells[f"CPU / {row['gpu']}"] = fixed(cpu["ms"] / row["ms"], 3)
    first = data.iloc[0]
    caption = (
        f"{first['images']} images of {first['width']}×{first['height']}, {first['filter_px']}×"
        f"{first['filter_px']} filter (article {first['source']}): the first call, in ms, relative to that on one "
        f"device, and {cpu['library']} on a CPU ({cpu['ms']:g} ± {cpu['std_ms']:g} ms, warm) relative to it: below "
        "1 the CPU was faster"
    )
    return styled(pd.DataFrame(rows.values()).fillna(NOTHING), "conv2d_devices", caption)


def guesses_table(claims: Iterable[Conv2dClaim]) -> Styler:
    """Return a row per claim: what the article found or guessed, and what tests it here."""
    rows = [{"article": c.claim, "there": c.size, "tested here by": c.experiment} for c in claims]
    table = pd.DataFrame(rows, columns=["article", "there", "tested here by"])
    return styled(table, "conv2d_guesses", "What the article found or guessed, and the experiment for it")


def plot_devices(data: pd.DataFrame, ours: pd.DataFrame | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw time against devices, y logarithmic: the article's hollow and grey, this machine's filled.

    A row without a number of devices is a time that was not split over devices, such as the CPU's: a
    horizontal line.

    Args:
        data: As `published_conv2d.article_series` returns it: series, devices, ms, low_ms, high_ms.
        ours: The same columns, and `framework` where a series has its colour; low_ms and high_ms may be NaN.
    """
    frames = [_checked(frame) for frame in (data, ours) if frame is not None and not frame.empty]
    ax = ax or plt.figure(figsize=(WIDTH_IN, 4.4), layout="constrained").gca()
    ax.set_title("One convolution: time against the number of devices")
    if not frames:
        say(ax, "Nothing to draw: no time was measured.")
        ax.set(xticks=[], yticks=[])
        return ax
    everything = pd.concat(frames, ignore_index=True)
    most = int(max(2, everything["devices"].max() if everything["devices"].notna().any() else 2))
    lines = _series(ax, data, _article_looks(data), "published", most)
    if ours is not None and not ours.empty:
        lines += _series(ax, ours, _our_looks(ours), "measured", most)
    ax.set_xlim(0.7, most + 0.3 * (1 + most / 20))
    locator = range(1, most + 1) if most <= ALL_TICKS else None
    ax.xaxis.set_major_locator(FixedLocator(locator) if locator else MaxNLocator(integer=True))
    ends = everything[["ms", "low_ms", "high_ms"]].astype(float)
    _log_ms(ax, ends.min().min(), ends.max().max())
    ax.set(xlabel="devices", ylabel="time in ms, log scale (less is better)")
    note_below(ax, _note(data, ours))
    # A name's pointer from a line that ends earlier would look like data on more devices.
    if len(lines) <= MOST_END_LABELS and all(line.end[0] == most for line in lines):
        label_ends(ax, lines)
    else:
        legend_below(ax.get_figure(root=True), lines)
    return ax


def _checked(frame: pd.DataFrame) -> pd.DataFrame:
    require(frame, SERIES_COLUMNS)
    if not (frame["ms"] > 0).all():
        raise UserError("ms must be positive in every row: leave out what was not measured.")
    twice = frame[frame.duplicated(["series", "devices"])]
    if not twice.empty:
        row = twice.iloc[0]
        raise UserError(
            f"the frame holds the series {row['series']!r} on {row['devices']:g} devices twice: pass one row of each."
        )
    return frame


def _article_looks(data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        series: {
            "color": ARTICLE_GREY,
            "linestyle": ":",
            "marker": ARTICLE_MARKERS[place % len(ARTICLE_MARKERS)],
            "fillstyle": "none",
        }
        for place, series in enumerate(data["series"].unique())
    }


def _our_looks(ours: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """A framework's series share its colour and differ in line and marker; others take the next colour."""
    looks: dict[str, dict[str, Any]] = {}
    used: Counter[str] = Counter()
    others = 0
    for row in ours.drop_duplicates("series").to_dict("records"):
        framework = row.get("framework")
        if isinstance(framework, str) and framework:
            colour = framework_colour(framework)
        else:
            colour, others = OUR_COLOURS[others % len(OUR_COLOURS)], others + 1
        style, marker = OUR_STYLES[used[colour] % len(OUR_STYLES)]
        used[colour] += 1
        looks[row["series"]] = {"color": colour, "linestyle": style, "marker": marker, "fillstyle": "full"}
    return looks


def _series(
    ax: Axes, frame: pd.DataFrame, looks: dict[str, dict[str, Any]], gid: str, most: int
) -> list[Line]:
    """Draw each series; return them as lines for the names at their ends or the legend."""
    lines = []
    for series, rows in frame.groupby("series", sort=False):
        look = looks[series]
        flat, split = rows[rows["devices"].isna()], rows[rows["devices"].notna()].sort_values("devices")
        values = {int(n): [ms] for n, ms in zip(split["devices"], split["ms"], strict=True)}
        for row in flat.to_dict("records"):
            ax.axhline(
                row["ms"], color=look["color"], linestyle=look["linestyle"], linewidth=1.5, gid=f"{gid} cpu"
            )
            if pd.notna(row["low_ms"]) and pd.notna(row["high_ms"]):
                band = {"color": look["color"], "alpha": 0.15, "linewidth": 0, "gid": f"{gid} interval"}
                ax.axhspan(row["low_ms"], row["high_ms"], **band)
        if not split.empty:
            ax.plot(split["devices"], split["ms"], gid=gid, linewidth=1.5, markersize=6, **look)
            sure = split[split["low_ms"].notna() & split["high_ms"].notna()]
            interval = {"color": look["color"], "linewidth": 2, "gid": f"{gid} interval"}
            if not sure.empty:
                ax.vlines(sure["devices"], sure["low_ms"], sure["high_ms"], **interval)
        else:
            look, values = look | {"marker": ""}, {most: flat["ms"].tolist()}
        lines.append(Line(label=series, short="", values=values, **look))
    return lines


def _log_ms(ax: Axes, low: float, high: float) -> None:
    ax.set_yscale("log")
    ax.set_ylim(low / 1.4, high * 1.4)
    ticks: Sequence[float] = LOG_TICKS
    if high / low > FEW_DECADES**2:
        ticks = [tick for tick in LOG_TICKS if f"{tick:e}".startswith("1.")]
    ax.yaxis.set_major_locator(FixedLocator(ticks))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")


def _note(data: pd.DataFrame, ours: pd.DataFrame | None) -> str:
    parts = [] if data.empty else ["hollow, grey: the article's GPUs, each the first call of a fresh process"]
    frames = [frame for frame in (data, ours) if frame is not None and not frame.empty]
    if ours is not None and not ours.empty:
        parts.append("filled: this machine")
        if (ours["low_ms"].notna() & ours["high_ms"].notna()).any():
            parts[-1] += f", with the {100 * CONFIDENCE:.0f} % interval"
    if any(frame["devices"].isna().any() for frame in frames):
        parts.append("horizontal: not split over devices")
    return "\n".join(parts)
