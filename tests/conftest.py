"""Fixtures that more than one file of tests needs."""

from __future__ import annotations

import signal

import matplotlib.pyplot as plt
import pytest


class FakeClock:
    """Seconds that pass only when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds


@pytest.fixture
def fake_clock() -> FakeClock:
    """A clock to pass as `clock`."""
    return FakeClock()


@pytest.fixture(autouse=True)
def closed_figures():
    """Leave no figure behind."""
    yield
    plt.close("all")


def pytest_configure() -> None:
    """Hear Ctrl-C even where a background job ignores it: tests of an interruption would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
