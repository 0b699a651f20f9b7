"""Fixtures of studies whose workers only pretend."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from asking_study import RUN_S, FakeWorkers
from conv2d_data import GPU_MACHINE
from trainspeed.conduct import start, study


@pytest.fixture
def monitors():
    return []


@pytest.fixture
def workers(monkeypatch, monitors):
    """Replace everything that would start another process."""

    @contextmanager
    def monitoring(out, interval_s, cores):
        monitors.append(out)
        yield

    fakes = FakeWorkers()
    monkeypatch.setattr(start, "WorkerProcess", fakes)
    monkeypatch.setattr(study, "monitoring", monitoring)
    monkeypatch.setattr(study, "devices", lambda: ("cpu", (), {**GPU_MACHINE, "device": "cpu"}))
    monkeypatch.setattr("trainspeed.conduct.start.find_interpreter", lambda framework: sys.executable)
    return fakes


@pytest.fixture
def clocked(workers, monkeypatch, fake_clock):
    """Let every run take RUN_S seconds of a clock that does nothing else."""
    ends = workers.ends

    def end(request):
        fake_clock.advance(RUN_S)
        return ends(request)

    workers.ends = end
    monkeypatch.setattr(study.time, "monotonic", fake_clock)
    return workers
