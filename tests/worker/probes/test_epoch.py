"""An epoch by other clocks, on a made-up device: what is right is ok, and each planted fault is found.

The device works through its queue while the host goes on, so whoever does not wait reads the clock too early.
"""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from trainspeed.core.probe import ROUNDS, Probe
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge import check_time
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.probes.epoch import EPOCHS, Loops, measure_epochs
from trainspeed.worker.timing import time_epochs

EPOCH_S = 1.0
CHECKS = {
    "waits": check_time.waits_for_device,
    "bare": check_time.as_fast_as_bare_loop,
    "outside": check_time.agrees_with_stopwatch,
}


class Device:
    """A queue of work, and the host's clock."""

    def __init__(self, clock) -> None:
        self.clock, self.free_at = clock, clock()

    def queue(self, seconds: float) -> None:
        self.free_at = max(self.free_at, self.clock()) + seconds

    def wait(self) -> None:
        self.clock.advance(max(0.0, self.free_at - self.clock()))

    def leftover(self) -> float:
        before = self.clock()
        self.wait()
        return self.clock() - before


class Training:
    """As the instrument trains: it waits at both ends of an epoch, unless a fault is planted."""

    def __init__(
        self, device: Device, *, waits: bool = True, added_s: float = 0.0, speed: float = 1.0
    ) -> None:
        self.device, self.waits, self.added_s, self.speed = device, waits, added_s, speed

    def synchronize(self) -> None:
        if self.waits:
            self.device.wait()

    def _epoch(self) -> None:
        self.device.clock.advance(self.added_s)
        self.device.queue(EPOCH_S)
        self.device.clock.advance(0.01 * EPOCH_S)  # asking for it

    def train(self, another):
        clock = self.device.clock
        return time_epochs(self._epoch, self.synchronize, another=another, clock=lambda: self.speed * clock())


@pytest.fixture
def device(fake_clock):
    return Device(fake_clock)


@pytest.fixture
def values(device):
    """A function that measures on the made-up device, with a fault of the training, of the meter or of the timer."""

    def measure(*, blind=False, timer=None, device_kind="gpu", marks=True, others=0.0, **fault):
        def bare(epochs):
            seconds = []
            for _ in range(epochs):
                before = device.clock()
                device.queue(EPOCH_S)
                device.wait()
                seconds.append(device.clock() - before)
            return seconds

        @contextmanager
        def outside():
            moments = []
            watch = SimpleNamespace(mark=lambda: moments.append(device.clock()), spans_s=())
            yield watch
            spans = [end - begin for begin, end in zip(moments[::2], moments[1::2], strict=True)]
            watch.spans_s = tuple(spans) if marks else tuple(spans[1:])

        loops = Loops(
            training=Training(device, **fault),
            synchronize="synchronize",
            bare=bare,
            queue=lambda: device.queue(EPOCH_S),
            device_s=None if timer is None else lambda: [timer] * (EPOCHS * (1 + ROUNDS)),
        )
        leftover = (lambda: 0.0) if blind else device.leftover
        return measure_epochs(
            loops,
            device_kind,
            leftover=leftover,
            outside=outside,
            clock=device.clock,
            others=lambda: others * device.clock(),
        )

    return measure


def outcomes(values):
    """Return the outcome of each check of these values."""
    return {name: check(run_of(values))[0].outcome for name, check in CHECKS.items()}


def run_of(values):
    """Return the run of a probe with these values."""
    trial = Probe(framework="torch", name="epoch")
    return RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))


RIGHT = dict.fromkeys(CHECKS, CheckOutcome.OK)


def test_an_instrument_that_waits_and_adds_nothing_is_right(values):
    measured = values()
    assert measured["epoch_s"] == measured["outside_s"] == pytest.approx((EPOCH_S,) * ROUNDS * (EPOCHS - 1))
    assert measured["leftover_s"] == (0.0,) * ROUNDS and measured["device_s"] is None
    assert measured["unwaited_s"] == pytest.approx(EPOCH_S)
    assert outcomes(measured) == RIGHT


def test_a_step_that_is_not_waited_for_is_found(values):
    found = outcomes(values(waits=False))
    assert found["waits"] is CheckOutcome.NOT_OK and found["bare"] is CheckOutcome.NOT_OK


def test_what_the_instrument_adds_to_an_epoch_is_found(values):
    assert outcomes(values(added_s=0.05 * EPOCH_S)) == RIGHT | {"bare": CheckOutcome.NOT_OK}


def test_on_a_core_that_others_use_a_difference_may_be_the_schedulers(values):
    found = outcomes(values(added_s=0.05 * EPOCH_S, others=0.4))
    assert found["bare"] is CheckOutcome.UNDECIDED


