"""The tables of one machine over time: its sessions, and every trial before and after each change. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, digits, fixed
from trainspeed.judge.text import interval_of, size_of
from trainspeed.show.cells import styled
from trainspeed.studies.across.changes import Change, TrialHistory
from trainspeed.studies.across.history_text import letters, machine_label
from trainspeed.studies.across.sessions import Session, changes_text


def sessions_table(sessions: Sequence[Session]) -> Styler:
    """Return a row per session: when, on what, what had changed, and how much was measured."""
    named = letters(sessions)
    several = len({session.machine for session in sessions}) > 1
    rows = [
        {
            "session": session.label,
            "mark": named.get(session.id, ""),
            "what had changed": changes_text(session.all_changes) or "nothing that was recorded",
            **({"machine": f"{machine_label(session)}: {session.machine_words}"} if several else {}),
            "studies": ", ".join(dict.fromkeys(run.study for run in session.runs)),
            "runs": len(session.runs),
        }
        for session in sessions
    ]
    rows[0]["what had changed"] = "the first one"
    return styled(rows, "sessions", "The sessions, the oldest first", say_once=True)


def changes_table(trials: Iterable[TrialHistory], sessions: Sequence[Session]) -> Styler | None:
    """Return a row per trial and change, the largest changes first; None where nothing was measured twice."""
    named = letters(sessions)
    rows = [
        _row(history, change, named.get(change.session.id) if change.differences else None)
        for history in trials
        for change in sorted((*history.changes, *history.alone), key=lambda one: one.session.label)
    ]
    return (
        styled(rows, "changes", "Every trial before and after each change", say_once=True) if rows else None
    )


def _row(history: TrialHistory, change: Change, letter: str | None) -> dict[str, object]:
    known = [point.session.label for point in change.before]
    return {
        "trial": history.name,
        "study": history.trial.study,
        "change": letter or MISSING,
        "since": change.session.label,
        "sessions": f"{len(known)}, {len(change.after)}",
        "before ms": _ms(change.before),
        "after ms": _ms(change.after),
        "speed-up": size_of(change, times="×"),
        "95 % interval": interval_of(change),
        "noise": fixed(change.noise, 2, "×"),
        "it is": str(change.finding),
    }


def _ms(points: Sequence) -> str:
    values = sorted(seconds for point in points for seconds in point.seconds)
    middle = len(values) // 2
    return digits(1e3 * (values[middle] + values[~middle]) / 2) if values else MISSING
