"""The largest gains, measured again: the largest of many is partly luck, and fresh blocks show how much.

Pure functions on verdicts and runs; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from trainspeed.conduct.plan import TrialSet
from trainspeed.core.format import counted
from trainspeed.core.run import Role, Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import Verdict, verdict_between
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome

CONFIRM_SEED_OFFSET = 200_000  # seed of the fresh blocks, which no block of a study has
DECIDED = (Outcome.FASTER, Outcome.SLOWER)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """A verdict, and another one on the same pair in fresh blocks.

    Attributes:
        again: The verdict of the fresh blocks; None where one of the two trials gave no result in any.
        reason: Why a run of the fresh blocks gave no result; None where all gave one.
    """

    first: Verdict
    again: Verdict | None
    reason: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the fresh blocks decide the same."""
        return self.again is not None and self.again.outcome == self.first.outcome

    @property
    def sentence(self) -> str:
        """What the fresh blocks say, next to the first ones."""
        first = f"{self.first.name}: {_size(self.first)} at first"
        if self.again is None:
            why = f": {self.reason.rstrip('.')}" if self.reason else ""
            return f"{first}; not measured again{why}."
        blocks = counted(self.again.blocks, "fresh block")
        reason = f" ({self.reason})" if self.reason else ""
        return f"{first}, {_size(self.again)} in {blocks}: {self.word}{reason}."

    @property
    def word(self) -> str:
        """Whether the verdict was confirmed, in one word or a few."""
        one, two = self.first, self.again
        if self.holds:
            # Where the intervals do not even touch, what was found first was mostly luck.
            smaller = None not in (one.low, two.low) and (
                two.high < one.low if one.outcome is Outcome.FASTER else two.low > one.high
            )
            return "confirmed, but smaller" if smaller else "confirmed"
        if two.low is None:
            return f"neither confirmed nor refuted, measure {MIN_BLOCKS} blocks or more"
        if two.outcome is Outcome.UNDECIDED:
            return "not confirmed, the interval says neither"
        return f"not confirmed, but {two.outcome}"


def _size(verdict: Verdict) -> str:
    return size_of(verdict) + ("" if verdict.low is None else f" ({interval_of(verdict)})")


def gain(verdict: Verdict) -> float:
    """Return how many times as fast the faster one of the two is; 1 where that is not known."""
    size = verdict.speedup
    return max(size, 1 / size) if size and verdict.quantity == "time" else 1.0


def largest(verdicts: Iterable[Verdict], of_each: int, devices: int | None = None) -> list[Verdict]:
    """Return the largest decided gains of each study, the largest first, and a pair of trials only once.

    Args:
        of_each: How many of each study; 0 for none.
        devices: How many there are, as verdicts may come from a machine with more; None for no limit.
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
    return sorted((v for of_study in chosen.values() for v in of_study), key=gain, reverse=True)


def confirming(verdicts: Sequence[Verdict], blocks: int) -> list[TrialSet]:
    """Return the pairs of these verdicts, to be measured in fresh blocks."""
    sets = []
    for verdict in verdicts:
        one, other = verdict.baseline, verdict.candidate
        part = TrialSet(
            # From `verdicts.json` they come without seed and fold.
            trials=tuple(replace(trial, seed=CONFIRM_SEED_OFFSET) for trial in (one, other)),
            blocks=blocks,
            label=Role.CONFIRMATION,
            factors=tuple(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name)),
            parameter="confirm_blocks",
        )
        sets.append(part)
    return sets


def confirmed(verdicts: Sequence[Verdict], runs: Iterable[Run]) -> list[Confirmed]:
    """Return what became of these verdicts in the fresh blocks."""
    arms = RunSet(tuple(runs)).role(Role.CONFIRMATION).by_trial()
    results = []
    for verdict in verdicts:
        pair = [arms.get(trial.spec, ()) for trial in (verdict.baseline, verdict.candidate)]
        again = verdict_between(*pair, verdict.factor, verdict.question) if all(pair) else None
        failed = next((run for arm in pair for run in arm if run.status != Status.OK), None)
        reason = f"{failed.status}: {failed.reason}" if failed else None
        again = again if again and again.blocks else None
        results.append(Confirmed(first=verdict, again=again, reason=reason))
    return results
