"""What a run notes of others on its device, with a backend that has no framework."""

import time

import pytest

from fake_backend import FakeBackend
from fake_nvml import FakeGpu, FakeNvml, install
from trainspeed import child
from trainspeed.host import HostLoad
from trainspeed.trial import Trial

UUID = "GPU-aaaa-1"


def loads(*, others_s=0.0, steal_s=0.0):
    """Readings before and after 10 s of epochs on four cores, one of which was ours."""
    before = HostLoad(monotonic_s=0.0, busy_s=5.0, steal_s=0.0, total_s=400.0, own_s=3.0)
    after = HostLoad(monotonic_s=10.0, busy_s=15.0 + others_s, steal_s=steal_s, total_s=440.0, own_s=13.0)
    return iter([before, after])


@pytest.fixture
def notes_of(monkeypatch):
    """Return a function that measures a trial here and returns the notes of the run."""
    monkeypatch.setattr(child, "pin", lambda cores: None)  # not the process of the tests
    monkeypatch.setattr(child, "limit_memory", lambda allowance: None)
    trial = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_first",
        batch_size=8,
        images_per_epoch=16,
        epochs=3,
        image_size=8,
        dataset="digits",
    )

    def measure(readings, backend=None, **request):
        monkeypatch.setattr(child, "host_load", lambda: next(readings))
        events = []
        asked = child.Request(trial=trial, requested_at=time.monotonic(), **request)
        child.measure(asked, backend or FakeBackend(), None, events.append)
        assert events[-1]["event"] == "result", events[-1]
        return events[-1]["notes"]

    return measure


def test_a_quiet_machine_leaves_no_note(notes_of):
    assert notes_of(loads(), device="cpu") == []


def test_a_stranger_on_the_cores_during_the_epochs_is_a_note(notes_of):
    """25 CPU seconds in 10 s."""
    assert notes_of(loads(others_s=25), device="cpu") == [
        "Other processes kept 2.5 CPU cores busy meanwhile: stop them."
    ]


def test_a_hypervisor_that_takes_cpu_time_is_a_note(notes_of):
    (note,) = notes_of(loads(steal_s=4), device="cpu")

    assert "The hypervisor took 10% of the CPU time" in note


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


def test_a_stranger_on_the_gpu_before_the_run_is_a_note(notes_of, idle_gpu):
    hold_memory(idle_gpu, 20e9)

    (note,) = notes_of(loads(), device="gpu", gpu_uuids=(UUID,))

    assert note.startswith("Another process held 20.0 GB of GPU 0's memory before the run began")


def test_what_the_run_itself_holds_on_the_gpu_is_no_stranger(notes_of, idle_gpu):
    class Greedy(FakeBackend):
        def start(self, *arguments, **options):
            hold_memory(idle_gpu, 70e9)
            return super().start(*arguments, **options)

    assert notes_of(loads(), Greedy(), device="gpu", gpu_uuids=(UUID,)) == []


def test_a_run_on_the_cpu_does_not_ask_the_gpus(notes_of, idle_gpu):
    hold_memory(idle_gpu, 70e9)

    assert notes_of(loads(), device="cpu") == []
    assert not idle_gpu.calls
