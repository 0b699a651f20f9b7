"""Decide whether accuracy was kept: "not significantly worse" is not "equally good". Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from statistics import median
from typing import Any

from trainspeed.core.run import Run
from trainspeed.judge.verdict import ACCURACY_MARGIN, MIN_BLOCKS, Judgement, Outcome

# Half an interval of the median difference of 45 blocks, if pairs had nothing in common, is a sixth of the range of
# 6 to 9 blocks. With a range of 20 margins it is within one only if the seed explains 93 % of what blocks vary by.
MOST_RANGE = 20  # margins by which a baseline's own accuracy may differ from block to block


class Equality(StrEnum):
    """What fresh blocks say of a candidate's accuracy beside its baseline's; `text.accuracy_in_words` makes words."""

    EQUAL = "no worse"  # by no more than the margin
    WORSE = "worse"  # by more than the margin
    OPEN = "undecided"
    UNCHECKED = "not checked"  # no accuracy was asked for, or the baseline learned nothing that could be lost


def equality_of(judgement: Judgement | None, margin: float | None = None) -> Equality:
    """Return whether an accuracy was kept: the whole interval must lie at -margin or above.

    The burden of proof is the candidate's: few or noisy blocks leave it undecided, while a test for a difference would
    pass them. With an interval of 95 %, one candidate in 40 that loses exactly the margin passes, and fewer of those
    that lose more. It is one-sided: to learn more than the baseline is no fault. But where the baseline itself differs
    widely from block to block, one end of a wide interval is no proof: see `is_uneven`.

    Args:
        judgement: Difference in points, candidate - baseline, as of `verdict.judge_difference`; None where the two were
            not compared.
        margin: What may be lost, in points; None for that by which the judgement was made.
    Raises:
        ValueError: A margin that is not positive: with 0, equal is never proved.
    Source: E. Lesaffre, Superiority, equivalence, and non-inferiority trials, Bulletin of the NYU Hospital for Joint
        Diseases 66 (2008), 150-154.
    """
    margin = margin_of(judgement, margin)
    if judgement is None or judgement.speedup is None:
        return Equality.UNCHECKED
    if judgement.low is None:
        return Equality.OPEN
    if judgement.low >= -margin and not is_uneven(judgement, margin):
        return Equality.EQUAL
    return Equality.WORSE if judgement.high < -margin else Equality.OPEN


def is_uneven(judgement: Judgement, margin: float | None = None) -> bool:
    """Return whether a baseline has trained too unevenly to tell whether the margin was kept.

    Its own accuracy differs by more than `MOST_RANGE` margins from block to block, and pairs do not make up for it: an
    interval within both margins shows that they do, and one wholly below shows a loss all the same.
    """
    if judgement.baseline_range is None or judgement.low is None:
        return False
    margin = margin_of(judgement, margin)
    told = -margin <= judgement.low <= judgement.high <= margin or judgement.high < -margin
    return judgement.baseline_range > MOST_RANGE * margin and not told


def undecided_where_uneven(judgement: Judgement) -> Judgement:
    """Return a judgement of an accuracy; what is better than a baseline that is uneven is undecided."""
    return replace(judgement, outcome=Outcome.UNDECIDED) if is_uneven(judgement) else judgement


def accuracy_record(judgement: Judgement) -> dict[str, Any]:
    """Return what an element of `verdicts.json` on accuracy has beside its interval: equality, and what it rests on."""
    margin = {"margin": judgement.bounds[1]} if judgement.bounds else {}
    spread = {} if judgement.baseline_range is None else {"baseline_range": judgement.baseline_range}
    return {"equality": str(equality_of(judgement)), **spread, **margin}


def margin_of(judgement: Judgement | None, margin: float | None = None) -> float:
    """Return what may be lost, in points: what is given, or else that by which a judgement was made.

    Raises:
        ValueError: A margin that is not positive: with 0, equal is never proved.
    """
    if margin is None:
        margin = judgement.bounds[1] if judgement and judgement.bounds else ACCURACY_MARGIN
    if not margin > 0:
        raise ValueError(f"margin (={margin!r}) must be more than 0 points.")
    return margin


def has_learned(runs: Sequence[Run]) -> bool:
    """Return whether a model does better than guessing, in enough blocks for an interval: else nothing can be lost."""
    known = [run for run in runs if run.test_accuracy is not None]
    return len(known) >= MIN_BLOCKS and median(r.test_accuracy for r in known) >= known[0].learned_from
