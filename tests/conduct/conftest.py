"""Fixtures of studies whose workers only pretend."""

from __future__ import annotations

import sys
from contextlib import contextmanager

import pytest

from asking_study import FakeWorkers
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
