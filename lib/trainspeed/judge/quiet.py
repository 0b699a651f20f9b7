"""Blocks beside other processes: those that were left alone decide where there are enough, else they have a say."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from statistics import median

from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Judgement, Outcome, judge


def judge_quiet(pairs: Mapping[int, tuple[float, float]], disturbed: Set[int]) -> Judgement:
    """Return the speed-up over the blocks that others left alone, where these are 6 or more; else over all.

    What all blocks decide is undecided where those left alone do not bear it out: then it is what others did that makes
    the difference, such as who took the core of one of two threads.

    Args:
        pairs: Block -> seconds of the baseline and of the candidate.
        disturbed: Blocks in which others used the machine.
    """
    quiet = {block: pair for block, pair in pairs.items() if block not in disturbed}
    if len(quiet) >= MIN_BLOCKS:
        return replace(_judged(quiet), disturbed=len(pairs) - len(quiet))
    judged = _judged(pairs)
    if not quiet or judged.outcome not in (Outcome.FASTER, Outcome.SLOWER):
        return judged
    alone = median(base_s / candidate_s for base_s, candidate_s in quiet.values())
    bears_out = alone > 1 + MARGIN if judged.outcome is Outcome.FASTER else alone < 1 / (1 + MARGIN)
    return judged if bears_out else replace(judged, outcome=Outcome.UNDECIDED, quiet_speedup=alone)


def _judged(pairs: Mapping[int, tuple[float, float]]) -> Judgement:
    return judge([base_s for base_s, _ in pairs.values()], [own_s for _, own_s in pairs.values()])
