"""The trials of several sessions, each over the sessions of its machine: between which of them something changed.

`changes` has what comes out; `trainspeed.judge.verdict` decides how fast a trial is. Draws nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from trainspeed.core.system import Difference
from trainspeed.judge.answer import WORDS_ALONE
from trainspeed.judge.comparison import Verdict, controls
from trainspeed.judge.verdict import MIN_BLOCKS, judge_unpaired
from trainspeed.studies.across.changes import Change, Failing, TrialHistory, TrialInSession
from trainspeed.studies.across.common import Common, CommonTrial, failed, timed
from trainspeed.studies.across.sessions import Session

Noise = Mapping[str, Mapping[str, float]]  # session's id -> framework -> extent of its A/A controls


@dataclass
class _Stretch:
    """Sessions in which nothing changed, and what had changed before the first of them, and in which sessions."""

    differences: list[Difference]
    changed_in: list[Session]
    points: list[TrialInSession] = field(default_factory=list)


def histories(sessions: Sequence[Session], common: Common) -> list[TrialHistory]:
    """Return the history of each trial on each machine that has it in two sessions: what fails first, then the largest
    change.

    Args:
        common: Of these sessions, by their labels.
    """
    noise = {session.id: _control_extents(session) for session in sessions}
    names = _names(common.trials)
    found = []
    for number in sorted({session.machine for session in sessions}):
        own = [session for session in sessions if session.machine == number]
        for trial, name in zip(common.trials, names, strict=True):
            history = _history(trial, name, own, noise)
            if len(history.points) > 1 and history.timed:
                found.append(history)
    return sorted(found, key=lambda history: history.rank)


def _names(trials: Sequence[CommonTrial]) -> list[str]:
    """Return what trials are called: framework and model, and what not all have in common; the study if need be."""
    shared = set.intersection(*(set(trial.description) for trial in trials))
    names = [
        ", ".join(
            word for place, word in enumerate(trial.description) if place < WORDS_ALONE or word not in shared
        )
        for trial in trials
    ]
    counts = Counter(names)
    return [
        f"{trial.study}: {name}" if counts[name] > 1 else name
        for trial, name in zip(trials, names, strict=True)
    ]


def _control_extents(session: Session) -> dict[str, float]:
    """Return framework -> the farthest end from 1 of its A/A controls' intervals."""
    extents: dict[str, float] = {}
    for study in dict.fromkeys(run.study for run in session.runs):  # two may control the same trial
        for verdict in controls(session.runs.of_study(study)):
            if verdict.low is not None:
                framework = verdict.baseline.framework
                extents[framework] = max(extents.get(framework, 1.0), _extent(verdict))
    return extents


def _extent(verdict: Verdict) -> float:
    return max(verdict.high, 1 / verdict.low)


def _history(trial: CommonTrial, name: str, sessions: Sequence[Session], noise: Noise) -> TrialHistory:
    """Return a trial over the sessions of one machine."""
    points = [
        TrialInSession(session=session, runs=timed(own := trial.runs[session.label]), failed=failed(own))
        for session in sessions
        if session.label in trial.runs
    ]
    stretches, pending = _stretches(trial, sessions, points)
    times = [stretch.points for stretch in stretches]
    changes = [
        _change(
            name, before.points, after, noise, _luck(times), is_last=after is stretches[-1] and not pending
        )
        for before, after in pairwise(stretches)
    ]
    alone = None
    if stretches and len(newest := times[-1]) > 1:
        luck = _luck([*times[:-1], newest[:-1]])
        alone = _change(name, newest[:-1], _Stretch([], [], newest[-1:]), noise, luck, is_last=True)
    return TrialHistory(
        trial=trial,
        name=name,
        machine=sessions[0].machine,
        points=points,
        changes=changes,
        alone=alone,
        failing=_failing(name, sessions, points, pending),
    )


def _stretches(
    trial: CommonTrial, sessions: Iterable[Session], points: Iterable[TrialInSession]
) -> tuple[list[_Stretch], list[Session]]:
    """Return the stretches of sessions in which nothing changed, and in which sessions something has changed since.

    What changed in a session that does not have the trial changed before the next one that has it.
    """
    framework = trial.trial.framework
    of_session = {point.session.id: point for point in points if point.runs}
    stretches: list[_Stretch] = []
    pending: list[Session] = []
    for session in sessions:
        pending += [session] if session.changes_for(framework) else []
        point = of_session.get(session.id)
        if point is None:
            continue
        if pending or not stretches:
            stretches.append(_Stretch(_changed(pending, framework), pending))
            pending = []
        stretches[-1].points.append(point)
    return stretches, pending


def _changed(sessions: Iterable[Session], framework: str) -> list[Difference]:
    return [difference for session in sessions for difference in session.changes_for(framework)]


def _failing(
    name: str, sessions: Sequence[Session], points: Sequence[TrialInSession], pending: Sequence[Session]
) -> Failing | None:
    """Return since when a trial has failed; None where its newest session has a time, or none has.

    Args:
        pending: The sessions since its last time in which something changed on which it depends.
    """
    last = next((place for place in reversed(range(len(points))) if points[place].runs), None)
    since = None if last is None else next((point for point in points[last + 1 :] if point.failed), None)
    if since is None:
        return None
    order = [session.id for session in sessions]
    before = [one for one in pending if order.index(one.id) <= order.index(since.session.id)]
    differences = _changed(before, since.failed[0].trial.framework)
    return Failing(name=name, last=points[last], since=since, differences=differences, changed_in=before)


def _luck(stretches: Iterable[Sequence[TrialInSession]]) -> float | None:
    """Return the largest ratio of two sessions between which nothing changed; None without such two."""
    medians = [[point.median_s for point in stretch] for stretch in stretches if len(stretch) > 1]
    return max((max(own) / min(own) for own in medians), default=None)


def _change(
    name: str,
    before: Sequence[TrialInSession],
    stretch: _Stretch,
    noise: Noise,
    luck: float | None,
    *,
    is_last: bool,
) -> Change:
    after = stretch.points
    framework = after[0].runs[0].trial.framework
    by_session = min(len(before), len(after)) >= MIN_BLOCKS
    if by_session:  # then a session is one value, and the interval holds what a day makes
        values = [[point.median_s for point in side] for side in (before, after)]
    else:
        values = [[seconds for point in side for seconds in point.seconds] for side in (before, after)]
    extents = [own for point in (*before, *after) if (own := noise[point.session.id])]
    known = [own[framework] for own in extents if framework in own] or [max(own.values()) for own in extents]
    known += [luck] if luck is not None and not by_session else []
    return Change(
        name=name,
        before=before,
        after=after,
        differences=stretch.differences,
        changed_in=stretch.changed_in,
        judgement=judge_unpaired(*values),
        is_last=is_last,
        noise=max(known, default=None),
        by_session=by_session,
    )
