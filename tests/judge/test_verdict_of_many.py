"""Several judgements of which any one may decide: each as one of so many."""

import random

import pytest

from trainspeed.judge.verdict import (
    Outcome,
    confidence_of_each,
    fewest_blocks,
    judge,
    judge_difference,
    median_interval,
)

RATIOS = (1.03, 1.05, 1.04, 1.06, 1.01, 1.05, 1.04, 1.05, 1.015, 1.04, 1.05, 1.07)


def times(ratios):
    return judge(list(ratios), [1.0] * len(ratios))


def test_one_of_many_has_the_interval_of_its_share_of_the_risk():
    alone = times(RATIOS)
    one = alone.one_of(5)

    assert one.confidence == pytest.approx(0.99)
    assert (one.low, one.high) == median_interval(RATIOS, 0.99) != (alone.low, alone.high)
    assert (one.speedup, one.blocks) == (alone.speedup, alone.blocks)
    assert alone.one_of(1) == alone


@pytest.mark.parametrize(
    ("ratios", "alone", "one_of_five"),
    [
        (RATIOS, Outcome.FASTER, Outcome.UNDECIDED),  # two blocks of twelve are within the margin
        ([1 / ratio for ratio in RATIOS], Outcome.SLOWER, Outcome.UNDECIDED),
        ([1.1] * 12, Outcome.FASTER, Outcome.FASTER),
        ([1.1] * 6, Outcome.FASTER, Outcome.UNDECIDED),  # 6 blocks are 96.9 % sure at most
        ([1.0] * 12, Outcome.SAME, Outcome.SAME),
    ],
)
def test_an_outcome_stays_or_becomes_undecided(ratios, alone, one_of_five):
    judged = times(ratios)

    assert (judged.outcome, judged.one_of(5).outcome) == (alone, one_of_five)
    turned = {Outcome.FASTER: Outcome.SLOWER, Outcome.SLOWER: Outcome.FASTER}
    assert judged.turned.one_of(5).outcome == turned.get(one_of_five, one_of_five)


def test_a_difference_of_accuracy_is_one_of_many_too():
    worse = judge_difference([90.0] * 12, [88.0] * 10 + [90.0] * 2)

    assert (worse.outcome, worse.one_of(5).outcome) == (Outcome.WORSE, Outcome.UNDECIDED)


@pytest.mark.parametrize("blocks", [9, 12])
def test_of_eight_against_themselves_one_is_called_faster_in_at_most_5_of_100(blocks):
    """By 95 % intervals it would be one in six times."""
    draw = random.Random(blocks)
    worlds = [[times([2 ** draw.gauss(0, 1) for _ in range(blocks)]) for _ in range(8)] for _ in range(400)]

    def share(outcomes_of):
        return sum(any(outcomes_of(one) == Outcome.FASTER for one in world) for world in worlds) / len(worlds)

    assert share(lambda one: one.one_of(8).outcome) <= 0.05 < share(lambda one: one.outcome)


@pytest.mark.parametrize(("chances", "blocks"), [(1, 6), (2, 7), (3, 7), (8, 9), (30, 11)])
def test_the_fewest_blocks_are_those_that_have_an_interval(chances, blocks):
    confidence = confidence_of_each(chances)

    assert fewest_blocks(confidence) == blocks
    assert median_interval(range(blocks), confidence) is not None
    assert blocks == 6 or median_interval(range(blocks - 1), confidence) is None
