"""Axes of the report's charts: panels, ticks, sentences, legends. Knows no frame and no result."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from trainspeed.core.errors import UserError
from trainspeed.core.format import three
from trainspeed.show.fitting import at_width, in_columns
from trainspeed.show.theme import FONT_PT, GREY, SMALL_PT, WIDTH_IN

LOG_DIGITS = ((1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))  # in each decade
MAX_TICKS = {"x": 6, "y": 8}  # of a log axis: on x their labels stand side by side
LETTER_PT = 0.6 * SMALL_PT  # about as wide as the mean letter
SIZES_MARGIN_PT = 88  # about as much of a panel's width is beside an axis of sizes
ROW_PT, FURTHER_PT = 1.6 * SMALL_PT, 1.2 * SMALL_PT  # height of a row of a legend, and of its second line
NOTE_LETTERS = 76  # in a line of a note
NOTE_LETTERS_PER_IN, NOTE_LINE_IN = 13.5, 1.35 * SMALL_PT / 72
NOTE_BELOW_PT, LABEL_LINE_PT = 25, 17  # from a panel to its note: room of its ticks, of each line of a label
TICK_LINE_PT = 1.25 * FONT_PT  # height of a tick's label of one line
SENTENCE_IN = 0.6  # height of a panel that only says why it is empty
LABEL_LETTER_PT = 0.58 * FONT_PT  # width of the mean letter of a label
TITLE_LETTER_PT, TITLE_LINE_PT = 0.66 * FONT_PT, 1.3 * FONT_PT  # of a panel's title, which is bold
LABELS_IN = 0.8  # left of a panel, where its note begins
TITLE_LETTERS_PER_IN, TITLE_LINE_IN = 8.3, 1.3 * (FONT_PT + 1) / 72  # bold letters are wider
TWO_COLUMNS_FROM_IN = 8.0  # width of a figure in which two panels stand side by side
MOST_COLUMNS, HANDLE, LEGEND_HANDLE_PT = 5, 2.6, 4.6 * SMALL_PT  # of a legend; in letters; beside a name

_whole_labels: WeakKeyDictionary[Text, tuple[str, str]] = WeakKeyDictionary()  # as written, and as broken


def panels(
    count: int,
    title: str = "",
    *,
    height_in: float | Sequence[float] = 2.7,
    share_x: bool = True,
    share_y: bool = True,
    columns_allowed: bool = True,
) -> tuple[Figure, list[Axes]]:
    """Return a figure with its panels, one below the other; where it is shown wide, two stand side by side.

    Args:
        title: Of the whole figure, at its left edge; a long one is broken into lines.
        height_in: Of every panel, or one height for each.
        columns_allowed: Whether they may stand side by side.
    """
    if not count:
        raise UserError("the frame has no rows to draw: measure first.")
    heights = [height_in] * count if isinstance(height_in, float) else list(height_in)
    figure = plt.figure(figsize=(WIDTH_IN, sum(heights) + 0.9), layout="constrained")
    grid = figure.subplots(count, sharex=share_x, sharey=share_y, squeeze=False, height_ratios=heights)
    axes = list(grid[:, 0])
    if title:
        name_figure(figure, title)
    if columns_allowed and count > 1:
        in_columns(figure, lambda width_in: 2 if width_in >= TWO_COLUMNS_FROM_IN else 1)
        at_width(figure, lambda _width_in, columns: _arrange(figure, axes, heights, columns))
    break_labels(figure, axes)
    return figure, axes


def break_labels(figure: Figure, axes: Sequence[Axes]) -> None:
    """Have the labels of x, and the panels' titles, break where a panel is too narrow for them."""

    def fit(width_in: float, columns: int) -> float:
        own_pt = [_names_pt(ax) for ax in axes]
        names_pt = [max(own_pt)] * len(axes) if columns == 1 else own_pt  # left edges are one below the other
        rooms_pt = [72 * width_in / columns - max(beside_pt, 72 * LABELS_IN) for beside_pt in names_pt]
        more_pt = LABEL_LINE_PT * max(map(_break_label, axes, rooms_pt))
        return (more_pt + TITLE_LINE_PT * sum(map(_break_title, axes, rooms_pt)) / columns) / 72

    at_width(figure, fit)


def _break_title(ax: Axes, room_pt: float) -> int:
    """Break the title of a panel that is so wide; return how many lines that adds."""
    texts = (child for child in ax.get_children() if isinstance(child, Text) and child.get_text())
    title = next((text for text in texts if text.get_text() == ax.get_title("left")), None)
    if title is None:
        return 0
    whole = _whole_label(title)
    lines = [line for p in whole.split("\n") for line in textwrap.wrap(p, int(room_pt / TITLE_LETTER_PT))]
    title.set_text("\n".join(lines))
    _whole_labels[title] = whole, title.get_text()
    return len(lines) - whole.count("\n") - 1


