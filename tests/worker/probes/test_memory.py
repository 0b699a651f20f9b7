"""Memory that is planted, on this CPU and on a made-up GPU; each fault of the meters is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fake_nvml import NOT_SUPPORTED, FakeGpu, FakeNvml, install
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge import check_memory
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.probes import Surroundings
from trainspeed.worker.probes.memory import PLANTED_BYTES, measure_memory

OK, NOT_OK, UNDECIDED, NOT_APPLICABLE = (
    CheckOutcome.OK,
    CheckOutcome.NOT_OK,
    CheckOutcome.UNDECIDED,
    CheckOutcome.NOT_APPLICABLE,
)
GPU, OTHER, INSTANCE = "GPU-aaaa-1", "GPU-bbbb-2", "MIG-cccc-3"
MEMORY = Run(session="s", study="check", trial=Probe(framework="torch", name="memory"), block=0)


class Device:
    """A GPU with an allocator; `blind` is a meter that does not see what is allocated."""

    def __init__(self, *, blind=None, left_below_peak_bytes=0) -> None:
        self.blind, self.used_bytes = blind, 0
        self.highest_bytes = left_below_peak_bytes

    def allocate(self, size_bytes):
        self.used_bytes += size_bytes
        self.highest_bytes = max(self.highest_bytes, self.used_bytes)
        return bytearray(1)

    def peak_bytes(self):
        return 0 if self.blind == "peak" else self.highest_bytes

    def memory(self):
        """Return what the driver tells of it: others hold some of it, too."""
        used_bytes = 0 if self.blind == "driver" else self.used_bytes
        return {"total": 2**36, "reserved": 0, "used": 2**30 + used_bytes, "free": 0}


@pytest.fixture
def outcome(monkeypatch):
    """A function that measures on a made-up GPU beside another one and returns the outcome."""

    def measure(*, uuid=GPU, answer=None, **fault):
        device = Device(**fault)
        memory = {
            "nvmlDeviceGetMemoryInfo_v2": answer or device.memory,
            "nvmlDeviceGetMemoryInfo": NOT_SUPPORTED,
        }
        one = FakeGpu(uuid=uuid, **memory)
        gpus = [FakeGpu(uuid=GPU, mig=[one])] if uuid == INSTANCE else [one]
        install(monkeypatch, FakeNvml(FakeGpu(uuid=OTHER), *gpus))
        where = Surroundings(backend=None, device="gpu", gpu_uuids=(uuid, OTHER))
        return judged(measure_memory(where, device.allocate, device.peak_bytes))

    return measure


def judged(values):
    (check,) = check_memory.is_seen(RunSet((replace(MEMORY, probe=values),)))
    return check.outcome


def test_memory_of_this_process_is_seen():
    where = Surroundings(backend=None, device="cpu")
    values = measure_memory(where, lambda size: np.ones(size, np.uint8), lambda: None)
    assert values["used_bytes"] is None
    if values["peak_bytes"] is not None:  # Linux
        assert judged(values) is OK


def test_memory_that_the_instrument_misses_is_found():
    assert (
        judged({"planted_bytes": PLANTED_BYTES, "peak_bytes": PLANTED_BYTES // 2, "used_bytes": None})
        is NOT_OK
    )


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({}, OK),
        ({"left_below_peak_bytes": PLANTED_BYTES // 2}, OK),
        ({"blind": "peak"}, NOT_OK),
        ({"blind": "driver"}, NOT_OK),
        ({"uuid": INSTANCE}, OK),
        ({"uuid": INSTANCE, "blind": "driver"}, NOT_OK),
        ({"answer": NOT_SUPPORTED}, OK),  # by the peak alone
        ({"answer": NOT_SUPPORTED, "blind": "peak"}, NOT_OK),
    ],
    ids=[
        *("right", "a model that is gone", "a blind peak", "a driver of another GPU"),
        *("an instance", "a driver of another instance", "no driver's count", "neither"),
    ],
)
def test_on_a_gpu_the_allocator_and_the_driver_see_it(outcome, fault, expected):
    assert outcome(**fault) is expected


def test_where_no_peak_can_be_read_nothing_is_wrong():
    values = {"planted_bytes": PLANTED_BYTES, "peak_bytes": None, "used_bytes": None}
    assert judged(values) is NOT_APPLICABLE


def full(status=Status.OOM, **more):
    return Run(
        session="s",
        study="check",
        trial=Probe(framework="torch", name="oom"),
        block=0,
        status=status,
        reason="no memory",
        started_at="2026-11-20T10:00:00Z",
        **more,
    )


def after(status=Status.OK):
    reason = None if status is Status.OK else "illegal access"
    return replace(MEMORY, status=status, reason=reason, started_at="2026-11-20T10:00:05Z")


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ((full(), after()), OK),
        ((after(), full()), OK),  # whatever the order in the ledger
        ((full(), after(Status.CRASHED)), NOT_OK),
        ((full(Status.CRASHED), after()), NOT_OK),
        ((full(Status.OK), after()), NOT_OK),
        ((full(),), UNDECIDED),
        ((full(Status.UNSUPPORTED), after()), NOT_APPLICABLE),
    ],
    ids=[
        "right",
        "in any order",
        "the next one dies",
        "it crashes",
        "it fits",
        "nothing after",
        "cannot run",
    ],
)
def test_running_out_of_memory_is_a_row_and_harms_no_other_run(runs, expected):
    (check,) = check_memory.running_out_is_a_row(RunSet(runs))
    assert check.outcome is expected
