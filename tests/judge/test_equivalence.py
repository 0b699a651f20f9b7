"""Accuracy is kept where that is proved, not where a loss is not."""

import random

import pytest

from trainspeed.judge.equivalence import Equality, equality_of, is_uneven
from trainspeed.judge.text import accuracy_in_words, measured
from trainspeed.judge.verdict import Outcome, judge_difference

BLOCKS = 9
UNEVEN = (61.0, 87.0, 88.0, 88.0, 91.0, 86.0)  # of a report: what 14 epochs of 64 images have learned


def equality(differences, margin=0.5):
    """Return what is said of these differences, in points."""
    return equality_of(judge_difference([80.0] * len(differences), [80 + d for d in differences]), margin)


def passed(draws, loss, spread, *, margin=0.5, seed=0):
    """Return the share of simulated comparisons that call a loss of so many points none."""
    draw = random.Random(seed)
    said = [equality([draw.gauss(-loss, spread) for _ in range(BLOCKS)], margin) for _ in range(draws)]
    return said.count(Equality.EQUAL) / draws


def test_a_whole_interval_above_the_margin_is_equal():
    assert equality([-0.2, -0.1, 0.0, 0.1, 0.2, 0.3]) is Equality.EQUAL


def test_learning_more_is_no_fault():
    assert equality([3.0] * BLOCKS) is Equality.EQUAL


def test_noise_is_not_taken_for_equal():
    """A test for a difference finds none here, and would pass it."""
    assert equality([-4.0, 4.0, -3.0, 3.0, -2.0, 2.0, -1.0, 1.0, 0.0]) is Equality.OPEN


def test_a_whole_interval_below_the_margin_is_worse():
    assert equality([-0.8, -0.7, -0.9, -1.2, -0.6, -0.8]) is Equality.WORSE


def test_too_few_blocks_leave_it_open():
    assert equality([0.0] * 5) is Equality.OPEN


def test_what_was_not_compared_is_not_checked():
    assert equality_of(None) is equality([]) is Equality.UNCHECKED


@pytest.mark.parametrize("spread", [0.05, 0.5, 3.0])
def test_passes_one_in_forty_that_lose_the_margin(spread):
    """At the margin itself the error is largest: 1.95 % with the sign interval of 9 blocks, whatever the spread."""
    assert passed(4000, 0.5, spread) == pytest.approx(0.0195, abs=0.007)


def test_passes_fewer_that_lose_more():
    assert passed(2000, 1.0, 0.5) < 0.002


def test_passes_what_is_equal_where_blocks_agree():
    assert passed(1000, 0.0, 0.2) > 0.95


def test_an_interval_that_ends_at_the_margin_is_within_it_for_the_outcome_and_the_equality():
    """Of 200 held-out images one is half a point, and 81.5 - 81 in floating point may be less or more."""
    hits = [(162, 161), (163, 162), (170, 169), (151, 152), (150, 151), (149, 149)]
    judgement = judge_difference([100 * (a / 200) for a, _ in hits], [100 * (b / 200) for _, b in hits])

    assert (judgement.low, judgement.high) == (-0.5, 0.5)
    assert judgement.outcome is Outcome.SAME and equality_of(judgement) is Equality.EQUAL
    assert measured(judgement, "accuracy").endswith("the same within 0.5 points")


def test_needs_a_margin():
    with pytest.raises(ValueError, match="must be more than 0 points"):
        equality([0.0] * 6, margin=0.0)


def beside_uneven(*differences, baseline=UNEVEN):
    """Return the judgement of candidates that differ so from a baseline that differs from itself."""
    return judge_difference(baseline, [score + d for score, d in zip(baseline, differences, strict=True)])


def test_one_end_of_a_wide_interval_is_no_proof_where_the_baseline_is_uneven():
    judgement = beside_uneven(23.1, -0.3, 2.0, 2.4, 0.5, 3.0)

    assert judgement.low > -0.5 and judgement.baseline_range == 30
    assert is_uneven(judgement) and equality_of(judgement) is Equality.OPEN
    assert accuracy_in_words(judgement) == "undecided"
    assert "differs by up to 30 points from block to block" in measured(judgement, "accuracy")
    assert "measure more blocks" not in measured(judgement, "accuracy")


def test_the_same_differences_beside_an_even_baseline_are_proof():
    judgement = beside_uneven(23.1, -0.3, 2.0, 2.4, 0.5, 3.0, baseline=(70.0, 72.0, 75.0, 78.0, 80.0, 74.0))
    assert not is_uneven(judgement) and equality_of(judgement) is Equality.EQUAL


def test_pairs_that_agree_make_up_for_an_uneven_baseline():
    assert equality_of(beside_uneven(0.0, 0.1, -0.2, 0.3, 0.0, 0.2)) is Equality.EQUAL


def test_a_loss_in_every_block_is_one_however_uneven_the_baseline():
    assert equality_of(beside_uneven(-1.0, -9.0, -20.0, -2.0, -0.6, -4.0)) is Equality.WORSE


def test_a_wider_margin_bears_a_baseline_that_differs_more():
    judgement = beside_uneven(23.1, -0.3, 2.0, 2.4, 0.5, 3.0)
    assert equality_of(judgement, 2.0) is Equality.EQUAL
