"""What a larger batch is worth where accuracy has to be the same. Pure functions on runs.

All arms of a block train the same number of epochs. So a larger batch that is no less accurate after them has reached
the accuracy in the time that they take, and its speed-up is one in time to equal accuracy. One that is less accurate
needs more epochs; how many, these runs do not tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.equivalence import Equality, equality_of, has_learned
from trainspeed.judge.verdict import ACCURACY_MARGIN, Judgement


@dataclass(frozen=True, kw_only=True)
class EqualAccuracy:
    """A larger batch beside the smallest of its ladder, after the same number of epochs.

    Attributes:
        baseline, candidate: The trials, which differ in their batch size.
        time: Time of an epoch, as a speed-up of the larger batch.
        points: Difference in points of test accuracy; None where the smallest batch had learned too little to lose any.
        equality: What that says.
    """

    baseline: Trial
    candidate: Trial
    time: Judgement
    points: Judgement | None
    equality: Equality

    @property
    def speedup(self) -> Judgement | None:
        """Speed-up in time to equal accuracy; None where that accuracy was not shown to be reached."""
        return self.time if self.equality is Equality.EQUAL else None


def equal_accuracy(runs: Iterable[Run], margin: float = ACCURACY_MARGIN) -> list[EqualAccuracy]:
    """Return a comparison of each larger batch with the smallest of its ladder, in the blocks that both have.

    Args:
        margin: What may be lost, in points.
    """
    ladders: dict[Trial, dict[int, RunSet]] = {}
    for trial, arm in RunSet(tuple(runs)).by_trial().items():
        ladders.setdefault(replace(trial, batch_size=trial.devices), {})[trial.batch_size] = arm
    found = []
    for arms in ladders.values():
        plain, *larger = (arm for _, arm in sorted(arms.items()))
        found += [one for arm in larger if (one := _compared(plain, arm, margin)).time.blocks]
    return found


def _compared(plain: RunSet, arm: RunSet, margin: float) -> EqualAccuracy:
    epochs = {run.block: len(run.epoch_s) for run in plain}
    alike = [run for run in arm if epochs.get(run.block) == len(run.epoch_s)]
    points = judge_runs(plain, alike, "accuracy", margin) if alike and has_learned(plain) else None
    return EqualAccuracy(
        baseline=plain[0].trial.spec,
        candidate=arm[0].trial.spec,
        time=judge_runs(plain, arm),
        points=points,
        equality=equality_of(points, margin),
    )
