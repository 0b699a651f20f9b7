"""Blocks beside other processes: left out where enough are left, and else held against those that were left alone."""

from __future__ import annotations

import pytest

from trainspeed.judge.quiet import judge_quiet
from trainspeed.judge.text import blocks_in_words, leaning_of, measured
from trainspeed.judge.verdict import Outcome


def pairs(ratios):
    return {block: (ratio, 1.0) for block, ratio in enumerate(ratios)}


def test_where_six_blocks_were_left_alone_they_decide():
    judged = judge_quiet(pairs([1.0] * 6 + [1.5] * 3), disturbed={6, 7, 8})

    assert (judged.outcome, judged.blocks, judged.disturbed, judged.speedup) == (Outcome.SAME, 6, 3, 1.0)
    assert blocks_in_words(judged) == "6 of 9 blocks (others used the machine in the rest)"
    assert blocks_in_words(judge_quiet(pairs([1.0] * 6), disturbed=set())) == "6 blocks"


@pytest.mark.parametrize(
    ("alone", "outcome"), [(1.0, Outcome.UNDECIDED), (0.9, Outcome.UNDECIDED), (1.1, Outcome.FASTER)]
)
def test_blocks_left_alone_have_to_bear_out_what_all_say(alone, outcome):
    judged = judge_quiet(pairs([alone, *[1.2] * 9]), disturbed=set(range(1, 10)))

    assert judged.outcome is outcome
    assert judged.quiet_speedup == (None if outcome is Outcome.FASTER else alone)
    assert judged.turned.quiet_speedup == (None if outcome is Outcome.FASTER else 1 / alone)


def test_a_slower_one_has_to_be_borne_out_too():
    judged = judge_quiet(pairs([1.0, *[0.8] * 9]), disturbed=set(range(1, 10)))

    assert (judged.outcome, judged.quiet_speedup) == (Outcome.UNDECIDED, 1.0)
    assert judge_quiet(pairs([0.9, *[0.8] * 9]), disturbed=set(range(1, 10))).outcome is Outcome.SLOWER


def test_beside_what_always_runs_all_blocks_decide():
    assert judge_quiet(pairs([1.2] * 6), disturbed=set(range(6))).outcome is Outcome.FASTER


def test_the_words_say_what_it_is_where_others_left_it_alone():
    judged = judge_quiet(pairs([1.0, *[1.2] * 9]), disturbed=set(range(1, 10)))

    assert measured(judged).endswith("undecided; 1.00x where other processes left it alone: stop them")
    assert leaning_of(judged) == ""
