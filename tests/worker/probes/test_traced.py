"""Epochs by the timer of a made-up device, as its profiler tells it: a clock that is read too early is found.

The device works through its queue while the host goes on.
"""

from __future__ import annotations

import pytest

from trainspeed.core.probe import Probe
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge import check_time
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.kernels import Kernel
from trainspeed.worker.probes.traced import EPOCHS, traced_epochs
from trainspeed.worker.timing import time_epochs

EPOCH_S, HOST_S, MARK_S = 1.0, 0.1, 1e-5
LINE = {"epoch_s": (1.1,) * 9, "leftover_s": (0.0,) * 9, "queued_s": 0.0, "unwaited_s": 1.0, "device": "gpu"}


class Device:
    """A queue of kernels, and a profile of them."""

    def __init__(self, clock) -> None:
        self.clock, self.free_at, self.ran = clock, clock(), []

    def queue(self, name, seconds):
        begins = max(self.free_at, self.clock())
        self.ran.append(Kernel(name, 1e9 * begins, 1e9 * seconds))
        self.free_at = begins + seconds

    def wait(self):
        self.clock.advance(max(0.0, self.free_at - self.clock()))

    def trace(self, work):
        self.ran.clear()
        work()
        return list(self.ran)


class Training:
    """As the instrument trains: some time passes on the host in each epoch, and kernels run between epochs, too."""

    def __init__(self, device) -> None:
        self.device = device

    def train(self, another):
        self.device.queue("reset", 0.001)
        return time_epochs(self._epoch, self.synchronize, another=another, clock=self.device.clock)

    def _epoch(self):
        self.device.clock.advance(HOST_S)
        self.device.queue("gemm", EPOCH_S)


@pytest.fixture
def device(fake_clock):
    return Device(fake_clock)


@pytest.fixture
def traced(device):
    """A function that measures; its wait, mark and profiler can be others."""

    def measure(**changed):
        usual = {"wait": device.wait, "mark": lambda: device.queue("sine", MARK_S), "trace": device.trace}
        return traced_epochs(Training(device), **(usual | changed))

    return measure


def line_of(values):
    """Return the line of the check that says whether the device is waited for."""
    values = LINE | {"device_s": None} | values
    trial = Probe(framework="jax", name="epoch")
    (check,) = check_time.waits_for_device(
        RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
    )
    return check


def test_the_wall_clock_agrees_where_the_device_is_waited_for(traced):
    """Time on the host is in both; that another epoch took longer, without the profiler, does not matter."""
    values = traced()

    assert len(values["traced_s"]) == len(values["device_s"]) == EPOCHS - 1
    assert values["device_s"] == pytest.approx((EPOCH_S + HOST_S,) * 9, rel=1e-3)
    check = line_of(values)
    assert check.outcome is CheckOutcome.OK
    assert "of the time by the device's own timer (the framework's profiler)" in check.measured


def test_a_clock_that_is_read_before_the_device_is_done_is_found(traced):
    assert line_of(traced(wait=lambda: None)).outcome is CheckOutcome.NOT_OK


def no_profiler(work):
    raise RuntimeError("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES")


@pytest.mark.parametrize(
    ("changed", "why", "words"),
    [
        ({"trace": no_profiler}, "RuntimeError", "not known, the profiler ended with RuntimeError"),
        ({"trace": lambda work: work() or []}, "nothing_seen", "not known, the profiler saw none of it"),
        ({"mark": lambda: None}, "nothing_seen", "not known, the profiler saw none of it"),
    ],
)
def test_a_profiler_that_tells_nothing_costs_the_timer_and_nothing_else(traced, changed, why, words):
    values = traced(**changed)

    assert values == {"timer_unknown": why}
    check = line_of(values)
    assert check.outcome is CheckOutcome.OK and f"the device's own timer: {words}" in check.measured


def test_which_timer_it_was_is_said_and_older_runs_do_not_know():
    by_events = {"device_s": LINE["epoch_s"], "timer": "cuda_events"}
    assert "the device's own timer (CUDA events)" in line_of(by_events).measured
    by_events.pop("timer")
    assert line_of(by_events).measured.endswith(
        "by the device's own timer; work that was queued and not waited for was noticed"
    )