def test_where_nobody_knows_who_had_the_core_a_difference_is_believed(values):
    measured = values(added_s=0.05 * EPOCH_S) | {"others_share": None}
    assert outcomes(measured)["bare"] is CheckOutcome.NOT_OK


def test_a_difference_is_no_less_a_fault_where_own_threads_wait_for_each_other(values):
    """As those of TensorFlow do on its one core: older versions took their waits for others'."""
    measured = values(added_s=0.05 * EPOCH_S) | {"waiting_share": (0.1,) * ROUNDS}
    assert outcomes(measured)["bare"] is CheckOutcome.NOT_OK


@pytest.mark.parametrize("factor", [0.9, 1.1])
def test_one_round_that_is_out_of_line_decides_nothing(values, factor):
    measured = values()
    *ours_s, last_s = measured["ours_s"]
    assert outcomes(measured | {"ours_s": (*ours_s, factor * last_s)}) == RIGHT


OTHERS = "other processes had its cores for"
HARDLY = "other processes hardly used its cores (0 % of the time); "


@pytest.mark.parametrize(
    ("others", "why", "scatters"),
    [
        (None, check_time.NOISY, False),
        ((0.3,) * ROUNDS, f"{OTHERS} 30 % of the time: {check_time.NOISY}", False),
        ((1.0,) * ROUNDS, f"{OTHERS} 100 % of the time: {check_time.NOISY}", False),
        (
            (-0.001,) * ROUNDS,
            f"{HARDLY}a busy other core, and caches and memory that cores share, are not ruled out: more rounds decide",
            True,
        ),
    ],
)
def test_what_is_undecided_blames_others_only_where_they_had_the_cores(values, others, why, scatters):
    ratios = (0.95, 0.95, 0.96, 1.0, 1.0, 1.0, 1.01, 1.02, 1.02)
    (check,) = check_time.as_fast_as_bare_loop(
        run_of(values() | {"bare_s": ratios, "ours_s": (1.0,) * 9, "others_share": others})
    )
    assert check.outcome is CheckOutcome.UNDECIDED and check.scatters is scatters
    assert (check.measured, check.expected) == ("1.000 (0.950 to 1.020) times as fast", "1, within 2 %")
    assert check.reason == why


def test_an_interval_that_reaches_beyond_a_bound_is_not_rounded_to_it(values):
    (check,) = check_time.as_fast_as_bare_loop(
        run_of(values() | {"bare_s": (1.01,) * 5 + (1.0204,) * 4, "ours_s": (1.0,) * 9})
    )
    assert (
        check.outcome is CheckOutcome.UNDECIDED and check.measured == "1.010 (1.010 to 1.021) times as fast"
    )


def test_a_clock_that_goes_wrong_is_found_by_the_stopwatch(values):
    found = outcomes(values(speed=0.9))
    assert found["outside"] is CheckOutcome.NOT_OK and found["waits"] is CheckOutcome.OK


def test_a_stopwatch_that_missed_a_mark_is_not_believed(values):
    assert outcomes(values(marks=False))["outside"] is CheckOutcome.NOT_OK


@pytest.mark.parametrize(("timer", "outcome"), [(1.0, CheckOutcome.OK), (1.1, CheckOutcome.NOT_OK)])
def test_the_devices_own_timer_is_believed_over_the_wall_clock(values, timer, outcome):
    assert outcomes(values(timer=timer * EPOCH_S))["waits"] is outcome


def test_a_meter_that_sees_no_queued_work_on_a_gpu_is_no_proof(values):
    """Where every call waits by itself, as on many a CPU, there is nothing to see."""
    assert outcomes(values(blind=True))["waits"] is CheckOutcome.NOT_OK
    assert outcomes(values(blind=True, device_kind="cpu"))["waits"] is CheckOutcome.OK


def test_noise_is_no_fault():
    """Half of the rounds were disturbed: nothing is decided by them."""
    noisy = {
        "epoch_s": (1.0,) * 8,
        "outside_s": (1.0, 1.1, 0.9, 1.0, 1.2, 0.8, 1.0, 1.0),
        "device_s": None,
        "ours_s": (1.0, 1.5, 1.0, 0.7, 1.3, 1.0, 0.9, 1.0),
        "bare_s": (1.0,) * 8,
        "leftover_s": (0.0, 0.1, 0.0, 0.0, 0.2, 0.0, 0.0, 0.3),
        "others_share": (0.0,) * 8,
        "queued_s": 1.0,
        "unwaited_s": 1.0,
        "device": "gpu",
    }
    assert outcomes(noisy) == dict.fromkeys(CHECKS, CheckOutcome.UNDECIDED)
