import math
import re

import numpy as np
import pytest
from scipy.stats import binom

from trainspeed.judge.verdict import (
    MIN_BLOCKS,
    Outcome,
    expected_false,
    judge,
    judge_difference,
    median_interval,
)

SIMULATED = 2000  # intervals per kind of noise and number of blocks
MIN_COVERED = 0.945  # 95 % less the sampling error of so many; the sign test's own worst here is 96.5 %
SAMPLING_ERROR = 3 * math.sqrt(0.05 * 0.95 / SIMULATED)


def judge_ratios(*ratios, **more):
    return judge(ratios, [1.0] * len(ratios), **more)


# The four outcomes, at the edges of a margin of 2 %.


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [
        (1.0201, Outcome.FASTER),
        (1.02, Outcome.SAME),
        (1.0, Outcome.SAME),
        (1 / 1.02, Outcome.SAME),
        (1 / 1.0201, Outcome.SLOWER),
    ],
)
def test_the_margin_itself_is_still_the_same(ratio, outcome):
    assert judge_ratios(*[ratio] * 6).outcome == outcome


@pytest.mark.parametrize(
    ("one", "outcome"),
    [
        (1.5, Outcome.FASTER),
        (1.02, Outcome.UNDECIDED),
        (0.99, Outcome.UNDECIDED),
        (0.5, Outcome.UNDECIDED),
    ],
)
def test_with_six_blocks_one_that_disagrees_leaves_it_undecided(one, outcome):
    assert judge_ratios(1.3, 1.3, 1.3, 1.3, 1.3, one).outcome == outcome


def test_an_interval_that_leaves_the_margin_on_either_side_is_undecided():
    assert judge_ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.03).outcome == Outcome.UNDECIDED
    assert judge_ratios(1.0, 1.0, 1.0, 1.0, 1.0, 0.97).outcome == Outcome.UNDECIDED
    assert judge_ratios(1.0, 1.0, 1.0, 1.0, 1.0, 1.01).outcome == Outcome.SAME


def test_speedup_is_baseline_time_over_candidate_time():
    """A candidate that takes half the time has a speed-up of 2."""
    judged = judge([2.0] * 6, [1.0] * 6)
    assert (judged.speedup, judged.low, judged.high) == (2.0, 2.0, 2.0)
    assert judged.outcome == Outcome.FASTER


def test_a_wider_margin_calls_more_the_same():
    assert judge_ratios(*[1.04] * 6, margin=0.05).outcome == Outcome.SAME
    assert judge_ratios(*[1.04] * 6, margin=0).outcome == Outcome.FASTER


def test_seen_from_the_other_arm_the_outcome_is_turned_round():
    ratios = [1.31, 1.34, 1.29, 1.4, 1.33, 1.35, 1.36]
    there, back = judge_ratios(*ratios), judge([1.0] * 7, ratios)
    assert (there.outcome, back.outcome) == (Outcome.FASTER, Outcome.SLOWER)
    assert (back.low, back.high) == pytest.approx((1 / there.high, 1 / there.low))


def test_what_all_of_a_block_shares_cancels():
    """The machine gets 10 times slower; the ratio does not."""
    drift = [1, 2, 4, 6, 8, 10]
    judged = judge([1.3 * d for d in drift], [1.0 * d for d in drift])
    assert (judged.low, judged.high) == pytest.approx((1.3, 1.3))


# How many blocks it takes.


@pytest.mark.parametrize("blocks", range(MIN_BLOCKS))
def test_fewer_than_six_blocks_are_undecided_without_an_interval(blocks):
    judged = judge_ratios(*[2.0] * blocks)
    assert (judged.outcome, judged.low, judged.high, judged.blocks) == (Outcome.UNDECIDED, None, None, blocks)
    assert judged.speedup == (2.0 if blocks else None)


def test_five_blocks_are_too_few_at_any_confidence():
    assert judge_ratios(*[2.0] * 5, confidence=0.5).outcome == Outcome.UNDECIDED