def _whole_label(label: Text) -> str:
    """Return a label or a title as it was written, before it was broken for a narrow panel."""
    whole, broken = _whole_labels.get(label, ("", None))
    return whole if label.get_text() == broken else label.get_text()


def _break_label(ax: Axes, room_pt: float) -> int:
    """Break the label of x for a panel that is so wide; return how many lines that adds."""
    label, text = ax.xaxis.label, _whole_label(ax.xaxis.label)
    letters = int(room_pt / LABEL_LETTER_PT)
    fits = max(map(len, text.split("\n"))) <= letters
    label.set_text(text if fits else textwrap.fill(" ".join(text.split()), letters))
    _whole_labels[label] = text, label.get_text()
    return label.get_text().count("\n") - text.count("\n")


def _arrange(figure: Figure, axes: Sequence[Axes], heights_in: Sequence[float], columns: int) -> float:
    """Put panels into so many columns, row by row; return by how many inches the figure is higher than in one."""
    rows = [heights_in[start : start + columns] for start in range(0, len(axes), columns)]
    ratios = [max(row) for row in rows]
    grid = GridSpec(len(rows), columns, figure=figure, height_ratios=ratios)
    of_all = _whole_label(axes[-1].xaxis.label)
    for index, ax in enumerate(axes):
        ax.set_subplotspec(grid[divmod(index, columns)])
        label, is_lowest = ax.xaxis.label, index + columns >= len(axes)
        if not ax.get_shared_x_axes().joined(ax, axes[-1]):
            continue
        ax.tick_params(axis="x", labelbottom=is_lowest)
        # One label at the very bottom is that of all panels that share the axis.
        if ax is not axes[-1]:
            if not label.get_text():
                label.set_gid("lowest")
            if label.get_gid() == "lowest":
                label.set_text(of_all if is_lowest else "")
    return sum(ratios) - sum(heights_in)


def name_figure(figure: Figure, title: str) -> None:
    """Write a figure's title at its left edge, broken into lines, none before "%"; each but one makes it higher."""

    def write(width_in: float) -> float:
        lines = textwrap.fill(title.replace(" %", "\xa0%"), int(TITLE_LETTERS_PER_IN * width_in))
        text.set_text(lines.replace("\xa0", " "))
        return TITLE_LINE_IN * text.get_text().count("\n")

    text = figure.suptitle(title, x=0.01, ha="left")
    figure.set_figheight(figure.get_figheight() + (made := write(WIDTH_IN)))
    at_width(figure, lambda width_in, _columns: write(width_in) - made)


def size_axis(ax: Axes, sizes: Sequence[float], *, base: float = 10) -> None:
    """Make x logarithmic, with ticks at both ends of these sizes and at those between that have room."""
    first, last = min(sizes), max(sizes)
    margin = max(1.37, (last / first) ** 0.05) if last > first else 2
    ax.set_xscale("log", base=base)
    ax.set_xlim(first / margin, last * margin)

    def fit(width_in: float, columns: int) -> float:
        point = math.log(last / first * margin**2) / (72 * width_in / columns - SIZES_MARGIN_PT)
        half = {size: (len(three(size)) + 1) / 2 * LETTER_PT * point for size in sizes}  # of a label
        ticks = [first]
        for size in sorted({*sizes} - {first, last}):
            if all(abs(math.log(size / tick)) >= half[size] + half[tick] for tick in (ticks[-1], last)):
                ticks.append(size)
        _set_ticks(ax.xaxis, sorted({*ticks, last}))
        return 0.0

    fit(WIDTH_IN, 1)
    at_width(ax.get_figure(root=True), fit)


def batch_axis(ax: Axes, sizes: Sequence[int]) -> None:
    """Make x logarithmic to base 2, with these batch sizes as ticks."""
    size_axis(ax, sizes, base=2)
    ax.tick_params(axis="x", labelsize=SMALL_PT if len(sizes) > 7 else None)


def log_axis(axis: Axis, low: float, high: float, *, unit: str = "", most: int | None = None) -> None:
    """Make an axis logarithmic from low to high with a few round ticks, at most so many, 1 among them if in view."""
    name = axis.axis_name
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    _set_ticks(axis, _round_ticks(low, high, most or MAX_TICKS[name]), unit)


def ratio_axis(axis: Axis, low: float, high: float, *, most: int | None = None) -> None:
    """Make an axis logarithmic around 1, from low to high with a margin, with round ratios as ticks; see `log_axis`."""
    low, high = min(low, 0.97), max(high, 1 / 0.97)
    margin = (high / low) ** 0.06
    log_axis(axis, low / margin, high * margin, unit="x", most=most)


