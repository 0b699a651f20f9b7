"""The largest gains, measured again: the largest of many is partly luck, and fresh blocks tell how much.

Pure functions on verdicts and runs; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import counted
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import Verdict, verdict_between
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome

CONFIRM_SEED_OFFSET = 200_000  # of the fresh blocks: no block of a study had such seeds
DECIDED = (Outcome.FASTER, Outcome.SLOWER)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """A verdict and the same pair in fresh blocks.

    Attributes:
        again: Of the fresh blocks; None where one of the two gave no result in any.
        reason: Why a run of the fresh blocks gave no result; None where none failed.
    """

    first: Verdict
    again: Verdict | None
    reason: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the fresh blocks decide the same."""
        return self.again is not None and self.again.outcome == self.first.outcome

    @property
    def _smaller(self) -> bool:
        """Whether both have an interval, and they do not even touch: what was found first was mostly luck."""
        one, two = self.first, self.again
        if one.low is None or two.low is None:
            return False
        return two.high < one.low if one.outcome is Outcome.FASTER else two.low > one.high

    @property
    def sentence(self) -> str:
        """What the fresh blocks say beside the first ones."""
        first = f"{self.first.name}: {_size(self.first)} at first"
        why = f": {self.reason.rstrip('.')}" if self.reason else ""
        if self.again is None:
            return f"{first}; not measured again{why}."
        blocks = counted(self.again.blocks, "fresh block")
        return f"{first}, {_size(self.again)} in {blocks}: {self.word}{f' ({self.reason})' if why else ''}."

    @property
    def word(self) -> str:
        """Whether it was confirmed, in a word or a few."""
        if self.holds and self._smaller:
            return "confirmed, but smaller"
        if self.holds:
            return "confirmed"
        if self.again.low is None:
            return f"neither confirmed nor refuted, measure {MIN_BLOCKS} blocks or more"
        if self.again.outcome is Outcome.UNDECIDED:
            return "not confirmed, the interval says neither"
        return f"not confirmed, but {self.again.outcome}"


def _size(verdict: Verdict) -> str:
    ends = "" if verdict.low is None else f" ({interval_of(verdict)})"
    return size_of(verdict) + ends


def gain(verdict: Verdict) -> float:
    """Return how many times faster the faster one of the two is; 1 where that is not known."""
    size = verdict.speedup
    return max(size, 1 / size) if size and verdict.quantity == "time" else 1.0


def largest(verdicts: Iterable[Verdict], of_each: int, devices: int | None = None) -> list[Verdict]:
    """Return the largest decided gains of each study, the largest first; a pair of trials only once.

    Args:
        of_each: How many of each study; 0 for none.
        devices: How many there are: verdicts may be of a machine with more. None: as many as any verdict has.
    """
    chosen: dict[str, list[Verdict]] = {}
    pairs = set()
    for verdict in sorted(verdicts, key=gain, reverse=True):
        pair = frozenset((verdict.baseline, verdict.candidate))
        # Two times of the same runs, such as calls with and without transfers, are no pair of trials.
        switch = verdict.quantity == "time" and verdict.row.choice and len(pair) == 2
        here = devices is None or max(trial.devices for trial in pair) <= devices
        new = verdict.outcome in DECIDED and pair not in pairs
        of_study = chosen.setdefault(verdict.study, [])
        if switch and here and new and len(of_study) < of_each:
            of_study.append(verdict)
            pairs.add(pair)
    return sorted((v for found in chosen.values() for v in found), key=gain, reverse=True)


def confirming(verdicts: Sequence[Verdict], blocks: int) -> list[TrialSet]:
    """Return the pairs of these verdicts, to be measured in fresh blocks."""
    return [
        TrialSet(
            # From `verdicts.json` they come without seed and fold.
            trials=tuple(replace(t, seed=CONFIRM_SEED_OFFSET) for t in (verdict.baseline, verdict.candidate)),
            blocks=blocks,
            label=Role.CONFIRMATION,
            factors=_differing(verdict.baseline, verdict.candidate),
            parameter="confirm_blocks",
        )
        for verdict in verdicts
    ]


def confirmed(verdicts: Sequence[Verdict], runs: Iterable[Run]) -> list[Confirmed]:
    """Return what became of these verdicts in the fresh blocks."""
    arms = RunSet(tuple(runs)).role(Role.CONFIRMATION).by_trial()
    found = []
    for verdict in verdicts:
        pair = [arms.get(trial.spec, ()) for trial in (verdict.baseline, verdict.candidate)]
        again = verdict_between(*pair, verdict.factor, verdict.question) if all(pair) else None
        failed = next((run for arm in pair for run in arm if run.status != Status.OK), None)
        found.append(
            Confirmed(
                first=verdict,
                again=again if again and again.blocks else None,
                reason=f"{failed.status}: {failed.reason}" if failed else None,
            )
        )
    return found


def _differing(one: AnyTrial, other: AnyTrial) -> tuple[str, ...]:
    return tuple(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name))
