"""How much of an exchange hides: on made-up seconds."""

import math

import pytest

from trainspeed.core.errors import UserError
from trainspeed.judge.overlap import Overlap, given_overlap, measured_overlap


def overlap(step_s, compute_s, exchange_s):
    """Return what is found of lists with a value for each block."""
    return measured_overlap(*(dict(enumerate(part)) for part in (step_s, compute_s, exchange_s)), devices=2)


@pytest.mark.parametrize(
    ("step_s", "share"),
    [
        (0.30, 0.0),  # one after the other
        (0.25, 0.5),
        (0.20, 1.0),  # all of it beside the computing
        (0.33, 0.0),  # longer than both: other costs, and nothing hides
        (0.19, 1.0),
    ],
)
def test_what_both_parts_take_longer_than_the_step_has_run_side_by_side(step_s, share):
    assert overlap([step_s], [0.2], [0.1]) == Overlap(share=pytest.approx(share), devices=2)


def test_six_blocks_give_an_interval():
    steps = [0.21, 0.22, 0.23, 0.24, 0.25, 0.26]
    found = overlap(steps, [0.2] * 6, [0.1] * 6)
    assert (found.share, found.low, found.high) == pytest.approx((0.65, 0.4, 0.9))
    assert found.words == "65 % (measured on 2 devices, 40 % to 90 %)"
    assert overlap(steps[:5], [0.2] * 5, [0.1] * 5).low is None


def test_blocks_are_taken_together_not_medians():
    """A machine that is slower in the second block is so in every part."""
    found = measured_overlap({0: 0.25, 1: 0.5, 2: 9.0}, {0: 0.2, 1: 0.4}, {1: 0.2, 0: 0.1}, devices=2)
    assert found.share == pytest.approx(0.5)


def test_parts_that_share_no_block_are_compared_by_their_medians():
    assert measured_overlap({1: 0.25}, {0: 0.2}, {2: 0.1}, devices=4).share == pytest.approx(0.5)


@pytest.mark.parametrize("missing", range(3))
def test_without_one_of_the_three_nothing_is_known(missing):
    parts = [[0.25], [0.2], [0.1]]
    parts[missing] = []
    assert overlap(*parts) is None


def test_an_exchange_that_is_lost_in_the_step_tells_nothing():
    assert overlap([1.0], [0.95], [0.09]) is None
    assert overlap([1.0], [0.95], [0.11]) is not None


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, "half"])
def test_what_is_given_must_be_a_share(share):
    with pytest.raises(UserError, match=r"forecast_overlap \(=.*\) must lie between 0 .* and 1"):
        given_overlap(share)
    assert given_overlap(None) is None
    assert given_overlap(0.5).words == "50 % (given)"
