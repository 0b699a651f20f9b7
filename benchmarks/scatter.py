"""How much the blocks of an A/A comparison scatter, and how sure that is. Pure functions on numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

ROBUST = 1.4826  # median absolute deviation -> standard deviation, of a normal law
RESAMPLES = 10_000
ENDS = (2.5, 97.5)  # percentiles: a 95 % interval


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} ({self.low:{spec}} to {self.high:{spec}})"


def sd(log_ratios: np.ndarray) -> np.ndarray:
    """Return the standard deviation of log ratios along the last axis, about 0: both halves are the same thing."""
    return np.sqrt(np.mean(np.square(log_ratios), axis=-1))


def robust_sd(log_ratios: np.ndarray) -> np.ndarray:
    """Return the same by the median absolute deviation, which episodes do not move."""
    return ROBUST * np.median(np.abs(log_ratios), axis=-1)


def luck(halves: Sequence[tuple[float, float]]) -> float:
    """Return what no further round would remove, as a standard deviation of a block's log ratio.

    It is what two halves of the rounds of a block have in common: the luck of a set of processes.

    Args:
        halves: A block's log ratio in the first half of its rounds, and in the second half.
    """
    first, second = np.transpose(halves)
    return math.sqrt(max(0.0, float(np.mean(first * second))))


def times_smaller(
    before: Sequence[float], after: Sequence[float], size: Callable[[np.ndarray], np.ndarray], seed: int = 0
) -> Estimate:
    """Return how many times smaller the scatter of one way of measuring is than that of another.

    With 30 blocks of each, normal or with heavy tails, the interval held the truth in 89 to 96 % of 300 simulations.

    Args:
        before, after: Log ratios, measured in turn: the n-th of one soon after the n-th of the other.
        size: `sd` or `robust_sd`.
        seed: Of the bootstrap, which draws pairs, so that what disturbed both remains together.
    """
    both = np.array([before, after], dtype=float)
    picks = np.random.default_rng(seed).integers(both.shape[1], size=(RESAMPLES, both.shape[1]))
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = size(both[0][picks]) / size(both[1][picks])
    low, high = np.nanpercentile(drawn, ENDS)
    return Estimate(value=float(size(both[0]) / size(both[1])), low=float(low), high=float(high))


def pooled_mean(values: Sequence[float], weights: Sequence[float], seed: int = 0) -> Estimate:
    """Return the weighted mean of values, with its bootstrap interval."""
    value, weight = np.array(values, dtype=float), np.array(weights, dtype=float)
    picks = np.random.default_rng(seed).integers(len(value), size=(RESAMPLES, len(value)))
    drawn = (value * weight)[picks].sum(axis=-1) / weight[picks].sum(axis=-1)
    low, high = np.percentile(drawn, ENDS)
    return Estimate(value=float(np.average(value, weights=weight)), low=float(low), high=float(high))


def share(hits: int, trials: int, confidence: float = 0.95) -> Estimate:
    """Return the share of trials that hit, with Clopper and Pearson's interval.

    Source: C. J. Clopper, E. S. Pearson, The use of confidence or fiducial limits illustrated in the case of the
        binomial, Biometrika 26 (1934).
    """
    tail = (1 - confidence) / 2
    low = _solve(lambda p: 1 - _at_most(hits - 1, trials, p) - tail) if hits else 0.0
    high = _solve(lambda p: tail - _at_most(hits, trials, p)) if hits < trials else 1.0
    return Estimate(value=hits / trials, low=low, high=high)


def _at_most(hits: int, trials: int, p: float) -> float:
    """Return the binomial law's sum, by logarithms: of a thousand trials its coefficients are no floats."""
    k = np.arange(hits + 1)
    log_choose = np.concatenate([[0.0], np.cumsum(np.log((trials - k[1:] + 1) / k[1:]))])
    return float(np.exp(log_choose + k * math.log(p) + (trials - k) * math.log1p(-p)).sum())


def _solve(rising: Callable[[float], float]) -> float:
    """Return where a function that rises from 0 to 1 is 0."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return (low + high) / 2
