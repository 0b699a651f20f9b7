"""A probe in a child: its values are the run's, and what cannot be measured is unsupported, with the reason."""

import time

import pytest

from fake_backend import FakeBackend
from fake_runs import EventsSent
from trainspeed.core.probe import Probe
from trainspeed.core.run import Status
from trainspeed.worker import measure as child
from trainspeed.worker import probes
from trainspeed.worker.events import Failed, ResultSent
from trainspeed.worker.failures import Unsupported

PROBE = Probe(framework="torch", name="epoch")


@pytest.fixture
def measured(monkeypatch):
    """A function that measures a probe with this code and returns the last event."""
    monkeypatch.setattr(child, "pin", lambda cores, core_offset: None)  # not the process of the tests
    monkeypatch.setattr(child, "limit_memory", lambda allowance: None)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # a run sets it

    def measure(**known):
        module = type("Module", (), {"PROBES": known})
        monkeypatch.setattr(probes.importlib, "import_module", lambda name: module)
        channel = EventsSent()
        request = child.Request(trial=PROBE, device="cpu", requested_at=time.monotonic())
        child.measure_trial(request, FakeBackend(), None, channel)
        return channel.events[-1]

    return measure


def test_its_values_are_those_of_the_run(measured):
    event = measured(epoch=lambda where: {"device": where.device, "devices": where.devices, "wall_s": (1.0,)})
    assert isinstance(event, ResultSent)
    assert event.result.probe == {"device": "cpu", "devices": 1, "wall_s": (1.0,)}
    assert "probe" in event.result.stages_s


def test_what_it_cannot_measure_is_unsupported_with_the_reason(measured):
    def no_timer(where):
        raise Unsupported("a CPU has no timer of its own")

    event = measured(epoch=no_timer)
    assert isinstance(event, Failed) and event.status is Status.UNSUPPORTED
    assert event.reason == "a CPU has no timer of its own" and event.failure.stage == "probe"


def test_a_framework_without_the_probe_says_so(measured):
    event = measured(other=lambda where: {})
    assert event.status is Status.UNSUPPORTED and "PyTorch has no probe of" in event.reason
