"""Fixtures that more than one file of tests needs."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from command_line import trainspeed
from trainspeed.environments import ROOT

MEASURE = """
import sys
from pathlib import Path
from fake_study import run_study
from trainspeed.session import Session
run_study(Session(id="s", out=Path(sys.argv[1])), control=True, blocks=6)
"""


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


@pytest.fixture(scope="session")
def report_folder(tmp_path_factory) -> Path:
    """A report, made once: of the runs that are recorded here, or of a study on the fake backend."""
    folder = tmp_path_factory.mktemp("report")
    recorded = sorted(path.parent for path in (ROOT / "data/measured").glob("*/runs.jsonl"))
    if not recorded:
        recorded = [folder / "ledger"]
        command = [sys.executable, "-c", MEASURE, str(recorded[0])]
        subprocess.run(command, cwd=Path(__file__).parent, check=True, capture_output=True)
    result = trainspeed("render", "--from", str(recorded[0]), "--out", str(folder / "out"))
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "out"


@pytest.fixture
def own(monkeypatch, tmp_path):
    """A function that writes a file into a user's folder and returns the name of its function `build`."""
    monkeypatch.setenv("TRAINSPEED_MODEL_FOLDER", str(tmp_path))

    def write(source: str, name: str = "my.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return f"{name}:build"

    return write


@pytest.fixture(autouse=True)
def closed_figures():
    """Leave no figure behind."""
    yield
    plt.close("all")


def pytest_configure() -> None:
    """Hear Ctrl-C even where a background job ignores it: tests of an interruption would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
