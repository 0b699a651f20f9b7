"""What was measured is out of the process before anything looks at the levers, with a backend without a framework."""

import time

import pytest

from fake_backend import FakeBackend, FakeTraining
from fake_runs import EventsSent
from study_data import make_trial
from trainspeed.worker.events import MeasurementEnded, ResultSent, StageBegun
from trainspeed.worker.measure import measure_trial
from trainspeed.worker.request import Request


class Aborted(BaseException):
    """As the process ends, whatever it was about to do."""


class Fatal(FakeTraining):
    def in_effect(self):
        raise Aborted


class Fatally(FakeBackend):
    def start(self, trial, images, **options):
        return Fatal(trial)


@pytest.fixture
def channel(monkeypatch):
    """Where the events go; a run sets what its process may see, and this is the process of the tests."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return EventsSent()


def asked(weights=None):
    """Return a request for a trial with a lever, which is evaluated, too."""
    trial = make_trial(weights=weights, epochs=3, levers=(("python_gc", "off"),))
    return Request(trial=trial, device="gpu", requested_at=time.monotonic(), evaluate=True)


def test_a_look_at_the_levers_that_ends_the_process_loses_no_epoch(channel):
    """It multiplies and convolves, and opens a compiler's books: any of that may abort, or take all memory."""
    with pytest.raises(Aborted):
        measure_trial(asked(), Fatally(), None, channel)
    begun, last = channel.events[-2:]

    assert begun == StageBegun(name="inspect")
    assert isinstance(last, MeasurementEnded)
    assert (last.result.epoch_s, last.result.in_effect) == ((1.0, 0.1, 0.1), {})


def test_what_was_seen_of_the_levers_is_sent_before_the_test_images_are_evaluated(channel):
    """Evaluating them may end the process in its turn, and may change what there is to see."""
    measure_trial(asked("out of memory evaluating"), FakeBackend(), None, channel)
    sent = [event.result for event in channel.events if isinstance(event, MeasurementEnded)]
    *_, ended = channel.events

    assert [each.in_effect for each in sent] == [{}, {"python_gc": ("off", "made up")}]
    assert isinstance(ended, ResultSent) and ended.result.in_effect == sent[-1].in_effect


def test_the_time_of_a_stage_that_is_gone_on_with_adds_up(channel):
    measure_trial(asked(), FakeBackend(), None, channel)
    *_, looked = (event.result for event in channel.events if isinstance(event, MeasurementEnded))
    *_, ended = channel.events

    assert ended.result.stages_s["inspect"] > looked.stages_s["inspect"]
    assert list(looked.stages_s) == ["start", "build", "train", "inspect"]
