"""Accuracy is kept where that is proved, not where a loss is not."""

import random

import pytest

from trainspeed.judge.equivalence import Equality, equality_of
from trainspeed.judge.verdict import judge_difference

BLOCKS = 9


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


def test_needs_a_margin():
    with pytest.raises(ValueError, match="must be more than 0 points"):
        equality([0.0] * 6, margin=0.0)
