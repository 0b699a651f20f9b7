"""Chart of a convolution's time over its size, and of where a device beats the CPU. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from trainspeed.core.convolution import library_of
from trainspeed.core.errors import check_name
from trainspeed.core.format import three
from trainspeed.judge.crossover import CrossoverKind
from trainspeed.show.axes import NOTE_LETTERS, legend_below, log_axis, note_below, nothing, panels, size_axis
from trainspeed.show.rows import by_framework, refuse_repeats, require
from trainspeed.show.series import handles, series, series_legend
from trainspeed.show.theme import CPU_LIBRARY_COLOURS, FILLS, GREY, PALE, SMALL_PT, Look, framework_colour
from trainspeed.studies.conv2d.frames import SWEEP_COLUMNS
from trainspeed.studies.conv2d.sweeps import SWEEPS, Sweep

DEVICE_MARKERS = {"tensorflow": "o", "torch": "s", "jax": "^"}
# Of a framework's first, second, … library.
DEVICE_STYLES = ("-", (0, (4, 2)), (0, (6, 2, 1, 2)), (0, (1, 1)))
# Of the first, second, … library of the CPU.
CPU_STYLES = ((0, (1, 1)), (0, (5, 1, 1, 1)), (0, (2, 2)), (0, (5, 1, 1, 1, 1, 1)), "-")
CPU_MARKERS = ("D", "v", "X", "P", "*")
QUESTION = "From what size on is which library faster?"
ABOVE_PT = 34  # from a panel's top edge to its title, where a text of two lines stands between the two


def plot_sweeps(
    sweeps: Mapping[str, pd.DataFrame], crossovers: Sequence[Sweep] = (), *, title: str = QUESTION
) -> Figure:
    """Draw the time of a warm call over size on two log axes: a line per library, a panel per factor.

    In each panel the first crossover that was found, between sizes that are not too far apart, is a vertical line,
    with its interval as band; those of further pairs of libraries are short marks at the top edge.

    Args:
        sweeps: Factor, one of `SWEEPS` -> rows as returned by `frames.sweep_rows`.
        crossovers: As returned by `sweeps.crossovers`; those of other factors are not drawn.
        title: What was found, or else the question.
    """
    data = {factor: _checked(factor, frame) for factor, frame in sweeps.items()}
    measured = {factor: rows for factor, rows in data.items() if not rows.empty}
    if not measured:
        return nothing("Nothing to draw: not measured on this machine.").get_figure()
    looks = _looks(pd.concat(measured.values()))
    found = [s for s in crossovers if s.crossover.kind is CrossoverKind.SINGLE and not s.crossover.is_rough]
    pairs = {factor: [sweep for sweep in found if sweep.factor == factor] for factor in measured}
    figure, axes = panels(len(data), title, height_in=3.2, share_x=False, share_y=False)
    for ax, (factor, rows) in zip(axes, data.items(), strict=True):
        if rows.empty:
            nothing("Nothing to draw: not measured here.", title=SWEEPS[factor].title, ax=ax)
            continue
        ax.set_title(SWEEPS[factor].title, pad=ABOVE_PT if pairs[factor] else None)
        series(rows, looks=looks, ax=ax)
        size_axis(ax, list(rows["x"].unique()))
        low, high = rows["value"].min(), rows["value"].max()
        margin = max(1.3, (high / low) ** 0.06)
        log_axis(ax.yaxis, low / margin, high * margin)
        ax.set(xlabel=SWEEPS[factor].axis, ylabel="time of a warm call in ms\n(less is better)")
        if pairs[factor]:
            _mark(ax, pairs[factor])
    note_below(axes[-1], _note(measured.values(), pairs))
    legend_below(figure, handles(looks))
    return figure


def _checked(factor: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as `series` wants them, times in ms: devices' libraries first, by framework."""
    check_name("sweep", factor, tuple(SWEEPS))
    if frame.empty:
        return frame
    require(frame, SWEEP_COLUMNS)
    refuse_repeats(
        frame,
        ("library", "size", "block"),
        lambda row: f"{factor} of {row['library']} at {three(row['size'])}, block {row['block']}",
        "pass those of one sweep, in which all else is equal",
    )
    data = frame.assign(arm=frame["library"], x=frame["size"], value=1e3 * frame["call_s"])
    return by_framework(
        data.assign(baseline=~data["on_device"]), "library", "size", "block", first=["baseline"]
    )


