"""From which batch size on a larger one gains little: the knee of the batch ladder. Pure functions on runs.

A larger batch trains another model: what is found here is throughput, and says nothing about the time to an accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median

from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.memory import memory_share
from trainspeed.judge.verdict import Judgement

LEAST_GAIN = 0.05  # a rung that gains less is not worth another batch size
MEMORY_SHARE = 0.9  # of the device's memory, above which the next run may not fit


class Ends(StrEnum):
    """What ends a ladder.

    GAIN: the next rung gains less than `LEAST_GAIN`, with its whole interval.
    MEMORY: the next rung takes more than `MEMORY_SHARE` of the device's memory. OUT_OF_MEMORY: it did not fit.
    FAILED: it ended otherwise without a result.
    UNDECIDED: whether the next rung gains so much is not known: measure more blocks.
    NOT_REACHED: every rung gains as much, and there is memory for more: the knee lies beyond.
    """

    GAIN = "gain"
    MEMORY = "memory"
    OUT_OF_MEMORY = "out of memory"
    FAILED = "failed"
    UNDECIDED = "undecided"
    NOT_REACHED = "not reached"


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One batch size of a ladder.

    Attributes:
        images_per_s: Median over the runs that ended well; None where none did.
        memory_share: Peak of the training over the memory of its device, 0 to 1; None where one is not known.
        gain: Time per image of the rung below over this one's, judged block by block; None where none below ended well.
        failed: How its runs ended where none ended well.
    """

    batch_size: int
    images_per_s: float | None = None
    memory_share: float | None = None
    gain: Judgement | None = None
    failed: Status | None = None


@dataclass(frozen=True, kw_only=True)
class Knee:
    """Where a ladder ends.

    Attributes:
        trial: What was trained, at its smallest batch.
        rungs: By batch size.
        at_least: The largest batch size that is known to be worth it; None where no rung ended well.
        at_most: The batch size above which none is worth it: the same where the knee is found; None where unknown.
        ends: What ends the ladder above `at_least`.
    """

    trial: Trial
    rungs: tuple[Rung, ...]
    at_least: int | None
    at_most: int | None
    ends: Ends

    @property
    def batch_size(self) -> int | None:
        """The largest batch that is worth it; None where that is not decided, or not reached."""
        return self.at_least if self.at_least == self.at_most else None


def knees(runs: Iterable[Run]) -> list[Knee]:
    """Return a knee for each set of trials that differ in nothing but their batch size, of two sizes or more.

    Each gain has an interval of its own, which holds with the usual confidence for itself.
    """
    ladders: dict[Trial, dict[int, RunSet]] = {}
    in_time = (run for run in runs if not (run.failure and run.failure.lacked_time))
    for trial, arm in RunSet(tuple(in_time)).by_trial().items():
        if trial.phase.of_model:
            ladders.setdefault(replace(trial, batch_size=trial.devices), {})[trial.batch_size] = arm
    return [_knee(dict(sorted(arms.items()))) for arms in ladders.values() if len(arms) > 1]


def _knee(arms: Mapping[int, RunSet]) -> Knee:
    sets = list(arms.values())
    rungs = tuple(_rung(arm, below) for arm, below in zip(sets, [None, *sets], strict=False))
    lowest = next((place for place, rung in enumerate(rungs) if not rung.failed), 0)
    ends = [None if place < lowest else _end(rung) for place, rung in enumerate(rungs)]
    worth = next((count for count, end in enumerate(ends) if end), len(rungs))
    sure = next((count for count, end in enumerate(ends) if end not in (None, Ends.UNDECIDED)), None)
    return Knee(
        trial=sets[0][0].trial.spec,
        rungs=rungs,
        at_least=rungs[worth - 1].batch_size if worth else None,
        at_most=rungs[sure - 1].batch_size if sure else None,
        ends=ends[worth] if worth < len(rungs) else Ends.NOT_REACHED,
    )


def _rung(arm: RunSet, below: RunSet | None) -> Rung:
    """Return a rung, compared with the one below in the blocks that both have."""
    ok = arm.ok()
    epochs_s = [run.median_epoch_s for run in ok if run.median_epoch_s]
    shares = [share for run in ok if (share := memory_share(run)) is not None]
    return Rung(
        batch_size=arm[0].trial.batch_size,
        images_per_s=arm[0].trial.images_per_epoch / median(epochs_s) if epochs_s else None,
        memory_share=max(shares, default=None),
        gain=judge_runs(below, arm) if below and below.ok() else None,
        failed=None if epochs_s else arm[-1].status,
    )


def _end(rung: Rung) -> Ends | None:
    """Return what ends a ladder below a rung; None where the rung is worth it."""
    if rung.failed:
        return Ends.OUT_OF_MEMORY if rung.failed is Status.OOM else Ends.FAILED
    if rung.gain is None:  # the lowest that ended well
        return None
    if (rung.memory_share or 0) > MEMORY_SHARE:
        return Ends.MEMORY
    if (rung.gain.low or 0) > 1 + LEAST_GAIN:
        return None
    sure = rung.gain.high is not None and rung.gain.high < 1 + LEAST_GAIN
    return Ends.GAIN if sure else Ends.UNDECIDED
