"""The chart of one machine over time: a panel per trial, a mark where something changed. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trainspeed.core.format import counted, digits
from trainspeed.core.system import Difference
from trainspeed.judge.verdict import MARGIN
from trainspeed.show.axes import legend_below, nothing, panels, ratio_axis
from trainspeed.show.fitting import at_width, fit
from trainspeed.show.forest import HOLLOW
from trainspeed.show.series import marks
from trainspeed.show.theme import GREY, PALE, SMALL_PT, framework_colour, status_name
from trainspeed.studies.across.changes import CHANGES, Change, Point, TrialHistory
from trainspeed.studies.across.history_text import letters, machine_label, size_text
from trainspeed.studies.across.sessions import Session, changes_text

MOST_PANELS = 6
MOST_TICKS = 5  # whole dates that stand side by side
MOST_SHORT_TICKS = 8  # without the year, where that is the same
YEAR_LETTERS = 5  # "2026-"
LEGEND_LETTERS = 56  # as many as a narrow screen has room for
MARK_LETTERS = 15  # of the letter and the date before it
TITLE_LETTERS_PER_IN, TITLE_LINE_IN = 12, 1.35 * SMALL_PT / 72
LABELS_IN = 0.8  # left of a panel, where no title stands
PANEL_IN = 1.35
MARKERS = ("o", "s", "^", "D", "v", "P")  # of the first, second, … machine
MARK = {"color": ".35", "linewidth": 1.1, "linestyle": (0, (1, 2))}


def plot_history(trials: Sequence[TrialHistory], sessions: Sequence[Session]) -> Figure:
    """Draw the trials' times over the sessions, relative to each machine's first one: a panel each, at most six.

    A mark is the median of a session's blocks, the bar its interval, hollow where there are too few blocks; a line
    joins the sessions of one machine. A letter stands where something changed on which the trial depends.

    Args:
        trials: In the order of the panels, as `changes.histories` returns them.
    """
    timed = [history for history in trials if history.by_machine]
    if not timed:
        return nothing("No trial has a time in two sessions.", title="Time over the sessions").figure
    shown = timed[:MOST_PANELS]
    part = f" ({len(shown)} are drawn)" if len(shown) < len(timed) else ""
    figure, axes = panels(len(shown), _title(timed, sessions) + part, height_in=PANEL_IN, share_y=False)
    named = letters(sessions)
    places = {session.id: float(place) for place, session in enumerate(sessions)}
    for ax, history in zip(axes, shown, strict=True):
        _draw(ax, history, sessions, named, places)
        ax.tick_params(labelsize=SMALL_PT)
        ax.set_title(" ", fontsize=SMALL_PT)
    titles = [f"{history.name}: {_message(history, named)}" for history in shown]
    at_width(figure, lambda width_in, columns: _write_titles(axes, titles, width_in / columns) / columns)
    fit(figure, figure.get_figwidth())
    _date_axis(axes[-1], sessions)
    axes[0].set_ylabel("time / first, log", fontsize=SMALL_PT)
    legend_below(figure, _legend(shown, sessions, named))
    return figure


def _title(trials: Sequence[TrialHistory], sessions: Sequence[Session]) -> str:
    """Return how many trials became slower or faster since something changed; the question where none did."""
    found = [[c.finding for c in history.changes if c.finding in CHANGES][-1:] for history in trials]
    counts = Counter(finding for own in found for finding in own)
    told = ", ".join(f"{counts[finding]} {finding}" for finding in CHANGES if counts[finding])
    if not told:
        return f"Has anything changed over {counted(len(sessions), 'session')}?"
    return f"Of {counted(len(trials), 'trial')} over {counted(len(sessions), 'session')}: {told} since an upgrade"


def _write_titles(axes: Sequence[Axes], titles: Sequence[str], width_in: float) -> float:
    """Break the panels' titles into lines for a panel of this width; return what height that adds."""
    letters = int(TITLE_LETTERS_PER_IN * (width_in - LABELS_IN))
    texts = [textwrap.fill(title, letters) for title in titles]
    for ax, text in zip(axes, texts, strict=True):
        ax.set_title(text, fontsize=SMALL_PT)
    return TITLE_LINE_IN * sum(text.count("\n") for text in texts)


