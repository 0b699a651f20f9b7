"""What a run notes about others on its device, with a backend that has no framework."""

import time

import pytest

from fake_backend import FakeBackend
from fake_nvml import FakeGpu, FakeNvml, install
from fake_runs import EventsSent
from study_data import tiny_trial
from trainspeed.core.levers.host import ALL_CORES
from trainspeed.core.notes import (
    CoresBusy,
    CpuThrottled,
    CpuTimeStolen,
)
from trainspeed.core.result import GpuMemory
from trainspeed.sensors.cpu import CpuSeconds, HostLoad
from trainspeed.sensors.cpu_limit import Periods
from trainspeed.worker import measure as child
from trainspeed.worker import meter
from trainspeed.worker.events import ResultSent

UUID = "GPU-aaaa-1"


@pytest.fixture(autouse=True)
def own_environment(monkeypatch):
    """A run sets what its process may see; this is the process of the tests."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")


def loads(*, others_s=0.0, steal_s=0.0, throttled=0):
    """Readings before and after 10 s of epochs on four cores, one of which was ours."""
    before = HostLoad(monotonic_s=0.0, cpu=CpuSeconds(busy=5.0, stolen=0.0, total=400.0), own_s=3.0)
    used = CpuSeconds(busy=15.0 + others_s, stolen=steal_s, total=440.0)
    limits = {"container": Periods(elapsed=100, throttled=throttled)} if throttled else {}
    after = HostLoad(monotonic_s=10.0, cpu=used, own_s=13.0, limits=limits)
    return iter([before, after])


@pytest.fixture
def result_of(monkeypatch):
    """Return a function that measures a trial here and returns its result."""
    monkeypatch.setattr(child, "pin", lambda cores, core_offset: None)  # not the process of the tests
    monkeypatch.setattr(child, "limit_memory", lambda allowance: None)
    trial = tiny_trial()

    def measure(readings, backend=None, **request):
        monkeypatch.setattr(meter, "host_load", lambda: next(readings))
        channel = EventsSent()
        asked = child.Request(trial=trial, requested_at=time.monotonic(), **request)
        child.measure_trial(asked, backend or FakeBackend(), None, channel)
        assert isinstance(channel.events[-1], ResultSent), channel.events[-1]
        return channel.events[-1].result

    return measure


@pytest.fixture
def notes_of(result_of):
    """Return a function that measures a trial here and returns the notes of the run."""
    return lambda *arguments, **options: result_of(*arguments, **options).notes


def test_a_quiet_machine_leaves_no_note(notes_of):
    assert notes_of(loads(), device="cpu") == ()


@pytest.mark.parametrize("told", [(0.25, None), (None, "why")])
def test_what_the_gpu_was_used_for_in_waits_or_why_that_is_not_known_is_part_of_the_result(
    result_of, monkeypatch, told
):
    for name, value in zip(("share", "unknown"), told, strict=True):
        monkeypatch.setattr(meter.WaitingGpu, name, value)
    result = result_of(loads(), device="cpu")

    assert (result.waiting_gpu, result.no_waiting_gpu) == told


def test_a_stranger_on_the_cores_during_the_epochs_is_a_note(notes_of):
    """25 CPU seconds in 10 s."""
    assert notes_of(loads(others_s=25), device="cpu") == (CoresBusy(cores=2.5),)


def test_a_hypervisor_that_takes_cpu_time_is_a_note(notes_of):
    assert notes_of(loads(steal_s=4), device="cpu") == (CpuTimeStolen(share=0.1),)


@pytest.mark.parametrize(
    ("throttled", "quota", "notes"),
    [(80, 0.3, (CpuThrottled(share=0.8, cores=0.3),)), (5, 0.3, ()), (80, None, ())],
)
def test_a_limit_of_cpu_time_that_stops_the_run_is_a_note(notes_of, monkeypatch, throttled, quota, notes):
    """Where it was lifted meanwhile, there is none to name."""
    monkeypatch.setattr(meter, "core_quota", lambda: quota)

    assert notes_of(loads(throttled=throttled), device="cpu") == notes


def hold_memory(gpu, held_bytes):
    gpu.answers["nvmlDeviceGetMemoryInfo_v2"] = {
        "total": int(80e9),
        "reserved": 0,
        "used": int(held_bytes),
        "free": 0,
    }


@pytest.fixture
def idle_gpu(monkeypatch):
    gpu = FakeGpu(uuid=UUID, nvmlDeviceGetUtilizationRates={"gpu": 0, "memory": 0})
    install(monkeypatch, FakeNvml(gpu))
    return gpu


@pytest.fixture
def greedy(idle_gpu):
    """A backend that takes 60 GB of a GPU of 80 GB, of which 8 GB are in use."""
    hold_memory(idle_gpu, 8e9)

    class Greedy(FakeBackend):
        def start(self, *arguments, **options):
            hold_memory(idle_gpu, 68e9)
            return super().start(*arguments, **options)

    return Greedy()


def test_what_the_run_itself_holds_on_the_gpu_is_no_stranger(notes_of, greedy):
    assert notes_of(loads(), greedy, device="gpu", gpu_uuids=(UUID,)) == ()


def test_what_a_framework_takes_by_default_is_counted_from_before_it_touches_the_gpu(result_of, greedy):
    asked = {"device": "gpu", "gpu_uuids": (UUID,)}
    left_alone = result_of(loads(), greedy, default_allocation=True, **asked)
    usual = result_of(loads(), greedy, **asked)

    taken = GpuMemory(before_bytes=int(8e9), taken_bytes=int(60e9), total_bytes=int(80e9))
    assert (left_alone.gpu_memory, usual.gpu_memory) == (taken, None)


def test_a_run_on_the_cpu_does_not_ask_the_gpus(notes_of, idle_gpu):
    hold_memory(idle_gpu, 70e9)

    assert notes_of(loads(), device="cpu") == ()
    assert not idle_gpu.calls


# What fails after the measuring.


@pytest.mark.parametrize(
    ("changed", "device", "spins"),
    [({}, "cpu", False), ({"levers": (ALL_CORES,)}, "cpu", True), ({"levers": (ALL_CORES,)}, "gpu", False)],
)
def test_only_threads_of_torch_on_several_cores_are_waited_for_after_a_turn(changed, device, spins):
    for framework in ("torch", "tensorflow"):
        trial = tiny_trial(framework=framework, **changed)
        request = child.Request(trial=trial, device=device, requested_at=0.0, turns=True)
        pace = child._pace(request, EventsSent(), child.TakeTurn(epochs=3), meter.Meter(()))
        assert (pace._spin_s > 0) == (spins and framework == "torch")
