"""Two sessions whose blocks are no pairs: the rank sum's interval, on times whose ratio is known."""

import math
import re

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from trainspeed.judge.verdict import EXACT_RATIOS, MIN_BLOCKS, Outcome, judge_unpaired, rank_sum_rank

SIMULATED = 2000
MIN_COVERED = 0.945  # 95 % less the sampling error of so many; with equal scatter more are covered
MIN_COVERED_UNEQUAL = 0.93  # where one side scatters ten times as much: 94 % less the same
TRUE_RATIO = 1.2
SIZES = [(6, 6), (6, 10), (9, 9), (15, 6), (20, 20)]


# The law.


@pytest.mark.parametrize(
    ("sizes", "critical"),
    [((6, 6), 5), ((7, 7), 8), ((8, 8), 13), ((10, 10), 23), ((6, 10), 11), ((20, 20), 127), ((5, 3), 0)],
)
def test_the_rank_is_one_above_the_printed_tables_critical_value(sizes, critical):
    """Of U, two-sided, 5 %; as in every table of Mann and Whitney's test."""
    assert rank_sum_rank(*sizes) == rank_sum_rank(*sizes[::-1]) == critical + 1


def test_too_few_to_be_sure_have_no_rank():
    assert rank_sum_rank(3, 3) == 0


@pytest.mark.parametrize("sizes", [(6, 6), (6, 9), (11, 7), (12, 12)])
def test_the_rank_agrees_with_scipys_exact_law(sizes):
    """Samples with exactly U pairs the other way round: 0, 1, 2, …"""
    count, other = sizes
    rank = 0
    while True:
        # Each of the first sample stands above as many of the second as to make U.
        above, rest = divmod(rank, other)
        first = [*([other + 0.5] * above), rest + 0.5, *([0.5] * count)][:count]
        first = np.array(first) + np.linspace(0, 0.1, count)
        if mannwhitneyu(first, np.arange(1, other + 1), method="exact").pvalue > 0.05:
            break
        rank += 1
    assert rank_sum_rank(*sizes) == rank


def test_the_approximation_for_many_blocks_joins_the_exact_count():
    exact = rank_sum_rank(100, 100)
    assert EXACT_RATIOS == 100 * 100
    approximated = rank_sum_rank(100, 101)
    spread = math.sqrt(100 * 101 * 202 / 12)
    assert approximated == pytest.approx(100 * 101 / 2 - 1.96 * spread, abs=1)
    assert 0 < approximated - exact < 50  # one value more moves it by about 42


# The judgement.


def test_the_speed_up_is_the_middle_of_all_ratios():
    judged = judge_unpaired([2.0, 4.0, 8.0], [1.0])
    assert judged.speedup == 4.0
    assert judge_unpaired([2.0, 8.0], [1.0]).speedup == pytest.approx(4.0), "on a log scale"


def test_equal_times_have_an_interval_of_no_width():
    judged = judge_unpaired([2.0] * 6, [1.0] * 9)
    assert (judged.speedup, judged.low, judged.high) == (2.0, 2.0, 2.0)
    assert (judged.outcome, judged.blocks) == (Outcome.FASTER, 6)


def test_the_order_of_the_blocks_does_not_matter():
    a, b = [1.3, 1.1, 1.2, 1.5, 1.4, 1.25], [1.0, 0.9, 1.1, 0.95, 1.05, 1.02, 0.97]
    assert judge_unpaired(a, b) == judge_unpaired(sorted(a), b[::-1])


def test_seen_from_the_other_side_the_outcome_is_turned_round():
    a, b = [1.3, 1.1, 1.2, 1.5, 1.4, 1.25], [1.0, 0.9, 1.1, 0.95, 1.05, 1.02, 0.97]
    there, back = judge_unpaired(a, b), judge_unpaired(b, a)
    assert (there.outcome, back.outcome) == (Outcome.FASTER, Outcome.SLOWER)
    assert (back.low, back.high) == pytest.approx((1 / there.high, 1 / there.low))


