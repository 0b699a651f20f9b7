"""One trial over the sessions of a machine, as values: what became of its time where something changed, and whether
it fails now.

Works on sessions; `trainspeed.judge.verdict` decides how fast one is. Draws nothing and makes no sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from statistics import median

from trainspeed.core.run import Run, Status
from trainspeed.core.system import Difference
from trainspeed.judge.verdict import Judged, Judgement, Outcome, median_interval
from trainspeed.studies.across.common import CommonTrial
from trainspeed.studies.across.sessions import Session


class ChangeOutcome(StrEnum):
    """What became of a trial's time; the first two alone are changes."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "the same"
    NOISE = "no more than noise"
    UNDECIDED = "undecided"


CHANGES = (ChangeOutcome.SLOWER, ChangeOutcome.FASTER)


@dataclass(frozen=True, kw_only=True)
class TrialInSession:
    """A trial in one session.

    Attributes:
        runs: Those with a time, one per block.
        failed: Those that ended without a result.
    """

    session: Session
    runs: Sequence[Run]
    failed: Sequence[Run] = ()

    @property
    def statuses(self) -> tuple[Status, ...]:
        """How those without a result ended, each once."""
        return tuple(dict.fromkeys(run.status for run in self.failed))

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
        changed_in: The sessions before which it did: earlier than `after` where they do not have the trial.
        judgement: Of `after` over `before`: a speed-up below 1 means that it has been slower since.
        is_last: Whether nothing else has changed since.
        noise: How many times as long the same takes where nothing differs: the farthest end of the intervals of the
            sessions' A/A controls, or the largest ratio of two sessions between which nothing changed; None where
            neither is known.
        by_session: Whether a session is one value, so that the interval holds what a day makes.
    """

    name: str
    before: Sequence[TrialInSession]
    after: Sequence[TrialInSession]
    differences: Sequence[Difference]
    changed_in: Sequence[Session]
    judgement: Judgement
    is_last: bool
    noise: float | None
    by_session: bool = False

    @property
    def session(self) -> Session:
        """The first session after the change."""
        return self.after[0].session

    @property
    def size(self) -> float | None:
        """How many times as long, or as fast, it is, whichever is above 1; None without a time on both sides."""
        return self.speedup and max(self.speedup, 1 / self.speedup)

    @property
    def finding(self) -> ChangeOutcome:
        """What became of the time: slower or faster only where it is more than noise, which has to be known."""
        if self.outcome is Outcome.SAME:
            return ChangeOutcome.SAME
        if self.outcome not in (Outcome.SLOWER, Outcome.FASTER) or self.lacks_noise:
            return ChangeOutcome.UNDECIDED
        if self.noise is not None and self.size <= self.noise:
            return ChangeOutcome.NOISE
        return ChangeOutcome.SLOWER if self.outcome is Outcome.SLOWER else ChangeOutcome.FASTER

    @property
    def lacks_noise(self) -> bool:
        """Whether nothing tells how far apart the same is, neither a control nor the sessions themselves."""
        return self.noise is None and not self.by_session


@dataclass(frozen=True, kw_only=True)
class Failing:
    """A trial that had a time on its machine, and none in any of its sessions since.

    Attributes:
        name: What the trial is called among all that are compared.
        last: The newest session with a time.
        since: The first one without.
        differences: What had changed in between; empty where nothing that was recorded had.
        changed_in: The sessions before which it had.
    """

    name: str
    last: TrialInSession
    since: TrialInSession
    differences: Sequence[Difference]
    changed_in: Sequence[Session]

    @property
    def session(self) -> Session:
        """The first session in which it failed."""
        return self.since.session

    @property
    def run(self) -> Run:
        """The first run that failed: it has a status and a reason."""
        return self.since.failed[0]


@dataclass(frozen=True, kw_only=True)
class TrialHistory:
    """A trial over the sessions of a machine that have it; it has a time in one of them, at least.

    Attributes:
        name: What it is called among all that are compared.
        machine: Its number.
        points: In the order of time; sessions in which it has no time have no runs.
        changes: In the order of time.
        alone: The newest session against the ones before it, where nothing that was recorded changed; else None.
        failing: Since when it has failed; None where its newest session has a time.
    """

    trial: CommonTrial
    name: str
    machine: int
    points: Sequence[TrialInSession]
    changes: Sequence[Change]
    alone: Change | None
    failing: Failing | None

    @property
    def timed(self) -> list[TrialInSession]:
        """The points that have a time."""
        return [point for point in self.points if point.runs]

    @property
    def compared(self) -> list[Change]:
        """All that is compared: its changes, and its newest session."""
        return [*self.changes, *([self.alone] if self.alone else [])]

    @property
    def rank(self) -> tuple:
        """What puts histories into an order: what fails first, then by the change that matters most."""
        largest = self.largest
        return (self.failing is None, largest is None, *(_rank(largest) if largest else ()))

    @property
    def largest(self) -> Change | None:
        """The change that matters most: decided before undecided, with a reason before without one, then the
        largest; None where there is none."""
        return min(self.compared, key=_rank, default=None)


def _rank(change: Change) -> tuple[bool, bool, bool, float]:
    return change.finding not in CHANGES, not change.differences, change.low is None, -(change.size or 1.0)
