"""What a run notes about others on its device, with a backend that has no framework."""

import time

import pytest

from fake_backend import FakeBackend, FakeTraining
from fake_nvml import FakeGpu, FakeNvml, install
from fake_runs import EventsSent
from study_data import tiny_trial
from trainspeed.core.levers.host import ALL_CORES
from trainspeed.core.notes import (
    CoresBusy,
    CpuThrottled,
    CpuTimeStolen,
    LossNotFinite,
    NotEvaluated,
    NotInspected,
    NotReadAfterwards,
)
from trainspeed.core.result import GpuMemory
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.sensors.cpu import CpuSeconds, HostLoad
from trainspeed.sensors.cpu_limit import Periods
from trainspeed.worker import measure as child
from trainspeed.worker import meter, validity
from trainspeed.worker.events import MeasurementEnded, ResultSent, StageBegun
from trainspeed.worker.failures import Invalid

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


def events_of(weights):
    """Measure a trial here, which is evaluated and inspected, and return its events."""
    channel = EventsSent()
    asked = child.Request(
        trial=own_trial(model="cnn10", weights=weights),
        device="gpu",
        requested_at=time.monotonic(),
        evaluate=True,
        inspect=True,
    )
    child.measure_trial(asked, FakeBackend(), None, channel)
    return channel.events


def test_what_was_measured_is_sent_before_anything_else_is_looked_up():
    events = events_of(None)
    sent = next(number for number, event in enumerate(events) if isinstance(event, MeasurementEnded))
    measured, result = events[sent].result, events[-1].result

    begun = [event.name for event in events[sent:-1] if isinstance(event, StageBegun)]
    assert begun == ["evaluate", "inspect", "end"]
    assert (measured.epoch_s, measured.peak_memory_bytes) == (result.epoch_s, result.peak_memory_bytes)
    assert (measured.test_accuracy, measured.layers) == (None, None)
    assert list(measured.stages_s) == ["start", "build", "train"]


@pytest.mark.parametrize(
    ("weights", "note", "accuracy", "layers"),
    [
        ("bug evaluating", NotEvaluated(error="KeyError", message="'a bug in a framework'"), None, ()),
        (
            "out of memory evaluating",
            NotEvaluated(
                error="RuntimeError",
                message="DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes",
            ),
            None,
            (),
        ),
        ("bug inspecting", NotInspected(error="KeyError", message="'a bug in a framework'"), 0.9, None),
    ],
)
def test_what_fails_after_the_measuring_is_a_note(weights, note, accuracy, layers):
    result = events_of(weights)[-1].result

    assert (result.epoch_s, result.notes) == ((1.0, 0.1, 0.1), (note,))
    assert (result.test_accuracy, result.layers) == (accuracy, layers)


def test_a_number_that_cannot_be_read_after_the_training_is_absent_with_a_note():
    class Forgetful(FakeTraining):
        def peak_memory_bytes(self):
            raise RuntimeError("no such counter")

    class Backend(FakeBackend):
        def start(self, trial, images, **options):
            return Forgetful(trial)

    result = ended(own_trial(model="cnn10", weights=None), Backend()).result

    assert (result.epoch_s, result.peak_memory_bytes) == ((1.0, 0.1, 0.1), None)
    assert result.notes == (
        NotReadAfterwards(what="peak memory", error="RuntimeError", message="no such counter"),
    )


def test_a_failure_says_what_its_text_means():
    """TensorFlow's texts begin with a line that says nothing."""

    class Failing(FakeBackend):
        def start(self, *arguments, **options):
            raise RuntimeError(
                "Graph execution error:\n\nCUDA error: no kernel image is available for execution"
            )

    end = ended(own_trial(model="cnn10"), Failing())

    assert (end.status, end.failure.cause) == (Status.UNSUPPORTED, "no_kernels")
    assert (
        end.reason == "RuntimeError in stage 'build': CUDA error: no kernel image is available for execution"
    )


# A model of the user's own.


def ended(trial, backend=None):
    """Measure a trial here and return its last event."""
    channel = EventsSent()
    request = child.Request(trial=trial, device="gpu", requested_at=time.monotonic())
    child.measure_trial(request, backend or FakeBackend(), None, channel)
    return channel.events[-1]


def own_trial(**changed):
    fields = {
        "layout": "channels_first",
        "batch_size": 8,
        "images_per_epoch": 16,
        "epochs": 3,
        "weights": "nan",
    }
    return Trial(
        **{"framework": "torch", "model": "nets/my.py:build", "dataset": "digits", **fields, **changed}
    )


@pytest.mark.parametrize("precision", ["fp32", "tf32"])
def test_a_model_of_ones_own_that_trains_to_nan_is_invalid(precision):
    end = ended(own_trial(precision=precision))

    assert (end.status, end.failure.in_user_file) == (Status.INVALID, True)
    assert end.reason == (
        "nets/my.py:build: its training loss is nan: the model returns nan or inf, or adam with a learning rate of "
        "0.001 makes it so"
    )


@pytest.mark.parametrize("changed", [{"model": "cnn10"}, {"precision": "fp16"}])
def test_elsewhere_nan_is_a_finding_about_the_setting_and_a_note(monkeypatch, changed):
    """In 16 bits it may be the range."""
    monkeypatch.setattr(validity, "SIXTEEN_BITS", {"fp16": "float32"})  # what the fake one computes in

    end = ended(own_trial(**changed))

    assert isinstance(end, ResultSent)
    assert end.result.notes == (LossNotFinite(loss="nan"),)


@pytest.mark.parametrize(
    ("cause", "status"),
    [(MemoryError("no 9 bytes"), Status.OOM), (ValueError("wrong"), Status.INVALID), (None, Status.INVALID)],
)
def test_memory_that_ran_out_in_the_users_function_is_no_fault_of_it(cause, status):
    class Faulty(FakeBackend):
        def start(self, *arguments, **options):
            raise Invalid("my.py:build raised something") from cause

    end = ended(own_trial(), Faulty())

    assert (end.status, end.reason) == (status, "my.py:build raised something")


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
