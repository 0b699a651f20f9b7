"""What validation and checkpoints cost: their share of a training's wall time. Pure functions on runs.

From runs of whole steps beside runs that validate and save in each epoch, too, in the same blocks. With Keras the
latter also count the accuracy of each training batch, which belongs to what validating costs there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from trainspeed.core.phase import FIT, WHOLE
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.verdict import Judgement


@dataclass(frozen=True, kw_only=True)
class PhaseShares:
    """How the wall time of an epoch with validation and a checkpoint splits.

    Attributes:
        trial: What was trained, in whole steps.
        judgement: Time of such an epoch over that of its training steps alone, as a speed-up by leaving the rest out.
    """

    trial: Trial
    judgement: Judgement

    @property
    def besides(self) -> float | None:
        """Share of the time that is no training, 0 to 1; less than 0 where noise is larger than it. None: no block."""
        return _without(self.judgement.speedup)

    @property
    def low(self) -> float | None:
        """Lower end of its interval; None where there are too few blocks for one."""
        return _without(self.judgement.low)

    @property
    def high(self) -> float | None:
        """Upper end of its interval; None likewise."""
        return _without(self.judgement.high)

    @property
    def training(self) -> float | None:
        """Share of the time that is training steps."""
        return None if self.besides is None else 1 - self.besides

    def every(self, epochs: int) -> float | None:
        """Return the share of the time that is no training, were the rest done once in so many epochs.

        Args:
            epochs: At least 1.
        """
        if self.besides is None:
            return None
        rest = self.judgement.speedup - 1  # in units of an epoch's training
        return (rest / epochs) / (1 + rest / epochs)


def phase_shares(runs: Iterable[Run]) -> list[PhaseShares]:
    """Return the shares of each trial that was measured both in whole steps and with validation and checkpoint."""
    arms = RunSet(tuple(runs)).data().by_trial()
    pairs = ((trial, arms.get(trial.only(FIT))) for trial in arms if trial.phase is WHOLE)
    judged = (PhaseShares(trial=trial, judgement=judge_runs(fit, arms[trial])) for trial, fit in pairs if fit)
    return [shares for shares in judged if shares.judgement.blocks]


def _without(ratio: float | None) -> float | None:
    return None if ratio is None else 1 - 1 / ratio
