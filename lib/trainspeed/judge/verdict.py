"""Decide whether a candidate is faster: the only place that does. Pure functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from operator import attrgetter
from statistics import NormalDist, median, median_high, median_low

MARGIN = 0.02  # a change of less than 2 % is not worth switching for
ACCURACY_MARGIN = 0.5  # points of test accuracy
CONFIDENCE = 0.95
MIN_BLOCKS = 6  # with n blocks no interval is surer than 1 - 2^(1-n): 93.75 % for 5, 96.9 % for 6
EXACT_RATIOS = 10_000  # up to 100 x 100 blocks; counting more takes seconds, and the normal law is as good


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
        blocks: Pairs compared; without pairs, the blocks of the side that has fewer.
        disturbed: Further blocks that are not compared, as others used the machine in them: see `judge_quiet`.
        values: What each block says, unsorted; none where it is not known, as of a judgement read from a file.
        bounds: Between which a value is "the same".
        quiet_speedup: Of blocks that others left alone, where it does not bear out the rest: see `judge_quiet`.
        baseline_range: Points between the baseline's best and worst accuracy in these blocks; None for times.
    """

    speedup: float | None
    low: float | None
    high: float | None
    confidence: float
    blocks: int
    outcome: Outcome
    values: tuple[float, ...] = field(default=(), repr=False, compare=False)
    bounds: tuple[float, float] | None = field(default=None, repr=False, compare=False)
    disturbed: int = 0
    quiet_speedup: float | None = None
    baseline_range: float | None = field(default=None, repr=False, compare=False)

    @property
    def turned(self) -> Judgement:
        """The same comparison of times seen from the candidate: 2x becomes 0.5x, faster becomes slower."""
        outcomes = {Outcome.FASTER: Outcome.SLOWER, Outcome.SLOWER: Outcome.FASTER}
        return replace(
            self,
            speedup=self.speedup and 1 / self.speedup,
            low=self.high and 1 / self.high,
            high=self.low and 1 / self.low,
            outcome=outcomes.get(self.outcome, self.outcome),
            values=tuple(1 / value for value in self.values),
            quiet_speedup=self.quiet_speedup and 1 / self.quiet_speedup,
        )

    def one_of(self, chances: int) -> Judgement:
        """Return the same judgement with an interval so wide that those of so many all hold at once.

        Where any one of several judgements decides something, each has its chance to be wrong. With 1 - (1 - c) / n
        for each, all n together have the confidence c, however they depend on each other (Bonferroni). The outcome
        stays, or becomes undecided.
        """
        if chances < 2 or self.low is None:
            return self
        confidence = confidence_of_each(chances, self.confidence)
        ends = median_interval(self.values, confidence)
        low, high = ends or (None, None)
        stays = ends and _place(low, high, self.bounds) is not None
        outcome = self.outcome if stays else Outcome.UNDECIDED
        return replace(self, low=low, high=high, confidence=confidence, outcome=outcome)


class Judged:
    """Something that holds a judgement and is drawn or tabled by its values: see `Judgement`."""

    judgement: Judgement
    speedup = property(attrgetter("judgement.speedup"))
    low = property(attrgetter("judgement.low"))
    high = property(attrgetter("judgement.high"))
    blocks = property(attrgetter("judgement.blocks"))
    outcome = property(attrgetter("judgement.outcome"))


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
    _check_seconds(baseline_s, candidate_s)
    ratios = [b / c for b, c in zip(baseline_s, candidate_s, strict=True)]
    return _judge(ratios, _bounds(margin), (Outcome.SLOWER, Outcome.FASTER), confidence)


def judge_unpaired(baseline_s: Sequence[float], candidate_s: Sequence[float]) -> Judgement:
    """Return the speed-up over a baseline of another session: another machine, version or day.

    Block 3 of one session has nothing in common with block 3 of another, so every ratio of a baseline's
    time and a candidate's counts. The speed-up is their median on a log scale (Hodges and Lehmann's
    shift), the interval goes from the k-th smallest ratio to the k-th largest, k by the exact law of the
    rank sum. That law wants two sides that scatter alike: where one scatters ten times as much as the
    other, 95 % become 79 %. So k is no larger than the sign test of the noisier side alone allows, were
    the other exact; in simulations that keeps 94 % at worst. What all blocks of a session share, such as
    a warmer day, is in no interval.

    Args:
        baseline_s, candidate_s: Seconds, in any order, as many of each as there are.
    Raises:
        ValueError: A time that is not a positive number.
    Source: M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical Methods, 3rd ed., sections 4.2, 4.3.
    """
    _check_seconds(baseline_s, candidate_s)
    ratios = sorted(b / c for b in baseline_s for c in candidate_s)
    counts = (len(baseline_s), len(candidate_s))
    rank = _ratio_rank(*counts) if min(counts) >= MIN_BLOCKS else 0
    return _judgement(
        math.sqrt(median_low(ratios) * median_high(ratios)) if ratios else None,
        (ratios[rank - 1], ratios[-rank]) if rank else None,
        min(counts),
        _bounds(MARGIN),
        (Outcome.SLOWER, Outcome.FASTER),
        CONFIDENCE,
    )


def judge_difference(
    baseline: Sequence[float], candidate: Sequence[float], *, margin: float = ACCURACY_MARGIN
) -> Judgement:
    """Return candidate - baseline of a score where more is better, judged as `judge` judges times.

    Args:
        baseline, candidate: In points (0 to 100), paired by block.
        margin: Half-width of "the same", in points.
    Raises:
        ValueError: Unequal lengths, or a score that is not a number.
    """
    _check_pairs(baseline, candidate, margin, CONFIDENCE)
    if bad := [value for value in (*baseline, *candidate) if not math.isfinite(value)]:
        raise ValueError(f"scores must be numbers, got {bad[0]!r}.")
    differences = [round(c - b, 9) for b, c in zip(baseline, candidate, strict=True)]
    judged = _judge(differences, (-margin, margin), (Outcome.WORSE, Outcome.BETTER), CONFIDENCE)
    return replace(judged, baseline_range=max(baseline) - min(baseline) if len(baseline) else None)


