"""The turns of a convolution, with a made-up one and a clock that only it advances."""

from __future__ import annotations

import pytest

from fake_conv2d import FakeConvolution, Turns, seconds, timed
from trainspeed.worker.convolution.calls import (
    KEPT,
    KERNEL,
    count_in,
    kept,
)
from trainspeed.worker.events import TakeTurn


@pytest.mark.parametrize(
    ("one_s", "least", "calls"),
    [(0.125, 1, 8), (1e-5, 1, 10_000), (2.0, 1, 1), (2.0, 5, 5), (0.0, 2, 2)],
)
def test_a_turn_has_as_many_calls_as_fit_one_at_least_or_what_was_asked_for(one_s, least, calls):
    assert count_in(1.0, one_s, least) == calls


class SlowAfterRest(FakeConvolution):
    """Takes 1 s for its first call of a turn, and for the one before its staged calls, else 1/16 s."""

    rested = False

    def compute(self, sent):
        self._seconds = seconds(kernel=1.0 if self.rested else 1 / 16)
        self.rested = False
        return super().compute(sent)


def test_what_a_call_takes_longer_after_a_rest_is_timed_in_no_turn_and_in_no_stage(fake_clock):
    convolution = SlowAfterRest(fake_clock)
    gives = Turns([TakeTurn(calls=1)] * 4, convolution.log)

    def rest(**measured):
        convolution.rested = True
        return gives(**measured)

    def begin(stage):
        convolution.rested = stage == "warm"

    measured = timed(fake_clock, convolution, turns=rest, begin=begin)

    assert len(measured.call_s) == 4
    assert {*measured.call_s, *measured.resident_s, *measured.warm_s[KERNEL]} == {1 / 16}


class SlowAtFirst(FakeConvolution):
    """Takes 1 s for its first call and for its warm-up, then 1/16 s."""

    def compute(self, sent):
        self._seconds = seconds(kernel=1.0 if self.log.count("compute") < 2 else 1 / 16)
        return super().compute(sent)


def test_each_turn_makes_calls_by_the_pace_of_the_one_before(fake_clock):
    convolution = SlowAtFirst(fake_clock, transfers=False)
    turns = Turns([TakeTurn(calls=1, seconds=1.0)] * 3, convolution.log)
    timed(fake_clock, convolution, turns=turns)

    assert [len(measured.get("call_s", ())) for measured in turns.measured] == [0, 1, 16, 16]


def test_what_a_turn_measured_is_all_that_is_kept_and_a_warm_up_is_not(fake_clock):
    convolution = FakeConvolution(fake_clock)
    turns = Turns([TakeTurn(calls=2), TakeTurn(calls=3)], convolution.log)
    measured = timed(fake_clock, convolution, turns=turns)

    before, *each = turns.measured
    assert before == {}
    assert [len(one["call_s"]) for one in each] == [2, 3]
    assert measured.call_s == each[0]["call_s"] + each[1]["call_s"]
    assert measured.resident_s == each[0]["resident_s"] + each[1]["resident_s"]
    assert "send" in turns.logs[0][-3:], "a whole call came before the first turn"


def test_of_a_turn_with_thousands_of_calls_a_few_medians_are_kept():
    """A disturbed call changes none of them; their median is that of all."""
    seconds = [1.0] * 1000 + [2.0] * 1001
    seconds[7] = 99.0

    assert len(kept(seconds)) <= KEPT
    assert sorted({*kept(seconds)}) == [1.0, 2.0]
    assert kept([3.0, 1.0]) == (3.0, 1.0)
