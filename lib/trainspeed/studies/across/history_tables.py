"""The tables of one machine over time: its sessions, and every trial before and after each change. Decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, digits, fixed
from trainspeed.judge.text import interval_of, size_of
from trainspeed.show.cells import styled
from trainspeed.show.theme import status_name
from trainspeed.studies.across.changes import Change, Failing, TrialHistory
from trainspeed.studies.across.history_text import letters, letters_of, machine_label
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
    for place, session in enumerate(sessions):
        if session.machine not in {earlier.machine for earlier in sessions[:place]}:
            rows[place]["what had changed"] = f"the first one{' of its machine' if several else ''}"
    return styled(rows, "sessions", "The sessions, the oldest first", say_once=True)


def changes_table(trials: Iterable[TrialHistory], sessions: Sequence[Session]) -> Styler | None:
    """Return a row per trial and change, the largest changes first; None where nothing was measured twice."""
    named = letters(sessions)
    several = len({session.machine for session in sessions}) > 1
    rows = []
    for history in trials:
        about = {"trial": history.name, "study": history.trial.study}
        about |= {"machine": f"machine {history.machine + 1}"} if several else {}
        if history.failing:
            rows.append({**about, **_failing(history.failing, named)})
        compared = sorted(history.compared, key=lambda one: one.session.label)
        rows += [{**about, **_row(change, named)} for change in compared]
    return (
        styled(rows, "changes", "Every trial before and after each change", say_once=True) if rows else None
    )


def _row(change: Change, named: Mapping[str, str]) -> dict[str, object]:
    return {
        "change": letters_of(named, change) or MISSING,
        "since": change.session.label,
        "sessions": f"{len(change.before)}, {len(change.after)}",
        "before ms": _ms(change.before),
        "after ms": _ms(change.after),
        "speed-up": size_of(change),
        "95 % interval": interval_of(change),
        "noise": fixed(change.noise, 2, "x"),
        "it is": str(change.finding),
    }


def _failing(failing: Failing, named: Mapping[str, str]) -> dict[str, object]:
    unknown = dict.fromkeys(("sessions", "after ms", "speed-up", "95 % interval", "noise"), MISSING)
    return {
        "change": letters_of(named, failing) or MISSING,
        "since": failing.session.label,
        **unknown,
        "before ms": _ms([failing.last]),
        "it is": f"failed: {status_name(failing.run.status)}",
    }


def _ms(points: Sequence) -> str:
    values = sorted(seconds for point in points for seconds in point.seconds)
    middle = len(values) // 2
    return digits(1e3 * (values[middle] + values[~middle]) / 2) if values else MISSING
