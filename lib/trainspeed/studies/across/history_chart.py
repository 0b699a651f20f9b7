"""The chart of each machine over time: a panel per trial, a mark where something changed. Decides nothing."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from trainspeed.core.format import counted, digits
from trainspeed.core.guard import guarded
from trainspeed.core.system import Difference
from trainspeed.judge.verdict import MARGIN
from trainspeed.show.axes import legend_below, nothing, panels, ratio_axis
from trainspeed.show.fitting import at_width, fit_figure
from trainspeed.show.forest import HOLLOW
from trainspeed.show.series import marks
from trainspeed.show.theme import GREY, PALE, SMALL_PT, framework_colour, show, status_name
from trainspeed.studies.across.changes import CHANGES, Change, ChangeOutcome, TrialHistory, TrialInSession
from trainspeed.studies.across.history_text import letters, letters_of, machine_title, size_text
from trainspeed.studies.across.sessions import Session, changes_text

MOST_PANELS = 6
MOST_TICKS = 5  # whole dates that stand side by side
MOST_SHORT_TICKS = 8  # without the year, where that is the same
YEAR_LETTERS = 5  # "2026-"
LEGEND_LETTERS = 56  # as many as a narrow screen has room for
MARK_LETTERS = 15  # of the letter and the date before it
TITLE_LETTERS_PER_IN, TITLE_LINE_IN = 12, 1.35 * SMALL_PT / 72
LETTERS_SHARE = 0.25  # of the height of the marks, kept free above them for the letters
LABELS_IN = 0.8  # left of a panel, where no title stands
PANEL_IN = 1.8
MOST_SAID = 3  # changes in the title of a panel: the newest
MOST_LEGEND = 8  # changes that a legend names: the newest
ALT = "Time of each trial over the sessions, relative to the first one, with marks where something changed."
MARK = {"color": ".35", "linewidth": 1.1, "linestyle": (0, (1, 2))}


def plot_histories(trials: Sequence[TrialHistory], sessions: Sequence[Session]) -> list[Figure]:
    """Draw the trials' times over the sessions, a figure for each machine that has a trial in two of its sessions.

    Args:
        trials: In the order of the panels, as `histories.histories` returns them.
    """
    return [draw() for draw in _drawings(trials, sessions)]


def show_histories(trials: Sequence[TrialHistory], sessions: Sequence[Session]) -> None:
    """Show a figure for each machine; one that cannot be drawn costs no other."""
    for draw in _drawings(trials, sessions):
        with guarded():
            show(draw(), alt=ALT)


def _drawings(trials: Sequence[TrialHistory], sessions: Sequence[Session]) -> list[Callable[[], Figure]]:
    """Return what draws each of the figures."""
    several = len({session.machine for session in sessions}) > 1
    named = letters(sessions)
    drawings = []
    for machine in sorted({history.machine for history in trials}):
        of_machine = [session for session in sessions if session.machine == machine]
        own = [history for history in trials if history.machine == machine]
        drawings.append(partial(_plot_machine, own, of_machine, named, several))
    return drawings or [_plot_nothing]


def _plot_nothing() -> Figure:
    return nothing("No trial has a time in two sessions.", title="Time over the sessions").figure


def _plot_machine(
    trials: Sequence[TrialHistory], sessions: Sequence[Session], named: Mapping[str, str], several: bool
) -> Figure:
    """Draw the trials' times over the sessions of a machine, relative to its first one: a panel each, at most six.

    A mark is the median of a session's blocks, the bar its interval, hollow where there are too few blocks. A letter
    stands where something changed on which the trial depends.
    """
    shown = trials[:MOST_PANELS]
    part = f" ({len(shown)} are drawn)" if len(shown) < len(trials) else ""
    where = f"{machine_title(sessions[-1])}: " if several else ""
    figure, axes = panels(
        len(shown), f"{where}{_title(trials, sessions)}{part}", height_in=PANEL_IN, share_y=False
    )
    places = {session.id: float(place) for place, session in enumerate(sessions)}
    for ax, history in zip(axes, shown, strict=True):
        _draw(ax, history, sessions, named, places)
        ax.tick_params(labelsize=SMALL_PT)
        ax.set_title(" ", fontsize=SMALL_PT)
    titles = [f"{history.name}: {_message(history, named)}" for history in shown]
    at_width(figure, lambda width_in, columns: _write_titles(axes, titles, width_in / columns) / columns)
    fit_figure(figure, figure.get_figwidth())
    _date_axis(axes[-1], sessions)
    axes[0].set_ylabel("time / first, log", fontsize=SMALL_PT)
    legend_below(figure, _legend(shown, sessions, named))
    return figure


def _title(trials: Sequence[TrialHistory], sessions: Sequence[Session]) -> str:
    """Return how many trials failed when last measured, or became slower or faster, after a change or without one.

    Where none did, it is the question.
    """
    fail = sum(history.failing is not None for history in trials)
    parts = [f"{fail} failed when last measured"] if fail else []
    changed = [finding for history in trials for finding in {c.finding for c in history.changes}]
    parts += [f"{told} after a change"] if (told := _counts(changed)) else []
    alone = [history.alone.finding for history in trials if history.alone]
    parts += [f"{told} in the newest session alone"] if (told := _counts(alone)) else []
    over = counted(len(sessions), "session")
    if not parts:
        return f"Has anything changed over {over}?"
    return f"Of {counted(len(trials), 'trial')} over {over}: {'; '.join(parts)}"


def _counts(findings: Sequence[ChangeOutcome]) -> str:
    return ", ".join(f"{findings.count(one)} {one}" for one in CHANGES if one in findings)


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
    named: Mapping[str, str],
    places: Mapping[str, float],
) -> None:
    framework = history.trial.trial.framework
    rows = _rows(history, places)
    ends = rows[["y", "low", "high"]].stack().dropna()
    low, high = min(ends.min(), 1 / (1 + MARGIN)), max(ends.max(), 1 + MARGIN)
    changed = [session for session in sessions if session.changes_for(framework)]
    ratio_axis(ax.yaxis, low, high * (high / low) ** LETTERS_SHARE if changed else high)
    ax.axhspan(1 / (1 + MARGIN), 1 + MARGIN, color=PALE, linewidth=0, zorder=0.5, gid="margin")
    ax.axhline(1, color=".3", linewidth=1, zorder=1.5, gid="one")
    look = {"color": framework_colour(framework), "marker": "o"}
    ax.plot(rows["x"], rows["y"], color=look["color"], linewidth=1.6, gid="times")
    marks(ax, rows, along="y", look=look)
    for session in changed:
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
    first = _first_text(history.timed[0].median_s)
    ax.text(1.01, 0.5, first, transform=ax.transAxes, va="center", fontsize=SMALL_PT, gid="first")


def _rows(history: TrialHistory, places: Mapping[str, float]) -> pd.DataFrame:
    """Return a row per session with a time: x, y and its interval relative to the first session."""
    points = history.timed
    rows = [_row(point, points[0].median_s) | {"x": places[point.session.id]} for point in points]
    return pd.DataFrame(rows).astype(dict.fromkeys(("y", "low", "high"), float))


def _row(point: TrialInSession, first_s: float) -> dict[str, float | None]:
    low, high = point.interval_s or (None, None)
    return {"y": point.median_s / first_s, "low": low and low / first_s, "high": high and high / first_s}


def _first_text(seconds: float) -> str:
    scale, unit = (1e3, "ms") if seconds < 1 else (1.0, "s")
    return f"first:\n{digits(scale * seconds)} {unit}"


def _message(history: TrialHistory, named: Mapping[str, str]) -> str:
    """Return what became of a trial: since when it fails, or since which letter it takes how many times as long."""
    found = [f"{_size(c)} since {letters_of(named, c)}" for c in history.changes if c.finding in CHANGES]
    if failing := history.failing:
        since = letters_of(named, failing) or failing.session.label
        found.append(f"{status_name(failing.run.status)} since {since}")
    if found:
        more = f"{len(found) - MOST_SAID} before, " if len(found) > MOST_SAID else ""
        return more + ", ".join(found[-MOST_SAID:])
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
    shown: Sequence[TrialHistory], sessions: Sequence[Session], named: Mapping[str, str]
) -> list[Line2D]:
    frameworks = sorted({history.trial.trial.framework for history in shown})
    texts = []
    for session in sessions:
        if differences := [d for name in frameworks for d in session.changes_for(name)]:
            texts.append(f"{named[session.id]}, {session.label}: {_shortened([*dict.fromkeys(differences)])}")
    entries = [Line2D([], [], label=text, **MARK) for text in texts[-MOST_LEGEND:]]
    if (more := len(texts) - MOST_LEGEND) > 0:
        entries.insert(0, Line2D([], [], label=f"{more} before: see the table", **MARK))
    if any(point.interval_s is None for history in shown for point in history.timed):
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