def _draw(
    ax: Axes,
    history: TrialHistory,
    sessions: Sequence[Session],
    named: dict[str, str],
    places: dict[str, float],
) -> None:
    framework = history.trial.trial.framework
    rows = _rows(history, places)
    ends = rows[["y", "low", "high"]].stack().dropna()
    ratio_axis(ax.yaxis, min(ends.min(), 1 / (1 + MARGIN)), max(ends.max(), 1 + MARGIN))
    ax.axhspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, linewidth=0, zorder=0.5, gid="margin")
    ax.axhline(1, color=".3", linewidth=1, zorder=1.5, gid="one")
    for machine, own in rows.groupby("machine"):
        look = {"color": framework_colour(framework), "marker": MARKERS[int(machine) % len(MARKERS)]}
        ax.plot(own["x"], own["y"], color=look["color"], linewidth=1.6, gid="machine")
        marks(ax, own, along="y", look=look)
    for session in sessions:
        if session.changes_for(framework):
            ax.axvline(places[session.id] - 0.5, gid="change", **MARK)
            box = {"facecolor": "white", "linewidth": 0, "pad": 1}
            at = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "top", "gid": "letter"}
            ax.text(places[session.id] - 0.5, 0.97, named[session.id], fontweight="bold", bbox=box, **at)
    for point in history.points:
        if not point.runs:
            text = ", ".join(map(status_name, point.statuses)) or "no time"
            at = {"transform": ax.get_xaxis_transform(), "ha": "center", "va": "bottom", "gid": "failure"}
            ax.text(places[point.session.id], 0.03, text, fontsize=SMALL_PT, color=GREY, **at)
    ax.set_xlim(-0.6, len(sessions) - 0.4)
    ax.grid(axis="x", visible=False)
    firsts = [own[0].median_s for own in history.by_machine.values()]
    ax.text(
        1.01, 0.5, _first_text(firsts), transform=ax.transAxes, va="center", fontsize=SMALL_PT, gid="first"
    )


def _rows(history: TrialHistory, places: dict[str, float]) -> pd.DataFrame:
    """Return a row per session with a time: x, y and its interval relative to the machine's first session."""
    rows = []
    for machine, points in history.by_machine.items():
        first = points[0].median_s
        rows += [_row(point, first) | {"machine": machine, "x": places[point.session.id]} for point in points]
    return pd.DataFrame(rows).astype(dict.fromkeys(("y", "low", "high"), float))


def _row(point: Point, first_s: float) -> dict[str, float | None]:
    low, high = point.interval_s or (None, None)
    return {"y": point.median_s / first_s, "low": low and low / first_s, "high": high and high / first_s}


def _first_text(seconds: Sequence[float]) -> str:
    scale, unit = (1e3, "ms") if max(seconds) < 1 else (1.0, "s")
    return "first:\n" + "\n".join(f"{digits(scale * value)} {unit}" for value in seconds[: len(MARKERS)])


def _message(history: TrialHistory, named: dict[str, str]) -> str:
    """Return what became of a trial: since which letter it takes how many times as long."""
    found = [change for change in history.changes if change.finding in CHANGES]
    if found:
        return ", ".join(
            f"{_size(change)} since {named.get(change.session.id, change.session.label)}" for change in found
        )
    largest = history.largest
    if largest is None:
        return "not compared"
    if largest.finding in CHANGES:
        return f"{_size(largest)} on {largest.session.label}, nothing changed"
    return str(largest.finding)


def _size(change: Change) -> str:
    return size_text(change).partition(" (")[0]


def _date_axis(ax: Axes, sessions: Sequence[Session]) -> None:
    years = {session.label[:YEAR_LETTERS] for session in sessions}
    year = years.pop() if len(years) == 1 else ""
    every = math.ceil(len(sessions) / (MOST_SHORT_TICKS if year else MOST_TICKS))
    shown = range((len(sessions) - 1) % every, len(sessions), every)  # the newest one among them
    labels = [sessions[place].label.removeprefix(year).replace(" ", "\n", 1) for place in shown]
    ax.set_xticks([*shown], labels, fontsize=SMALL_PT)
    ax.set_xlabel(f"session{f', {year[:-1]}' if year else ''} (higher is slower)")


def _legend(
    shown: Sequence[TrialHistory], sessions: Sequence[Session], named: dict[str, str]
) -> list[Line2D]:
    frameworks = {history.trial.trial.framework for history in shown}
    entries = []
    for session in sessions:
        differences = [d for name in sorted(frameworks) for d in session.changes_for(name)]
        if differences:
            text = f"{named[session.id]}, {session.label}: {_shortened([*dict.fromkeys(differences)])}"
            entries.append(Line2D([], [], label=text, **MARK))
    machines = dict.fromkeys(
        point.session.machine for history in shown for point in history.points if point.runs
    )
    if len(machines) > 1:
        first = {session.machine: session for session in reversed(sessions)}
        entries += [
            Line2D(
                [],
                [],
                label=machine_label(first[m]),
                color=GREY,
                marker=MARKERS[m % len(MARKERS)],
                markersize=7,
            )
            for m in machines
        ]
    if any(point.interval_s is None for history in shown for point in history.points if point.runs):
        entries.append(Line2D([], [], label="fewer than 6 blocks: no interval", **HOLLOW))
    return entries


def _shortened(differences: Sequence[Difference]) -> str:
    """Return as many changes as a legend has room for, the first one at least, and how many more there are."""
    room = LEGEND_LETTERS - MARK_LETTERS
    for count in range(len(differences), 0, -1):
        more = f" and {len(differences) - count} more" if count < len(differences) else ""
        text = changes_text(differences[:count]) + more
        if len(text) <= room:
            return text
    return textwrap.shorten(text, room, placeholder=" …")