def _round_ticks(low: float, high: float, most: int) -> list[float]:
    """Return as many round ticks as fit: at equal steps on a short axis, by leading digits on a long one."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    choices = [MaxNLocator(n, steps=[1, 2, 5, 10]).tick_values(low, high) for n in range(most, 1, -1)]
    choices = choices if high < 2.5 * low else []
    choices += [LogLocator(subs=digits, numticks=99).tick_values(low, high) for digits in LOG_DIGITS]
    choices += [[10.0**n for n in decades if n % every == 0] for every in range(1, len(decades))]
    in_view = ([float(tick) for tick in choice if low <= tick <= high] for choice in choices)
    return next(ticks for ticks in in_view if len(ticks) <= most)


def _set_ticks(axis: Axis, ticks: Sequence[float], unit: str = "") -> None:
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(lambda value, _: f"{value:,.10g}{unit}")


def write_sentence(ax: Axes, sentence: str) -> None:
    """Write a sentence in the middle of an Axes that has nothing to draw."""
    text = textwrap.fill(sentence, 46)
    ax.text(0.5, 0.45, text, transform=ax.transAxes, ha="center", va="center", gid="sentence")


def nothing(sentence: str, *, title: str = "", ax: Axes | None = None) -> Axes:
    """Return an Axes, a new one by default, that only says why there is nothing to draw."""
    ax = ax or panels(1, height_in=SENTENCE_IN)[1][0]
    write_sentence(ax, sentence)
    ax.set(xticks=[], yticks=[], title=title)
    return ax


def note_below(ax: Axes, text: str) -> None:
    """Write how to read the marks, small, below the label of the x axis, or in its place without one.

    A long line is broken where the width of the panel ends.
    """

    def below_pt() -> float:
        label_pt = LABEL_LINE_PT * (ax.get_xlabel().count("\n") + 1) if ax.get_xlabel() else 0
        return NOTE_BELOW_PT + _higher_ticks_pt(ax) + label_pt

    where = {"xycoords": "axes fraction", "xytext": (0, -below_pt()), "textcoords": "offset points"}
    note = ax.annotate(text, (0, 0), va="top", fontsize=SMALL_PT, color=GREY, gid="note", **where)
    made, paragraphs = text.count("\n") + 1, _paragraphs(text)

    def fit(width_in: float, columns: int) -> float:
        names_pt = max(map(_names_pt, note.figure.axes if columns == 1 else [ax]))  # below them is room
        note.xyann = (-names_pt, -below_pt())
        letters = int(NOTE_LETTERS_PER_IN * (width_in / columns - (0 if names_pt else LABELS_IN)))
        lines = [line for paragraph in paragraphs for line in textwrap.wrap(paragraph, letters)]
        note.set_text("\n".join(lines))
        return NOTE_LINE_IN * (len(lines) - made) + _higher_ticks_pt(ax) / 72

    at_width(ax.get_figure(root=True), fit)


def _higher_ticks_pt(ax: Axes) -> float:
    """Return by how much the labels of x's ticks are higher than one line, in points: of several, or turned."""
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    highest_pt = 72 / ax.get_figure(root=True).dpi * max((box.height for box in boxes), default=0.0)
    return max(0.0, highest_pt - TICK_LINE_PT)


def _names_pt(ax: Axes) -> float:
    """Return about how much room the names at the left of an Axes take, in points; 0 where they are numbers."""
    names = [line for label in ax.get_yticklabels() for line in label.get_text().split("\n")]
    longest = max(map(len, names), default=0)
    return LETTER_PT * longest if any(re.search(r"[^\W\d_]{2}", name) for name in names) else 0.0


def _paragraphs(text: str) -> list[str]:
    """Return the lines of a note; one that was broken for its length alone is whole again."""
    first, *others = text.split("\n")
    paragraphs, last = [first], first
    for line in others:
        if len(last) + 1 + len(line.partition(" ")[0]) > NOTE_LETTERS:
            paragraphs[-1] += f" {line}"
        else:
            paragraphs.append(line)
        last = line
    return paragraphs


def legend_below(figure: Figure, handles: Sequence[Artist]) -> None:
    """List what is drawn below the panels, each name once, in as many columns as have room; long names are broken.

    The figure grows by the height of the legend, so the panels keep theirs.
    """
    named = {handle.get_label(): handle for handle in handles}
    if not named:
        return

    def draw(width_in: float) -> float:
        """Draw the legend for this width; return its height in inches."""
        for old in figure.legends[:]:
            old.remove()
        columns = int(72 * width_in / (LETTER_PT * max(map(len, named)) + LEGEND_HANDLE_PT))
        rows = math.ceil(len(named) / max(1, min(MOST_COLUMNS, columns)))
        columns = math.ceil(len(named) / rows)
        letters = int((72 * width_in / columns - LEGEND_HANDLE_PT) / LETTER_PT)
        names = [textwrap.fill(name, letters) for name in named]
        look = {"fontsize": SMALL_PT, "handlelength": HANDLE, "columnspacing": 1}
        figure.legend(named.values(), names, loc="outside lower left", ncols=columns, **look)
        return (ROW_PT * rows + FURTHER_PT * sum(name.count("\n") for name in names)) / 72

    made = draw(WIDTH_IN)
    figure.set_figheight(figure.get_figheight() + made)
    at_width(figure, lambda width_in, _columns: draw(width_in) - made)