def test_the_interval_of_six_blocks_is_from_the_smallest_to_the_largest():
    ratios = [1.32, 1.3, 1.5, 1.31, 1.1, 1.33]
    judged = judge_ratios(*ratios)
    assert (judged.low, judged.high) == (min(ratios), max(ratios))
    assert judged.speedup == pytest.approx(1.315)


def test_99_percent_confidence_takes_eight_blocks():
    assert judge_ratios(*[2.0] * 7, confidence=0.99).outcome == Outcome.UNDECIDED
    assert judge_ratios(*[2.0] * 8, confidence=0.99).outcome == Outcome.FASTER


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99])
def test_the_interval_is_the_sign_tests(confidence):
    """Against scipy's binomial distribution, for every number of blocks up to 150."""
    for count in range(MIN_BLOCKS, 151):
        outside = 2 * binom.cdf(np.arange(count // 2), count, 0.5)  # for the ranks 1, 2, …
        rank = int((outside <= 1 - confidence + 1e-12).sum())
        expected = (rank - 1, count - rank) if rank else None
        assert median_interval(range(count), confidence) == expected, count


def test_the_order_of_the_blocks_does_not_matter():
    values = [3.0, 1.0, 2.0, 9.0, 5.0, 4.0, 8.0, 7.0, 6.0, 10.0]
    assert median_interval(values) == median_interval(sorted(values)) == (2.0, 9.0)


# Mistakes.


@pytest.mark.parametrize(
    ("baseline", "candidate", "more", "message"),
    [
        ([1.0] * 6, [1.0] * 5, {}, "baseline has 6 blocks, candidate 5: pair them."),
        ([1.0, 0.0], [1.0, 1.0], {}, "baseline_s must be positive seconds, got 0.0."),
        ([1.0, 1.0], [1.0, -2.0], {}, "candidate_s must be positive seconds, got -2.0."),
        ([1.0], [math.nan], {}, "candidate_s must be positive seconds, got nan."),
        ([math.inf], [1.0], {}, "baseline_s must be positive seconds, got inf."),
        ([1.0], [1.0], {"confidence": 1.0}, "confidence (=1.0) must lie between 0 and 1, for example 0.95."),
        ([1.0], [1.0], {"confidence": 95}, "confidence (=95) must lie between 0 and 1"),
        ([1.0], [1.0], {"confidence": math.nan}, "confidence (=nan) must lie between 0 and 1"),
        ([1.0], [1.0], {"margin": -0.01}, "margin (=-0.01) must be 0 or more."),
        ([1.0], [1.0], {"margin": math.nan}, "margin (=nan) must be 0 or more."),
    ],
)
def test_a_mistake_is_told_with_its_value(baseline, candidate, more, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        judge(baseline, candidate, **more)


# The nominal confidence, on times as computers make them: simulated, so the true ratio is known.

TRUE_RATIO = 1.2


def lognormal(rng, shape):
    return rng.lognormal(0, 0.1, shape)


def skewed(rng, shape):
    """Never faster than the machine can, at times much slower."""
    return 1 + rng.exponential(0.2, shape)


def outliers(rng, shape):
    """One run in ten takes five times as long."""
    return lognormal(rng, shape) * np.where(rng.random(shape) < 0.1, 5, 1)


def drifting(rng, shape):
    """Blocks get slower by half over the study, for both arms alike, and wander."""
    simulated, _, blocks = shape
    trend = np.linspace(1, 1.5, blocks) * np.exp(rng.normal(0, 0.2, (simulated, blocks)).cumsum(axis=1))
    return lognormal(rng, shape) * trend[:, None, :]


NOISES = (lognormal, skewed, outliers, drifting)


def simulate(noise, blocks, ratio, seed=0):
    """Return baseline and candidate seconds, (SIMULATED, blocks) each."""
    rng = np.random.default_rng([seed, blocks, NOISES.index(noise)])
    times = noise(rng, (SIMULATED, 2, blocks))
    return (ratio * times[:, 0]).tolist(), times[:, 1].tolist()


def covered(intervals, truth):
    return np.mean([low <= truth <= high for low, high in intervals])


@pytest.mark.parametrize("blocks", [6, 7, 10, 15])
@pytest.mark.parametrize("noise", NOISES)
def test_95_percent_intervals_cover_the_truth_in_95_of_100(noise, blocks):
    judged = [judge(a, b) for a, b in zip(*simulate(noise, blocks, TRUE_RATIO), strict=True)]
    assert covered([(j.low, j.high) for j in judged], TRUE_RATIO) >= MIN_COVERED


@pytest.mark.parametrize("blocks", [6, 7, 10, 15])
@pytest.mark.parametrize("noise", NOISES)
def test_a_trial_against_itself_is_called_faster_or_slower_in_at_most_5_of_100(noise, blocks):
    judged = [judge(a, b) for a, b in zip(*simulate(noise, blocks, 1.0, seed=1), strict=True)]
    wrong = np.mean([j.outcome in (Outcome.FASTER, Outcome.SLOWER) for j in judged])
    assert wrong <= 0.05 + SAMPLING_ERROR


def test_the_check_of_coverage_can_fail():
    """From the third smallest to the third largest of ten ratios is too narrow an interval."""
    intervals = []
    for a, b in zip(*simulate(outliers, 10, TRUE_RATIO), strict=True):
        ratios = sorted(np.divide(a, b))
        intervals.append((ratios[2], ratios[-3]))
    assert covered(intervals, TRUE_RATIO) < MIN_COVERED


def test_a_large_effect_is_found_in_six_noisy_blocks():
    """Too wide an interval would cover as well; this one must also decide."""
    judged = [judge(a, b) for a, b in zip(*simulate(lognormal, 6, 2.0), strict=True)]
    assert np.mean([j.outcome == Outcome.FASTER for j in judged]) > 0.99


# Accuracy: a difference in points, more is better.


@pytest.mark.parametrize(
    ("difference", "outcome"),
    [
        (0.6, Outcome.BETTER),
        (0.5, Outcome.SAME),
        (-0.5, Outcome.SAME),
        (-0.6, Outcome.WORSE),
    ],
)
def test_half_a_point_of_accuracy_is_still_the_same(difference, outcome):
    assert judge_difference([0.0] * 6, [difference] * 6).outcome == outcome


def test_the_difference_is_candidate_less_baseline():
    judged = judge_difference([70.0] * 6, [75.0, 74.0, 76.0, 75.0, 75.0, 73.0])
    assert (judged.speedup, judged.low, judged.high) == (5.0, 3.0, 6.0)


def test_accuracy_may_be_0_and_may_not_be_missing():
    assert judge_difference([0.0] * 6, [0.0] * 6).outcome == Outcome.SAME
    with pytest.raises(ValueError, match=r"scores must be numbers, got nan\."):
        judge_difference([0.0], [math.nan])
    with pytest.raises(ValueError, match="baseline has 1 blocks, candidate 0"):
        judge_difference([0.0], [])


@pytest.mark.parametrize("blocks", range(MIN_BLOCKS))
def test_fewer_than_six_blocks_of_accuracy_are_undecided(blocks):
    judged = judge_difference([10.0] * blocks, [90.0] * blocks)
    assert (judged.outcome, judged.low) == (Outcome.UNDECIDED, None)


@pytest.mark.parametrize("blocks", [6, 7, 10, 15])
def test_95_percent_intervals_of_accuracy_cover_the_truth(blocks):
    """Accuracy swings from block to block (the seed), and at times training fails."""
    rng = np.random.default_rng(blocks)
    seeds = rng.normal(70, 10, (SIMULATED, blocks))
    both = rng.standard_t(2, (2, SIMULATED, blocks))
    judged = [judge_difference(a, b) for a, b in zip(seeds + both[0], seeds + both[1] + 3, strict=True)]
    assert covered([(j.low, j.high) for j in judged], 3) >= MIN_COVERED


def test_expected_false_verdicts_grow_with_their_number():
    assert expected_false(0) == 0
    assert expected_false(40) == pytest.approx(2.0)
