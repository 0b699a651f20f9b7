"""Chart of a convolution's time over its size, and of where a device becomes faster than the CPU. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from trainspeed.axes import GAP_EM, LETTER_EM, height_pt, note_below, panels, say, title_above
from trainspeed.conv2d_sweeps import Sweep
from trainspeed.crossover import Kind
from trainspeed.errors import UserError
from trainspeed.lines import (
    MOST_END_LABELS,
    ROW_PT,
    Line,
    draw_line,
    has_interval,
    label_ends,
    legend_below,
)
from trainspeed.rows import require
from trainspeed.theme import FILLS, FONT_PT, FRAMEWORK_NAMES, GREY, PALE, SMALL_PT, WIDTH_IN, framework_colour
from trainspeed.trial import check_name
from trainspeed.wording import library_of

SWEEP_COLUMNS = ("library", "framework", "on_device", "size", "block", "call_s")
# Factor -> title and x label of its panel.
FACTORS = {
    "images": ("Number of images", "images in a call"),
    "channels": ("Number of channels", "channels"),
    "filter_size": ("Size of the filter", "filter size in pixels (k of k×k)"),
}
DEVICE_MARKERS = {"tensorflow": "o", "torch": "s", "jax": "^"}
DEVICE_STYLES = (
    "-",
    (0, (4, 2)),
    (0, (6, 2, 1, 2)),
    (0, (1, 1)),
)  # of a framework's first, second, … library
CPU_COLOURS = ("black", ".4", GREY)  # of no framework
CPU_STYLES = ((0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2, 2)), (0, (5, 1, 1, 1, 1, 1)), "-")
CPU_MARKERS = ("D", "v", "X", "P", "*")
PANEL_IN, REST_IN = 3.1, 0.9
MARK_PT = 6  # length of the marks of further pairs, at the top edge
# Of the ticks in each decade of milliseconds, the finest first: it leaves at least two to every axis here.
DIGITS = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
MOST_TICKS = 7
NOTE_LETTERS = 80


def plot_sweeps(sweeps: Mapping[str, pd.DataFrame], crossovers: Sequence[Sweep] = ()) -> Figure:
    """Draw the time of a warm call over size on two log axes: a line per library, a panel per factor.

    Of each factor the first crossover that was found is a vertical line, with its interval as band; those of
    further pairs of libraries are short marks at the top edge. Where none was found none is drawn.

    Args:
        sweeps: Factor (one of FACTORS) -> rows as of `conv2d_frames.sweep_rows`: library, framework,
            on_device, size, block, call_s (seconds of a warm call). Rows without call_s are left out.
        crossovers: As of `conv2d_study.crossovers`; those of other factors are not drawn.
    """
    data = {factor: _checked(factor, frame) for factor, frame in sweeps.items()}
    filled = {factor: frame for factor, frame in data.items() if not frame.empty}
    if not filled:
        figure, (ax,) = panels(1)
        say(ax, "Nothing to draw: not measured on this machine.")
        ax.set(xticks=[], yticks=[])
        return figure
    looks = _looks(pd.concat(filled.values()))
    figure, grid = plt.subplots(
        len(data), 1, squeeze=False, figsize=(WIDTH_IN, PANEL_IN * len(data) + REST_IN), layout="constrained"
    )
    axes = dict(zip(data, grid[:, 0], strict=True))
    lines = {factor: _lines(frame, looks) for factor, frame in filled.items()}
    for factor, ax in axes.items():
        title, label = FACTORS[factor]
        ax.set_title(title)
        if factor not in filled:
            say(ax, "Nothing to draw: not measured here.")
            ax.set(xticks=[], yticks=[])
            continue
        ax.set(xscale="log", yscale="log", xlabel=label, ylabel="time of a warm call in ms\n(less is better)")
        for line in lines[factor]:
            draw_line(ax, line)
    found = {factor: _found(crossovers, factor) for factor in filled}
    everything = [line for several in lines.values() for line in several]
    note_below(grid[-1, 0], _note(everything, found))
    title_above(figure, "Time of a warm call over its size, log scales")
    at_ends = all(_has_room(several) for several in lines.values())
    if not at_ends:
        legend_below(figure, everything)
    for factor, several in lines.items():
        _limit(axes[factor], several, strip_pt=0)
    # The labels take their room first: what is left decides which sizes have room as ticks.
    labels = [
        text for factor, several in lines.items() if at_ends for text in label_ends(axes[factor], several)
    ]
    figure.draw_without_rendering()
    for text in labels:
        text.remove()
    for factor, several in lines.items():
        ax, pairs = axes[factor], found[factor]
        strip_pt = (ROW_PT + 4 if pairs else 0) + (MARK_PT if len(pairs) > 1 else 0)
        _limit(ax, several, strip_pt=strip_pt)
        _size_ticks(ax, sorted({size for line in several for size in line.values}))
        _mark(ax, pairs, strip_pt)
        if at_ends:
            label_ends(ax, several)
    return figure


def _checked(factor: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a time, with the column `ms`, devices' libraries first, by framework."""
    check_name("sweep", factor, tuple(FACTORS))
    if frame.empty:
        return frame
    require(frame, SWEEP_COLUMNS)
    data = frame[frame["call_s"].notna() & (frame["call_s"] > 0)]
    twice = data[data.duplicated(["library", "size", "block"])]
    if not twice.empty:
        row = twice.iloc[0]
        raise UserError(
            f"the rows of {factor} hold {row['library']} at {_number(row['size'])}, block {row['block']} twice: pass "
            "those of one sweep, in which all else is equal."
        )
    ranks = data["framework"].map({known: rank for rank, known in enumerate(FRAMEWORK_NAMES)})
    data = data.assign(
        ms=1e3 * data["call_s"].astype(float), baseline=~data["on_device"].astype(bool), rank=ranks
    )
    return data.sort_values(["baseline", "rank", "library", "size", "block"], kind="stable")


