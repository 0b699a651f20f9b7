"""How a convolution is timed, with a made-up one and a clock that only it advances."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import FakeClock
from fake_conv2d import FILTERS, IMAGES, SECONDS, FakeConvolution, Turns, seconds, timed
from trainspeed.core.convolution import FIRST_STAGES
from trainspeed.worker.convolution import calls as module
from trainspeed.worker.convolution.calls import (
    FROM_DEVICE,
    GATHER,
    KERNEL,
    MAX_TOGETHER,
    STAGES,
    TO_DEVICE,
    gather,
    repeat,
    time_calls,
)
from trainspeed.worker.convolution.reference import WrongResult, check_result, convolve
from trainspeed.worker.events import TakeTurn

TICK_S = 1 / 1024


class TickingClock(FakeClock):
    """Each look at it takes a moment: what is timed by two looks loses none."""

    def __call__(self) -> float:
        self.advance(TICK_S)
        return self.now


# The first call.


@pytest.mark.parametrize("transfers", [True, False])
def test_the_stages_of_a_first_call_begin_in_order(fake_clock, transfers):
    """The library was imported before: by the worker."""
    begun = []
    timed(fake_clock, FakeConvolution(fake_clock, transfers=transfers), begin=begun.append)

    assert begun == [*FIRST_STAGES, "check", "warm"]
    assert begun == ["context", "to_device", "kernel", "from_device", "gather", "check", "warm"]


def test_each_cold_stage_holds_its_own_work_and_the_wait_for_it(fake_clock):
    """A stage that only queued its work would leave it to the next."""
    convolution = FakeConvolution(fake_clock, queues=True)
    begun = []
    timed(fake_clock, convolution, begin=lambda stage: begun.append((stage, fake_clock.now)))

    durations = {stage: end - start for (stage, start), (_, end) in pairwise(begun) if stage in SECONDS}
    assert durations == SECONDS


def test_devices_are_listed_and_set_up_in_the_stage_that_is_named_for_it(fake_clock):
    """Where a library lists its GPUs as it makes the convolution, these seconds belong to its first call."""
    begun = []

    def make():
        fake_clock.advance(2.0)
        return FakeConvolution(fake_clock)

    time_calls(
        make,
        IMAGES,
        FILTERS,
        rest=lambda **measured: None,
        begin=lambda stage: begun.append((stage, fake_clock.now)),
        check=lambda result: None,
        clock=fake_clock,
    )

    (first, started), (_, ended) = begun[:2]
    assert (first, ended - started) == ("context", 2.0)


def test_what_is_checked_is_the_whole_result_of_the_first_call(fake_clock):
    """The result holds the shares of all devices, in the order of the images."""
    checked = []
    timed(fake_clock, FakeConvolution(fake_clock, devices=2), check=checked.append)

    (result,) = checked
    assert np.array_equal(result, convolve(IMAGES, FILTERS).astype(np.float32))


def test_where_it_was_computed_is_looked_up_before_the_warm_calls_and_in_none_of_the_stages(fake_clock):
    """Looking it up may compute once more."""
    convolution = FakeConvolution(fake_clock)
    measured = timed(fake_clock, convolution, begin=convolution.log.append)

    assert measured.placement == "CPU:0"
    assert convolution.log.count("placement") == 1
    at = convolution.log.index("placement")
    assert convolution.log[at - 1 : at + 2] == ["check", "placement", "warm"]


def test_a_wrong_result_ends_the_run_before_any_warm_call(fake_clock):
    convolution = FakeConvolution(fake_clock)
    wrong = FILTERS[::-1, ::-1]

    with pytest.raises(WrongResult):
        timed(
            fake_clock,
            convolution,
            begin=convolution.log.append,
            check=lambda result: check_result(result, IMAGES, wrong),
        )

    assert convolution.log[-2:] == ["gather", "check"]
    assert convolution.log.count("compute") == 1


# Warm calls, stage by stage.

COSTS = st.integers(0, 512).map(lambda n: n / 1024)


@settings(derandomize=True, deadline=None, max_examples=25)
@given(to_device=COSTS, kernel=COSTS, from_device=COSTS, gathering=COSTS, queues=st.booleans())
def test_the_warm_stages_add_up_to_the_staged_call(to_device, kernel, from_device, gathering, queues):
    """Exactly, though the clock goes on while it is read: one stage ends when the next begins."""
    clock = TickingClock()
    convolution = FakeConvolution(clock, seconds=seconds(to_device, kernel, from_device), queues=queues)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "gather", lambda shares: clock.advance(gathering))
        warm_s = timed(clock, convolution).warm_s

    work_s = to_device + kernel + from_device + gathering
    sums = [sum(stages) for stages in zip(*warm_s.values(), strict=True)]
    assert sums == [work_s + len(STAGES) * TICK_S] * len(sums)
    assert set(warm_s[GATHER]) == {gathering + TICK_S}


@pytest.mark.parametrize(("kernel_s", "counted"), [(1 / 64, 7), (1 / 16, 3), (1.0, 1)])
def test_a_few_calls_are_timed_stage_by_stage_unless_one_is_very_long(fake_clock, kernel_s, counted):
    convolution = FakeConvolution(fake_clock, seconds=seconds(kernel=kernel_s))
    assert timed(fake_clock, convolution).warm_s[KERNEL] == [kernel_s] * counted


def test_the_first_call_that_waits_after_each_stage_is_not_timed(fake_clock):
    """In Keras it took as long as two, though a whole call came before it."""
    convolution = FakeConvolution(fake_clock, seconds=seconds(kernel=1 / 64))
    fetch, fetched = convolution.fetch, []

    def slow_once(computed):
        fetched.append(computed)
        fake_clock.advance(0.5 if len(fetched) == 3 else 0.0)
        return fetch(computed)

    convolution.fetch = slow_once
    assert set(timed(fake_clock, convolution).warm_s[FROM_DEVICE]) == {0.0}


@pytest.mark.parametrize("queues", [True, False])
def test_the_devices_work_is_charged_to_the_stage_that_began_it(fake_clock, queues):
    """A device that queues and returns at once is waited for: none of its work lands in the way back."""
    measured = timed(fake_clock, FakeConvolution(fake_clock, queues=queues))

    assert {stage: set(times) for stage, times in measured.warm_s.items()} == {
        TO_DEVICE: {SECONDS[TO_DEVICE]},
        KERNEL: {SECONDS[KERNEL]},
        FROM_DEVICE: {SECONDS[FROM_DEVICE]},
        GATHER: {0.0},
    }
    assert set(measured.resident_s) == {SECONDS[KERNEL]}
    assert set(measured.call_s) == {sum(SECONDS.values())}


def test_a_whole_call_waits_for_nothing_but_its_result(fake_clock):
    """So that a device may compute while the next thing is queued, as in real use."""
    convolution = FakeConvolution(fake_clock, queues=True)
    turns = Turns([TakeTurn(calls=3)], convolution.log)
    timed(fake_clock, convolution, turns=turns)

    assert turns.logs[1][:12] == ["send", "compute", "fetch"] * 4, "one that is not timed, and three"


def test_without_transfers_there_are_whole_calls_only(fake_clock):
    measured = timed(fake_clock, FakeConvolution(fake_clock, transfers=False))

    assert (measured.warm_s, measured.resident_s) == ({}, ())
    assert len(measured.call_s) > 1


# Calls whose data stay on the device.


@pytest.mark.parametrize(
    ("kernel_s", "together"),
    [(1 / 64, 3), (1 / 1024, 51), (1 / 16, 1), (1.0, 1), (1 / 65536, MAX_TOGETHER), (0.0, MAX_TOGETHER)],
)
def test_calls_that_stay_on_the_device_are_timed_together_and_divided_by_their_number(
    fake_clock, kernel_s, together
):
    """About 50 ms of them, at least one and at most 100, and one wait at the end of each group."""
    convolution = FakeConvolution(fake_clock, seconds=seconds(kernel=kernel_s), queues=True)
    turns = Turns([TakeTurn(calls=3)], convolution.log)
    measured = timed(fake_clock, convolution, turns=turns)

    assert measured.resident_s == (kernel_s,)
    assert turns.logs[1][12:] == ["compute"] * together + ["wait"], "after four whole calls"


# How many calls.


@pytest.mark.parametrize(
    ("call_s", "calls", "made"),
    [
        (1 / 1024, 10, 10),  # all that were asked for
        (0.0, 10, 10),
        (1 / 8, 10, 2),  # 1/4 s is the first sum beyond 0.2 s
        (1 / 16, 3, 3),
        (60.0, 10, 1),  # one at least
    ],
)
def test_a_loop_ends_when_its_time_or_its_number_is_reached(fake_clock, call_s, calls, made):
    times = repeat(lambda: fake_clock.advance(call_s), calls, fake_clock, 0.2)

    assert times == [call_s] * made


def test_a_slow_way_to_the_device_leaves_few_staged_calls(fake_clock):
    slow_way = FakeConvolution(fake_clock, seconds=seconds(to_device=1.0, kernel=1 / 1024))

    assert [len(times) for times in timed(fake_clock, slow_way).warm_s.values()] == [1] * len(STAGES)


def test_shares_are_gathered_in_their_order_and_a_single_one_is_not_copied():
    shares = [IMAGES[:1], IMAGES[1:]]

    assert np.array_equal(gather(shares), IMAGES)
    assert gather([IMAGES]) is IMAGES