def median_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float] | None:
    """Return the sign test's interval for the median, or None where there are too few values for it.

    The k-th smallest and the k-th largest value, with the largest k for which the median lies outside
    with a probability of at most 1 - confidence: 2 P(Binomial(n, 1/2) < k).
    """
    count = len(values)
    rank = _sign_rank(count, confidence) if count >= MIN_BLOCKS else 0
    if not rank:
        return None
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]


def _sign_rank(count: int, confidence: float) -> int:
    outside, rank = 0.0, 0
    for below in range(count // 2):
        outside += 2 * math.comb(count, below) / 2**count
        if outside > 1 - confidence:
            break
        rank = below + 1
    return rank


def _ratio_rank(count: int, other: int) -> int:
    """Return k of `judge_unpaired`; against an exact other side each value makes `other` equal ratios."""
    signs = other * _sign_rank(count, CONFIDENCE), count * _sign_rank(other, CONFIDENCE)
    return min(rank_sum_rank(count, other), *signs)


@cache
def rank_sum_rank(count: int, other: int) -> int:
    """Return which of the sorted ratios of two samples ends their interval: 1 for the extremes, 0 for none.

    The largest k with 2 P(U < k) of at most 1 - CONFIDENCE, where U, the number of pairs in which the
    first sample is the smaller, has Mann and Whitney's law. It is counted: the coefficient of q^u in the
    Gaussian binomial coefficient is the number of orders with U = u. Beyond EXACT_RATIOS pairs its normal
    approximation is used.
    """
    pairs = count * other
    if pairs > EXACT_RATIOS:
        spread = math.sqrt(pairs * (count + other + 1) / 12)
        return math.floor(pairs / 2 + NormalDist().inv_cdf((1 - CONFIDENCE) / 2) * spread)
    ways = [1] + [0] * (pairs // 2)  # the other half is its mirror image
    for size in range(1, count + 1):
        for u in range(pairs // 2, other + size - 1, -1):  # times 1 - q^(other + size)
            ways[u] -= ways[u - other - size]
        for u in range(size, pairs // 2 + 1):  # by 1 - q^size
            ways[u] += ways[u - size]
    orders, below, rank = math.comb(count + other, count), 0, 0
    for number in ways:
        below += number
        if 2 * below / orders > 1 - CONFIDENCE:
            break
        rank += 1
    return rank


def confidence_of_each(chances: int, confidence: float = CONFIDENCE) -> float:
    """Return how sure each of so many intervals has to be, so that all hold at once: see `Judgement.one_of`."""
    return 1 - (1 - confidence) / max(1, chances)


def fewest_blocks(confidence: float) -> int:
    """Return the number of blocks from which there is an interval this sure: no n are surer than 1 - 2^(1-n)."""
    return max(MIN_BLOCKS, math.ceil(1 - math.log2(1 - confidence)))


def expected_false(verdicts: int, confidence: float = CONFIDENCE) -> float:
    """Return how many of this number of intervals miss the truth on average, at worst."""
    return verdicts * (1 - confidence)


def _judge(
    values: list[float], bounds: tuple[float, float], worse_better: tuple[Outcome, Outcome], confidence: float
) -> Judgement:
    size, interval = median(values) if values else None, median_interval(values, confidence)
    judged = _judgement(size, interval, len(values), bounds, worse_better, confidence)
    return replace(judged, values=tuple(values), bounds=bounds)


def _judgement(
    size: float | None,
    interval: tuple[float, float] | None,
    blocks: int,
    bounds: tuple[float, float],
    worse_better: tuple[Outcome, Outcome],
    confidence: float,
) -> Judgement:
    low, high = interval or (None, None)
    place = _place(low, high, bounds) if interval else None
    outcomes = {-1: worse_better[0], 0: Outcome.SAME, 1: worse_better[1], None: Outcome.UNDECIDED}
    return Judgement(
        speedup=size, low=low, high=high, confidence=confidence, blocks=blocks, outcome=outcomes[place]
    )


def _place(low: float, high: float, bounds: tuple[float, float]) -> int | None:
    """Return whether an interval lies below (-1), between (0) or above (1) bounds; None where it crosses one."""
    if low > bounds[1]:
        return 1
    if high < bounds[0]:
        return -1
    return 0 if low >= bounds[0] and high <= bounds[1] else None


def _check_pairs(baseline: Sequence, candidate: Sequence, margin: float, confidence: float) -> None:
    if len(baseline) != len(candidate):
        raise ValueError(f"baseline has {len(baseline)} blocks, candidate {len(candidate)}: pair them.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence (={confidence!r}) must lie between 0 and 1, for example 0.95.")
    if not margin >= 0:
        raise ValueError(f"margin (={margin!r}) must be 0 or more.")


def _check_seconds(baseline_s: Sequence[float], candidate_s: Sequence[float]) -> None:
    for name, values in (("baseline_s", baseline_s), ("candidate_s", candidate_s)):
        if bad := [value for value in values if not (math.isfinite(value) and value > 0)]:
            raise ValueError(f"{name} must be positive seconds, got {bad[0]!r}.")


def _bounds(margin: float) -> tuple[float, float]:
    return 1 / (1 + margin), 1 + margin
