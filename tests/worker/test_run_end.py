"""How a run ends: what it looks up after its epochs, and what makes it fail, with a backend without a framework."""

import time

import pytest

from fake_backend import FakeBackend, FakeTraining
from fake_runs import EventsSent
from trainspeed.core.notes import LossNotFinite, NotEvaluated, NotInspected, NotReadAfterwards
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker import measure as child
from trainspeed.worker import validity
from trainspeed.worker.events import MeasurementEnded, ResultSent, StageBegun
from trainspeed.worker.failures import Invalid


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
