"""The meter on a real GPU: what it reads while a product of matrices runs, against the driver's own samples."""

from __future__ import annotations

import os

import pytest

from gpu_environment import told_by
from trainspeed.worker.meter import ANY_FAULT_OF_HARDWARE, FAULTS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]


@pytest.fixture(scope="module")
def told():
    """What the probe saw of the GPU that torch takes first."""
    return told_by("torch", "probes.gpu_meter_probe")


def test_the_energy_of_a_busy_span_is_its_power_times_its_time(told):
    if None in (told["energy_j"], told["power_w"]):
        pytest.skip("this GPU has no energy counter or does not tell its power")
    assert told["metered_s"] == pytest.approx(told["busy_s"], rel=0.1)
    assert told["energy_j"] / told["metered_s"] == pytest.approx(told["power_w"], rel=0.15)


def test_the_clock_of_a_busy_gpu_is_known_and_what_holds_it_down(told):
    assert told["sm_clock_mhz"] > 0
    assert told["throttle_reasons"] is not None


def test_a_busy_gpu_that_nobody_else_uses_is_not_shared(told):
    """Its own process is known by its number, or nobody is."""
    kinds = {kind for kind, _ in told["notes"]}
    reasons = {reason for kind, reason in told["notes"] if kind == "gpu_slowed_down"}

    assert "gpu_shared" not in kinds
    assert reasons <= {*FAULTS, ANY_FAULT_OF_HARDWARE}


def test_memory_that_is_taken_is_counted(told):
    assert told["taken_bytes"] == pytest.approx(told["held_bytes"], rel=0.05)
