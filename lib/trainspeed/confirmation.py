"""The largest gains, measured again: the largest of many is partly luck, and fresh blocks tell how much.

Pure functions on verdicts and runs; measures nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

from trainspeed.comparison import Verdict, verdict_between
from trainspeed.conv2d_trial import AnyTrial
from trainspeed.run import Run
from trainspeed.schedule import Part
from trainspeed.verdict import Outcome

LABEL = "confirmation"
FRESH = 200_000  # added to the seeds: no block of a study had them
NO_SWITCHES = ("control", "framework")  # what one would not switch on
DECIDED = (Outcome.FASTER, Outcome.SLOWER)


@dataclass(frozen=True, kw_only=True)
class Confirmed:
    """A verdict and the same pair in fresh blocks.

    Attributes:
        again: Of the fresh blocks; None where one of the two did not run.
    """

    first: Verdict
    again: Verdict | None

    @property
    def holds(self) -> bool:
        """Whether the fresh blocks decide the same."""
        return self.again is not None and self.again.outcome == self.first.outcome

    @property
    def sentence(self) -> str:
        """What the fresh blocks say beside the first ones."""
        first = f"{self.first.label}: {_size(self.first)} at first"
        if self.again is None or self.again.speedup is None:
            return f"{first}; not measured again: a run of it failed."
        word = "confirmed" if self.holds else "not confirmed"
        return f"{first}, {_size(self.again)} in {self.again.blocks} fresh blocks: {word}."


def _size(verdict: Verdict) -> str:
    ends = "" if verdict.low is None else f" ({verdict.low:.2f} to {verdict.high:.2f})"
    return f"{verdict.speedup:.2f}x{ends}"


def gain(verdict: Verdict) -> float:
    """Return how many times faster the faster one of the two is; 1 where that is not known."""
    size = verdict.speedup
    return max(size, 1 / size) if size and verdict.quantity == "time" else 1.0


def largest(verdicts: Iterable[Verdict], of_each: int) -> list[Verdict]:
    """Return the largest decided gains of each study, the largest first.

    Args:
        of_each: How many of each study; 0 for none.
    """
    chosen: dict[str, list[Verdict]] = {}
    for verdict in sorted(verdicts, key=gain, reverse=True):
        switch = verdict.quantity == "time" and verdict.factor not in NO_SWITCHES
        of_study = chosen.setdefault(verdict.study, [])
        if switch and verdict.outcome in DECIDED and len(of_study) < of_each:
            of_study.append(verdict)
    return sorted((v for found in chosen.values() for v in found), key=gain, reverse=True)


def confirming(verdicts: Sequence[Verdict], blocks: int) -> list[Part]:
    """Return the pairs of these verdicts, to be measured in fresh blocks."""
    return [
        Part(
            trials=(_fresh(verdict.baseline), _fresh(verdict.candidate)),
            blocks=blocks,
            label=LABEL,
            factors=_differing(verdict.baseline, verdict.candidate),
            parameter="confirm_blocks",
        )
        for verdict in verdicts
    ]


def confirmed(verdicts: Sequence[Verdict], runs: Iterable[Run]) -> list[Confirmed]:
    """Return what became of these verdicts in the fresh blocks."""
    arms: dict[AnyTrial, list[Run]] = {}
    for run in runs:
        if run.label == LABEL:
            arms.setdefault(run.trial.without_seed(), []).append(run)
    found = []
    for verdict in verdicts:
        pair = [arms.get(_fresh(t).without_seed(), []) for t in (verdict.baseline, verdict.candidate)]
        again = verdict_between(*pair, verdict.factor, verdict.question) if all(pair) else None
        found.append(Confirmed(first=verdict, again=again if again and again.blocks else None))
    return found


def _fresh(trial: AnyTrial) -> AnyTrial:
    """A trial as it came from `verdicts.json`, without seed and fold, with seeds of its own."""
    return replace(trial, seed=FRESH)


def _differing(one: AnyTrial, other: AnyTrial) -> tuple[str, ...]:
    return tuple(f.name for f in fields(one) if getattr(one, f.name) != getattr(other, f.name))
