"""What makes the runs that are compared doubtful, side by side, and whose instrument was found wrong. Decides nothing.

What a single run is doubted for, and what a check comes to, is decided in `trainspeed.judge`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trainspeed.core.files import CHECK
from trainspeed.core.format import listed
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.system import machine_differences
from trainspeed.judge.check_list import all_checks, faults
from trainspeed.judge.doubts import DoubtedRuns, doubted_runs, in_runs
from trainspeed.studies.across.changes import TrialHistory
from trainspeed.studies.across.facts import MOST_NAMES
from trainspeed.studies.across.sessions import Session


def doubt_sentences(runs: Mapping[str, Iterable[Run]], checks: Mapping[str, Iterable[Run]]) -> list[str]:
    """Return whose instrument is not ok, and what the runs are doubted for, the commonest doubt first.

    Args:
        runs: Side -> those that are compared.
        checks: Side -> runs among which its newest check of the instrument is, if it has one.
    """
    runs = {side: list(own) for side, own in runs.items()}
    sentences = [fault for side, own in runs.items() for fault in _faults(side, own, checks.get(side, ()))]
    groups: dict[tuple, dict[str, DoubtedRuns]] = {}
    for side, own in runs.items():
        for one in doubted_runs(own):
            groups.setdefault((one.note.kind, one.note.subject), {})[side] = one
    commonest = sorted(groups.values(), key=lambda group: -sum(one.runs for one in group.values()))
    return [*sentences, *map(_sentence, commonest)]


def _faults(side: str, runs: Sequence[Run], checks: Iterable[Run]) -> list[str]:
    """Return what the newest check found wrong on the machine that measured the runs."""
    newest = RunSet(tuple(checks)).of_study(CHECK).newest()
    if not newest or not runs:
        return []
    here = max(runs, key=lambda run: run.started_at or "")
    if machine_differences(newest[-1].machine, here.machine, equal_nodes=here.node is not None):
        return []
    return [f"{side}: the check of the instrument is not ok: {fault}" for fault in faults(all_checks(newest))]


def _sentence(group: Mapping[str, DoubtedRuns]) -> str:
    """Return how many runs of which sides have the same doubt, and what to do."""
    counts = [f"{one.runs} of {one.of} runs of {side}" for side, one in group.items()]
    if len(counts) > MOST_NAMES:
        runs, of = (sum(getattr(one, name) for one in group.values()) for name in ("runs", "of"))
        counts = [f"{runs} of {of} runs of {len(group)} sides"]
    frameworks = sorted({name for one in group.values() for name in one.names})
    note = max((one.note for one in group.values()), key=lambda note: note.amounts)
    return in_runs(note, f"{listed(counts)} ({', '.join(frameworks)})")


def history_doubts(sessions: Sequence[Session], trials: Iterable[TrialHistory]) -> list[str]:
    """Return the doubts about the sessions on both sides of what is compared, each by its label."""
    compared: dict[str, list[Run]] = {}
    for history in trials:
        points = (point for change in history.compared for point in (*change.before, *change.after))
        for point in {point.session.label: point for point in points}.values():
            compared.setdefault(point.session.label, []).extend(point.runs)
    in_order = [session for session in sessions if session.label in compared]
    return doubt_sentences(
        {session.label: compared[session.label] for session in in_order},
        {session.label: session.checks for session in in_order},
    )