def _looks(data: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Return a look per library, the same in all panels: colour and marker by framework, line by library."""
    looks: dict[str, dict[str, Any]] = {}
    used: Counter[str] = Counter()
    rows = data.drop_duplicates("library").sort_values(["baseline", "rank", "library"], kind="stable")
    for row in rows.to_dict("records"):
        kind = "cpu" if row["baseline"] else row["framework"]
        n = used[kind]
        used[kind] += 1
        if row["baseline"]:
            looks[row["library"]] = {
                "color": CPU_COLOURS[n % len(CPU_COLOURS)],
                "linestyle": CPU_STYLES[n % len(CPU_STYLES)],
                "marker": CPU_MARKERS[n % len(CPU_MARKERS)],
            }
        else:
            looks[row["library"]] = {
                "color": framework_colour(kind),
                "linestyle": DEVICE_STYLES[n % len(DEVICE_STYLES)],
                "marker": DEVICE_MARKERS.get(kind, "h"),
                "fillstyle": FILLS[n % len(FILLS)],
            }
    return looks


def _lines(data: pd.DataFrame, looks: Mapping[str, Mapping[str, Any]]) -> list[Line]:
    return [
        Line(
            label=library,
            short="",
            values={size: list(group["ms"]) for size, group in rows.groupby("size")},
            **looks[library],
        )
        for library, rows in data.groupby("library", sort=False)
    ]


def _has_room(lines: Sequence[Line]) -> bool:
    """Whether names fit at the ends: a pointer from within the panel would look like data."""
    sizes = {size for line in lines for size in line.values}
    ends = {max(line.values) for line in lines}
    return len(lines) <= MOST_END_LABELS and len(ends) == 1 < len(sizes)


def _found(crossovers: Sequence[Sweep], factor: str) -> list[Sweep]:
    return [one for one in crossovers if one.factor == factor and one.found.kind is Kind.FOUND]


def _limit(ax: Axes, lines: Sequence[Line], *, strip_pt: float) -> None:
    """Set both axes to what is drawn, with a strip of free room at the top, and the ticks of y."""
    sizes = [size for line in lines for size in line.values]
    values = [value for line in lines for several in line.values.values() for value in several]
    room = (max(sizes) / min(sizes)) ** 0.04 if len(set(sizes)) > 1 else 2
    ax.set_xlim(min(sizes) / room, max(sizes) * room)
    low, high = min(values), max(values)
    room = max(1.3, (high / low) ** 0.06)
    low, high = low / room, high * room
    share = min(0.5, strip_pt / height_pt(ax))
    high *= (high / low) ** (share / (1 - share))
    ax.set_ylim(low, high)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [[digit * 10.0**n for n in decades for digit in digits] for digits in DIGITS]
    in_view = [[tick for tick in choice if low <= tick <= high] for choice in choices]
    ax.yaxis.set_major_locator(FixedLocator(next((t for t in in_view if len(t) <= MOST_TICKS), in_view[-1])))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")


def _size_ticks(ax: Axes, sizes: Sequence[float]) -> None:
    """Make the sizes measured the ticks of x: all that have room for their labels, both ends always."""
    low, high = ax.get_xlim()
    length_em = ax.get_window_extent().width / ax.get_figure(root=True).dpi * 72 / FONT_PT

    def apart(one: float, other: float) -> bool:
        place = abs(math.log(other / one)) / math.log(high / low) * length_em
        letters = (len(_number(one)) + len(_number(other))) / 2
        return place >= LETTER_EM * letters + GAP_EM["x"]

    ticks = [sizes[0]]
    for size in sizes[1:-1]:
        if apart(ticks[-1], size) and apart(size, sizes[-1]):
            ticks.append(size)
    ticks += sizes[-1:] if len(sizes) > 1 else []
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(lambda value, _: _number(value))


def _mark(ax: Axes, pairs: Sequence[Sweep], strip_pt: float) -> None:
    """Draw the first crossover as a line below its text, and the others as marks at the top edge."""
    if not pairs:
        return
    first, top = pairs[0].found, 1 - strip_pt / height_pt(ax)
    if first.low is not None and first.high is not None:
        band = {"color": PALE, "alpha": 0.8, "linewidth": 0, "zorder": 0.5}
        ax.axvspan(first.low, first.high, ymax=top, gid="crossover interval", **band)
    look = {"color": ".25", "linewidth": 1.2, "zorder": 1.5}
    ax.axvline(first.size, ymax=top, linestyle=(0, (5, 2)), gid="crossover", **look)
    low, high = ax.get_xlim()
    place = math.log(first.size / low) / math.log(high / low)
    words = "from about {} on" if first.rising else "up to about {}"
    ax.annotate(
        f"device faster {words.format(_number(first.size))}",
        (first.size, top),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 2),
        textcoords="offset points",
        ha="left" if place < 1 / 3 else "right" if place > 2 / 3 else "center",
        va="bottom",
        fontsize=SMALL_PT,
        color=".15",
        gid="crossover text",
    )
    for pair in pairs[1:]:
        ax.axvline(pair.found.size, ymin=1 - MARK_PT / height_pt(ax), gid="further crossover", **look)


def _number(size: float) -> str:
    """Return a size: all digits of a whole number, else three that count and all before the point."""
    return f"{size:,.0f}" if size >= 100 or float(size).is_integer() else f"{size:.3g}"


def _note(lines: Sequence[Line], found: Mapping[str, Sequence[Sweep]]) -> str:
    """Return how to read the marks: of which libraries the crossovers are."""
    band = "; band: 95 % interval of the median" if any(map(has_interval, lines)) else ""
    notes = [f"dot: one run; line: median{band}"]
    pairs = {factor: several for factor, several in found.items() if several}
    names = {
        f: f"{library_of(several[0].device)} and {library_of(several[0].cpu)}" for f, several in pairs.items()
    }
    if len(set(names.values())) > 1:
        said = "; ".join(
            f"{FACTORS[factor][1].partition(' in ')[0]}: {name}" for factor, name in names.items()
        )
    else:
        said = "".join(list(names.values())[:1])
    if pairs:
        sure = any(several[0].found.low is not None for several in pairs.values())
        notes.append(f"dashed: equally fast ({said})" + ("; grey: uncertainty" if sure else ""))
    if any(len(several) > 1 for several in pairs.values()):
        notes.append("marks at the top edge: the same for further pairs")
    return "\n".join(textwrap.fill(note, NOTE_LETTERS) for note in notes)
