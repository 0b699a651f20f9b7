"""The meter on a real GPU: what it reads while a product of matrices runs, against the driver's own samples."""

from __future__ import annotations

import os
import time
from contextlib import closing
from statistics import fmean

import pytest

from trainspeed.sensors.nvml import open_nvml
from trainspeed.worker.allocation import Allocation
from trainspeed.worker.meter import FAULTS, Meter

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
BUSY_S = 3.0


@pytest.fixture
def uuid():
    """Of the GPU that torch takes first: CUDA and NVML may count in another order."""
    torch = pytest.importorskip("torch")
    return f"GPU-{torch.cuda.get_device_properties(0).uuid}"


@pytest.fixture
def multiply():
    """A function that keeps the first GPU busy for a moment."""
    torch = pytest.importorskip("torch")
    matrix = torch.ones(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def multiply() -> None:
        for _ in range(20):
            torch.mm(matrix, matrix)
        torch.cuda.synchronize()

    multiply()
    return multiply


def test_the_energy_of_a_busy_span_is_its_power_times_its_time(multiply, uuid):
    with closing(open_nvml()) as nvml:
        gpu = next(gpu for gpu in nvml.gpus if gpu.uuid == uuid)
        meter, watts = Meter((uuid,), os.getpid()), []
        meter.begin()
        end = time.monotonic() + BUSY_S
        while time.monotonic() < end:
            multiply()
            watts.append(gpu.sample(pcie=False).power_w)
        meter.end()
        meter.close()

    if meter.energy_j is None or None in watts:
        pytest.skip("this GPU has no energy counter or does not tell its power")
    later = fmean(watts[len(watts) // 2 :])  # the driver's power is a mean over up to a second
    assert meter.metered_s == pytest.approx(BUSY_S, rel=0.1)
    assert meter.energy_j / meter.metered_s == pytest.approx(later, rel=0.15)
    assert meter.sm_clock_mhz > 0 and meter.throttle_reasons is not None


def test_a_busy_gpu_that_nobody_else_uses_is_not_shared(multiply, uuid):
    meter = Meter((uuid,), os.getpid())
    meter.begin()
    end = time.monotonic() + BUSY_S
    while time.monotonic() < end:
        multiply()
    meter.end()
    meter.close()

    kinds = {note.kind for note in meter.notes()}
    assert "gpu_shared" not in kinds
    assert {note.reason for note in meter.notes() if note.kind == "gpu_slowed_down"} <= {
        *FAULTS,
        "hw_slowdown",
    }


def test_memory_that_is_taken_is_counted(multiply, uuid):
    torch = pytest.importorskip("torch")
    allocation = Allocation((uuid,))
    held = torch.empty(2**30, dtype=torch.uint8, device="cuda")

    assert allocation.taken().taken_bytes == pytest.approx(held.nbytes, rel=0.05)