def _looks(data: pd.DataFrame) -> dict[str, Look]:
    """Return a look per library, the same in all panels: colour and marker by framework, line by library."""
    looks: dict[str, Look] = {}
    of_cpu = zip(cycle(CPU_STYLES), cycle(CPU_MARKERS))
    variants: Counter[str] = Counter()
    rows = by_framework(data.drop_duplicates("library"), "library", first=["baseline"])
    for library, framework, baseline in rows[["library", "framework", "baseline"]].itertuples(index=False):
        if baseline:
            (style, marker), fill = next(of_cpu), FILLS[0]
            colour = CPU_LIBRARY_COLOURS.get(framework, GREY)
        else:
            variant = variants[framework]
            variants[framework] += 1
            colour, style = framework_colour(framework), DEVICE_STYLES[variant % len(DEVICE_STYLES)]
            marker, fill = DEVICE_MARKERS.get(framework, "h"), FILLS[variant % len(FILLS)]
        looks[library] = {"color": colour, "linestyle": style, "marker": marker, "fillstyle": fill}
    return looks


def _mark(ax: Axes, pairs: Sequence[Sweep]) -> None:
    """Draw the first crossover as a line with its text above, the others as marks at the top edge."""
    first = pairs[0].crossover
    if first.low is not None:
        band = {"color": PALE, "alpha": 0.8, "linewidth": 0, "zorder": 0.5}
        ax.axvspan(first.low, first.high, gid="crossover interval", **band)
    look = {"color": ".25", "linewidth": 1.2, "zorder": 1.5}
    ax.axvline(first.size, linestyle=(0, (5, 2)), gid="crossover", **look)
    low, high = ax.get_xlim()
    share = math.log(first.size / low) / math.log(high / low)  # of the way from left to right
    where = f"from {first.size_words} on" if first.rising else f"up to {first.size_words}"
    ax.annotate(
        f"{library_of(pairs[0].device)} faster than\n{library_of(pairs[0].cpu)} {where}",
        (first.size, 1),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 3),
        textcoords="offset points",
        ha="left" if share < 1 / 3 else "right" if share > 2 / 3 else "center",
        va="bottom",
        fontsize=SMALL_PT,
        color=".15",
        gid="crossover text",
    )
    for pair in pairs[1:]:
        ax.axvline(pair.crossover.size, ymin=0.96, gid="further crossover", **look)


def _note(rows: Iterable[pd.DataFrame], pairs: Mapping[str, Sequence[Sweep]]) -> str:
    """Return how to read the marks, and of which libraries the crossovers are."""
    notes = [series_legend(rows)]
    firsts = [alike[0] for alike in pairs.values() if alike]
    names = [f"{library_of(first.device)} and {library_of(first.cpu)}" for first in firsts]
    if len(set(names)) > 1:
        sizes = [SWEEPS[first.factor].axis.partition(" in ")[0] for first in firsts]
        names = [f"{size}: {name}" for size, name in zip(sizes, names, strict=True)]
    if firsts:
        bands = {first.crossover.low is not None for first in firsts}
        grounds = "; grey: uncertainty" * (True in bands)
        grounds += f"; {'without grey' if True in bands else 'no interval'}: by medians alone" * (
            False in bands
        )
        notes.append(f"dashed: equally fast ({'; '.join(dict.fromkeys(names))}){grounds}")
    if any(len(alike) > 1 for alike in pairs.values()):
        notes.append("marks at the top edge: the same for further pairs")
    return "\n".join(textwrap.fill(note, NOTE_LETTERS) for note in notes)