def test_six_and_six_blocks_end_at_the_sixth_ratio():
    a, b = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0], [1.0] * 6
    judged = judge_unpaired(a, b)
    assert (judged.low, judged.high) == (1.0, 32.0), "against an exact side: the sign test's, of six blocks"


@pytest.mark.parametrize("blocks", [(0, 0), (0, 9), (1, 1), (5, 20), (20, 5)])
def test_too_few_blocks_on_a_side_are_undecided_without_an_interval(blocks):
    judged = judge_unpaired([2.0] * blocks[0], [1.0] * blocks[1])
    assert (judged.outcome, judged.low, judged.high) == (Outcome.UNDECIDED, None, None)
    assert judged.blocks == min(blocks) < MIN_BLOCKS
    assert judged.speedup == (2.0 if min(blocks) else None)


@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [
        (1.0201, Outcome.FASTER),
        (1.02, Outcome.SAME),
        (1 / 1.02, Outcome.SAME),
        (1 / 1.0201, Outcome.SLOWER),
    ],
)
def test_the_margin_itself_is_still_the_same(ratio, outcome):
    assert judge_unpaired([ratio] * 6, [1.0] * 6).outcome == outcome


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([1.0, 0.0], [1.0], "baseline_s must be positive seconds, got 0.0."),
        ([1.0], [math.nan], "candidate_s must be positive seconds, got nan."),
    ],
)
def test_a_mistake_is_told_with_its_value(a, b, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        judge_unpaired(a, b)


# The nominal confidence.


def lognormal(rng, shape):
    return rng.lognormal(0, 0.1, shape)


def skewed(rng, shape):
    """Never faster than the machine can, at times much slower; its median is 1."""
    return (1 + rng.exponential(0.2, shape)) / (1 + 0.2 * math.log(2))


def outliers(rng, shape):
    """One run in ten takes five times as long."""
    return lognormal(rng, shape) * np.where(rng.random(shape) < 0.1, 5, 1)


def quiet(rng, shape):
    return rng.lognormal(0, 0.02, shape)


def noisy(rng, shape):
    return rng.lognormal(0, 0.2, shape)


def covered(noises, sizes, judge=judge_unpaired):
    rng = np.random.default_rng([*sizes, len(noises[0].__name__), len(noises[1].__name__)])
    a = TRUE_RATIO * noises[0](rng, (SIMULATED, sizes[0]))
    b = noises[1](rng, (SIMULATED, sizes[1]))
    judged = [judge(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    return np.mean([j.low <= TRUE_RATIO <= j.high for j in judged])


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("noise", [lognormal, skewed, outliers])
def test_95_percent_intervals_cover_the_truth_in_95_of_100(noise, sizes):
    assert covered((noise, noise), sizes) >= MIN_COVERED


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("noises", [(quiet, noisy), (noisy, quiet), (quiet, skewed), (skewed, quiet)])
def test_a_side_that_scatters_ten_times_as_much_costs_at_most_2_of_100(noises, sizes):
    """A quiet server against a busy laptop. The rank sum's law alone covers 79 to 85 of 100 here."""
    assert covered(noises, sizes) >= MIN_COVERED_UNEQUAL


def test_the_check_of_coverage_can_fail(monkeypatch):
    """With the rank sum's law alone."""
    monkeypatch.setattr("trainspeed.judge.verdict._ratio_rank", rank_sum_rank)
    assert covered((noisy, quiet), (6, 10)) < MIN_COVERED_UNEQUAL


def test_a_large_effect_is_found_in_six_noisy_blocks():
    rng = np.random.default_rng(0)
    a, b = 2 * lognormal(rng, (SIMULATED, 6)), lognormal(rng, (SIMULATED, 6))
    judged = [judge_unpaired(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert np.mean([j.outcome == Outcome.FASTER for j in judged]) > 0.99
