"""What a run may see of the GPUs, and what a backend that cannot use them leaves behind."""

import os
import time

import pytest

from fake_backend import FakeBackend
from fake_nvml import FakeGpu, FakeNvml, install
from fake_runs import EventsSent
from study_data import tiny_trial
from trainspeed.core.run import Status
from trainspeed.worker import measure as child
from trainspeed.worker.device_errors import fails_for_all
from trainspeed.worker.reach import GpuNotReached

UUID = "GPU-aaaa-1"
TRIAL = tiny_trial()


def ended(monkeypatch, backend, device, uuids=()):
    """Measure here and return the last event."""
    monkeypatch.setattr(child, "pin", lambda cores, aside: None)  # not the process of the tests
    monkeypatch.setattr(child, "limit_memory", lambda allowance: None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", f"GPU-other,{UUID}")
    install(monkeypatch, FakeNvml(FakeGpu(uuid=UUID, nvmlDeviceGetUtilizationRates={"gpu": 0, "memory": 0})))
    request = child.Request(trial=TRIAL, device=device, requested_at=time.monotonic(), gpu_uuids=uuids)
    channel = EventsSent()
    child.measure_trial(request, backend, None, channel)
    return channel.events[-1]


@pytest.mark.parametrize(("device", "uuids"), [("gpu", (UUID,)), ("cpu", ())])
def test_a_run_sees_no_gpu_but_its_own_before_its_backend_starts(monkeypatch, device, uuids):
    """Its worker sees all GPUs of the report."""
    seen = []

    class Looking(FakeBackend):
        def start(self, *arguments, **options):
            seen.append(os.environ["CUDA_VISIBLE_DEVICES"])
            return super().start(*arguments, **options)

    ended(monkeypatch, Looking(), device, uuids)

    assert seen == [",".join(uuids)]


def test_a_framework_that_cannot_use_the_gpu_tells_so_as_a_value(monkeypatch):
    """After one such row its other trials are not tried."""

    class Unreached(FakeBackend):
        def start(self, *arguments, **options):
            raise GpuNotReached("the driver is too old")

    event = ended(monkeypatch, Unreached(), "gpu", (UUID,))

    assert (event.status, event.reason) == (Status.UNSUPPORTED, "the driver is too old")
    assert fails_for_all(event.failure)
