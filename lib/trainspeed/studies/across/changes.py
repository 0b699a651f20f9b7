"""One trial over the sessions of a machine: where something changed, and whether it has been slower since.

Works on sessions and the trials that several of them have; `trainspeed.judge.verdict` decides how fast one is. Draws
nothing and makes no sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import median

from trainspeed.core.run import Run, Status
from trainspeed.core.system import Difference
from trainspeed.judge.answer import WORDS_ALONE
from trainspeed.judge.comparison import Verdict, controls
from trainspeed.judge.verdict import MIN_BLOCKS, Judged, Judgement, Outcome, judge_unpaired, median_interval
from trainspeed.studies.across.common import Common, CommonTrial, failed, timed
from trainspeed.studies.across.sessions import Session


class Finding(StrEnum):
    """What became of a trial's time; the first two alone are changes."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "the same"
    NOISE = "no more than noise"
    UNDECIDED = "undecided"


CHANGES = (Finding.SLOWER, Finding.FASTER)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A trial in one session.

    Attributes:
        runs: Those with a time, one per block.
        statuses: How the other ones ended.
    """

    session: Session
    runs: Sequence[Run]
    statuses: Sequence[Status] = ()

    @cached_property
    def seconds(self) -> list[float]:
        """What is compared, in each block."""
        return [run.median_s for run in self.runs]

    @property
    def median_s(self) -> float:
        """The median over the blocks, in seconds."""
        return median(self.seconds)

    @property
    def interval_s(self) -> tuple[float, float] | None:
        """The interval of this median, in seconds; None for fewer than 6 blocks."""
        return median_interval(self.seconds)


@dataclass(frozen=True, kw_only=True)
class Change(Judged):
    """A trial before and after something changed on its machine.

    Attributes:
        name: What the trial is called among all that are compared.
        before, after: The sessions between which it changed, as far back and as far on as nothing else did.
        differences: What changed; empty where nothing that was recorded did, and `after` is the newest session.
        judgement: Of `after` over `before`: a speed-up below 1 means that it has been slower since.
        is_last: Whether nothing else has changed since.
        noise: How many times as long the same takes where nothing differs: the farthest end of the intervals of the
            sessions' A/A controls, or the largest ratio of two sessions between which nothing changed; None where
            neither is known.
    """

    name: str
    before: Sequence[Point]
    after: Sequence[Point]
    differences: Sequence[Difference]
    judgement: Judgement
    is_last: bool
    noise: float | None

    @property
    def session(self) -> Session:
        """The first session after the change."""
        return self.after[0].session

    @property
    def size(self) -> float | None:
        """How many times as long, or as fast, it is, whichever is above 1; None without a time on both sides."""
        return self.speedup and max(self.speedup, 1 / self.speedup)

    @property
    def finding(self) -> Finding:
        """What became of the time: slower or faster only where it is more than noise."""
        if self.outcome in (Outcome.SLOWER, Outcome.FASTER):
            found = Finding.SLOWER if self.outcome is Outcome.SLOWER else Finding.FASTER
            return Finding.NOISE if self.noise and self.size <= self.noise else found
        return Finding.SAME if self.outcome is Outcome.SAME else Finding.UNDECIDED


@dataclass(frozen=True, kw_only=True)
class TrialHistory:
    """A trial over the sessions that have it.

    Attributes:
        name: What it is called among all that are compared.
        points: In the order of time, of all machines; sessions in which it has no time have no runs.
        changes: On each machine, in the order of time.
        alone: The newest session of each machine against the ones before it, where nothing that was recorded changed.
    """

    trial: CommonTrial
    name: str
    points: Sequence[Point]
    changes: Sequence[Change]
    alone: Sequence[Change]

    @property
    def by_machine(self) -> dict[int, list[Point]]:
        """Machine -> its points that have a time."""
        machines: dict[int, list[Point]] = {}
        for point in self.points:
            if point.runs:
                machines.setdefault(point.session.machine, []).append(point)
        return machines

    @property
    def largest(self) -> Change | None:
        """The change that matters most: decided before undecided, with a reason before without one, then the
        largest; None where there is none."""
        return min((*self.changes, *self.alone), key=_rank, default=None)


def _rank(change: Change) -> tuple[bool, bool, bool, float]:
    return change.finding not in CHANGES, not change.differences, change.low is None, -(change.size or 1.0)


def histories(sessions: Sequence[Session], common: Common) -> list[TrialHistory]:
    """Return the history of each trial that two sessions have, the largest change first.

    Args:
        common: Of these sessions, by their labels.
    """
    noise = {session.id: _control_extents(session) for session in sessions}
    names = _names(common.trials)
    found = [_history(trial, name, sessions, noise) for trial, name in zip(common.trials, names, strict=True)]

    def order(history: TrialHistory) -> tuple:
        return (False, *_rank(history.largest)) if history.largest else (True,)

    return sorted(found, key=order)


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
    for verdict in controls(session.runs):
        if verdict.low is not None:
            framework = verdict.baseline.framework
            extents[framework] = max(extents.get(framework, 1.0), _extent(verdict))
    return extents


def _extent(verdict: Verdict) -> float:
    return max(verdict.high, 1 / verdict.low)


def _history(
    trial: CommonTrial, name: str, sessions: Sequence[Session], noise: Mapping[str, Mapping[str, float]]
) -> TrialHistory:
    points = [
        Point(
            session=session,
            runs=timed(own := trial.runs[session.label]),
            statuses=tuple(dict.fromkeys(run.status for run in failed(own))),
        )
        for session in sessions
        if session.label in trial.runs
    ]
    changes: list[Change] = []
    alone: list[Change] = []
    for machine in dict.fromkeys(session.machine for session in sessions):
        of_machine = [session for session in sessions if session.machine == machine]
        stretches = _stretches(trial, of_machine, points)
        unchanged = [own for _, own in stretches]
        for place, (differences, after) in enumerate(stretches[1:]):
            about = {"differences": differences, "is_last": place == len(stretches) - 2}
            changes.append(
                _change(
                    name, trial.trial.framework, unchanged[place], after, noise, _luck(unchanged), **about
                )
            )
        if stretches and len(newest := unchanged[-1]) > 1:
            luck = _luck([*unchanged[:-1], newest[:-1]])
            alone.append(
                _change(
                    name,
                    trial.trial.framework,
                    newest[:-1],
                    newest[-1:],
                    noise,
                    luck,
                    differences=(),
                    is_last=True,
                )
            )
    return TrialHistory(trial=trial, name=name, points=points, changes=changes, alone=alone)


def _stretches(
    trial: CommonTrial, sessions: Iterable[Session], points: Iterable[Point]
) -> list[tuple[list[Difference], list[Point]]]:
    """Return (what changed before it, the trial's points) for each stretch of sessions in which nothing changed.

    What changed in a session that does not have the trial changed before the next one that has it.
    """
    of_session = {point.session.id: point for point in points if point.runs}
    stretches: list[tuple[list[Difference], list[Point]]] = []
    pending: list[Difference] = []
    for session in sessions:
        pending += session.changes_for(trial.trial.framework)
        point = of_session.get(session.id)
        if point is None:
            continue
        if pending or not stretches:
            stretches.append((pending, []))
            pending = []
        stretches[-1][1].append(point)
    return stretches


def _luck(stretches: Iterable[Sequence[Point]]) -> float | None:
    """Return the largest ratio of two sessions between which nothing changed; None without such two."""
    medians = [[point.median_s for point in stretch] for stretch in stretches if len(stretch) > 1]
    return max((max(own) / min(own) for own in medians), default=None)


def _change(
    name: str,
    framework: str,
    before: Sequence[Point],
    after: Sequence[Point],
    noise: Mapping[str, Mapping[str, float]],
    luck: float | None,
    *,
    differences: Sequence[Difference],
    is_last: bool,
) -> Change:
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
        differences=differences,
        judgement=judge_unpaired(*values),
        is_last=is_last,
        noise=max(known, default=None),
    )
