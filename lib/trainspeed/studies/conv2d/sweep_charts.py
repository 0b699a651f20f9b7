"""Chart of a convolution's time over its size, and of where a device becomes faster than the CPU. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.check import check_name
from trainspeed.core.convolution import library_of
from trainspeed.core.format import three
from trainspeed.judge.crossover import Kind
from trainspeed.show.axes import (
    NOTE_LETTERS,
    legend_below,
    log_axis,
    note_below,
    nothing,
    panels,
    size_axis,
    write_sentence,
)
from trainspeed.show.rows import by_framework, refuse_repeats, require
from trainspeed.show.series import Look, handles, how_to_read, series
from trainspeed.show.theme import FILLS, GREY, PALE, SMALL_PT, framework_colour
from trainspeed.studies.conv2d.sweeps import Sweep
from trainspeed.studies.conv2d.trials import SWEEPS

SWEEP_COLUMNS = ("library", "framework", "on_device", "size", "block", "call_s")
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
ABOVE_PT = 20  # the title's place over a text at the panel's top edge


def plot_sweeps(sweeps: Mapping[str, pd.DataFrame], crossovers: Sequence[Sweep] = ()) -> Figure:
    """Draw the time of a warm call over size on two log axes: a line per library, a panel per factor.

    Of each factor the first crossover that was found is a vertical line, with its interval as band; those of
    further pairs of libraries are short marks at the top edge. Where none was found none is drawn.

    Args:
        sweeps: Factor (of `SWEEPS`) -> rows as of `conv2d_frames.sweep_rows`: library, framework,
            on_device, size, block, call_s (seconds of a warm call). Rows without call_s are left out.
        crossovers: As of `conv2d_study.crossovers`; those of other factors are not drawn.
    """
    data = {factor: _checked(factor, frame) for factor, frame in sweeps.items()}
    filled = {factor: frame for factor, frame in data.items() if not frame.empty}
    if not filled:
        return nothing("Nothing to draw: not measured on this machine.").get_figure()
    looks = _looks(pd.concat(filled.values()))
    found = {factor: _found(crossovers, factor) for factor in filled}
    title = "Time of a warm call over its size, log scales"
    figure, axes = panels(len(data), title, height_in=3.2, share_x=False, share_y=False)
    for ax, (factor, rows) in zip(axes, data.items(), strict=True):
        ax.set_title(SWEEPS[factor].title, pad=ABOVE_PT if found.get(factor) else None)
        if rows.empty:
            write_sentence(ax, "Nothing to draw: not measured here.")
            ax.set(xticks=[], yticks=[])
            continue
        series(rows, looks=looks, ax=ax)
        size_axis(ax, list(rows["x"].unique()))
        low, high = rows["value"].min(), rows["value"].max()
        margin = max(1.3, (high / low) ** 0.06)
        log_axis(ax.yaxis, low / margin, high * margin)
        ax.set(xlabel=SWEEPS[factor].axis, ylabel="time of a warm call in ms\n(less is better)")
        _mark(ax, found[factor])
    note_below(axes[-1], _note(filled, found))
    legend_below(figure, handles(looks))
    return figure


def _checked(factor: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a time, in ms, as `series` wants them: devices' libraries first, by framework."""
    check_name("sweep", factor, tuple(SWEEPS))
    if frame.empty:
        return frame
    require(frame, SWEEP_COLUMNS)
    data = frame[frame["call_s"].notna() & (frame["call_s"] > 0)]
    refuse_repeats(
        data,
        ("library", "size", "block"),
        lambda row: f"{factor} of {row['library']} at {three(row['size'])}, block {row['block']}",
        "pass those of one sweep, in which all else is equal",
    )
    data = data.assign(
        arm=data["library"],
        x=data["size"],
        value=1e3 * data["call_s"].astype(float),
        baseline=~data["on_device"].astype(bool),
    )
    return by_framework(data, "library", "size", "block", first=["baseline"])


def _looks(data: pd.DataFrame) -> dict[str, Look]:
    """Return a look per library, the same in all panels: colour and marker by framework, line by library."""
    looks: dict[str, Look] = {}
    used: Counter[str] = Counter()
    rows = by_framework(data.drop_duplicates("library"), "library", first=["baseline"])
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


def _found(crossovers: Sequence[Sweep], factor: str) -> list[Sweep]:
    return [one for one in crossovers if one.factor == factor and one.found.kind is Kind.FOUND]


def _mark(ax: Axes, pairs: Sequence[Sweep]) -> None:
    """Draw the first crossover as a line, its text above the panel, and the others as marks at the top edge."""
    if not pairs:
        return
    first = pairs[0].found
    if first.low is not None and first.high is not None:
        band = {"color": PALE, "alpha": 0.8, "linewidth": 0, "zorder": 0.5}
        ax.axvspan(first.low, first.high, gid="crossover interval", **band)
    look = {"color": ".25", "linewidth": 1.2, "zorder": 1.5}
    ax.axvline(first.size, linestyle=(0, (5, 2)), gid="crossover", **look)
    low, high = ax.get_xlim()
    place = math.log(first.size / low) / math.log(high / low)
    words = "from about {} on" if first.rising else "up to about {}"
    ax.annotate(
        f"device faster {words.format(three(first.size))}",
        (first.size, 1),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        ha="left" if place < 1 / 3 else "right" if place > 2 / 3 else "center",
        fontsize=SMALL_PT,
        color=".15",
        gid="crossover text",
    )
    for pair in pairs[1:]:
        ax.axvline(pair.found.size, ymin=0.96, gid="further crossover", **look)


def _note(panels: Mapping[str, pd.DataFrame], found: Mapping[str, Sequence[Sweep]]) -> str:
    """Return how to read the marks: of which libraries the crossovers are."""
    notes = [how_to_read(panels.values())]
    pairs = {factor: several for factor, several in found.items() if several}
    names = {
        f: f"{library_of(several[0].device)} and {library_of(several[0].cpu)}" for f, several in pairs.items()
    }
    if len(set(names.values())) > 1:
        said = "; ".join(
            f"{SWEEPS[factor].axis.partition(' in ')[0]}: {name}" for factor, name in names.items()
        )
    else:
        said = "".join(list(names.values())[:1])
    if pairs:
        sure = any(several[0].found.low is not None for several in pairs.values())
        notes.append(f"dashed: equally fast ({said})" + ("; grey: uncertainty" if sure else ""))
    if any(len(several) > 1 for several in pairs.values()):
        notes.append("marks at the top edge: the same for further pairs")
    return "\n".join(textwrap.fill(note, NOTE_LETTERS) for note in notes)
