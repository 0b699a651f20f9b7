"""Decide whether a candidate is faster: the only place that does. Pure functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

MARGIN = 0.02  # a change of less than 2 % is not worth switching for
ACCURACY_MARGIN = 0.5  # points of test accuracy
CONFIDENCE = 0.95
LEAST_BLOCKS = 6  # with n blocks no interval is surer than 1 - 2^(1-n): 93.75 % for 5, 96.9 % for 6


class Outcome(StrEnum):
    """The four answers. Accuracy has better and worse for faster and slower."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "same"
    UNDECIDED = "undecided"
    BETTER = "better"
    WORSE = "worse"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """How a candidate compares with its baseline.

    Attributes:
        speedup: Baseline time / candidate time, median over blocks; for accuracy the difference in
            points, candidate - baseline. None without a block.
        low, high: Ends of the interval; None where there are too few blocks for one.
        blocks: Pairs that were compared.
    """

    speedup: float | None
    low: float | None
    high: float | None
    confidence: float
    blocks: int
    outcome: Outcome


def judge(
    baseline_s: Sequence[float],
    candidate_s: Sequence[float],
    *,
    margin: float = MARGIN,
    confidence: float = CONFIDENCE,
) -> Judgement:
    """Return the speed-up of a candidate over its baseline, with an interval and an outcome.

    The blocks' ratios are compared, so that what drifts from block to block cancels. The interval is
    that of the sign test, between order statistics of the ratios: it holds the nominal confidence for
    the median ratio whatever its distribution, skewed or with outliers, and is never narrower for
    looking tidy. So it can only be too wide.

    Args:
        baseline_s, candidate_s: Seconds, paired by block.
        margin: Half-width of "the same", as a share.
    Raises:
        ValueError: Unequal lengths, or a time that is not a positive number.
    Source: W. J. Conover, Practical Nonparametric Statistics, 3rd ed., section 3.2.
    """
    _check_pairs(baseline_s, candidate_s, margin, confidence)
    for name, values in (("baseline_s", baseline_s), ("candidate_s", candidate_s)):
        if bad := [value for value in values if not (math.isfinite(value) and value > 0)]:
            raise ValueError(f"{name} must be positive seconds, got {bad[0]!r}.")
    ratios = [b / c for b, c in zip(baseline_s, candidate_s, strict=True)]
    bounds = (1 / (1 + margin), 1 + margin)
    return _judge(ratios, bounds, (Outcome.SLOWER, Outcome.FASTER), confidence)


def judge_difference(
    baseline: Sequence[float],
    candidate: Sequence[float],
    *,
    margin: float = ACCURACY_MARGIN,
    confidence: float = CONFIDENCE,
) -> Judgement:
    """Return candidate - baseline of a score where more is better, judged as `judge` judges times.

    Args:
        baseline, candidate: In points (0 to 100), paired by block.
        margin: Half-width of "the same", in points.
    Raises:
        ValueError: Unequal lengths, or a score that is not a number.
    """
    _check_pairs(baseline, candidate, margin, confidence)
    if bad := [value for value in (*baseline, *candidate) if not math.isfinite(value)]:
        raise ValueError(f"scores must be numbers, got {bad[0]!r}.")
    differences = [c - b for b, c in zip(baseline, candidate, strict=True)]
    return _judge(differences, (-margin, margin), (Outcome.WORSE, Outcome.BETTER), confidence)


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the sign test's interval for the median, or None where there are too few values for it.

    The k-th smallest and the k-th largest value, with the largest k for which the median lies outside
    with a probability of at most 1 - confidence: 2 P(Binomial(n, 1/2) < k).
    """
    count = len(values)
    if count < LEAST_BLOCKS:
        return None
    outside, rank = 0.0, 0
    for below in range(count // 2):
        outside += 2 * math.comb(count, below) / 2**count
        if outside > 1 - confidence:
            break
        rank = below + 1
    if not rank:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]


def expected_false(verdicts: int, confidence: float = CONFIDENCE) -> float:
    """Return how many of so many intervals miss the truth, on average, at this confidence at worst."""
    return verdicts * (1 - confidence)


def _judge(
    values: list[float], bounds: tuple[float, float], worse_better: tuple[Outcome, Outcome], confidence: float
) -> Judgement:
    interval = median_interval(values, confidence)
    outcome = Outcome.UNDECIDED
    if interval:
        low, high = interval
        if low > bounds[1]:
            outcome = worse_better[1]
        elif high < bounds[0]:
            outcome = worse_better[0]
        elif low >= bounds[0] and high <= bounds[1]:
            outcome = Outcome.SAME
    return Judgement(
        speedup=median(values) if values else None,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        confidence=confidence,
        blocks=len(values),
        outcome=outcome,
    )


def _check_pairs(baseline: Sequence, candidate: Sequence, margin: float, confidence: float) -> None:
    if len(baseline) != len(candidate):
        raise ValueError(
            f"baseline has {len(baseline)} blocks, candidate has {len(candidate)}: pair them by block first."
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence (={confidence!r}) must lie between 0 and 1, for example 0.95.")
    if not margin >= 0:
        raise ValueError(f"margin (={margin!r}) must be 0 or more.")
