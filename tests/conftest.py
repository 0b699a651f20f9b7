"""Fixtures that more than one file of tests needs."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import pytest

import trainspeed.report  # first of all: see there what nbformat need not load
from browser_helper import browser_that_shows
from command_line import trainspeed
from shared_workers import SharedWorkers
from smoke_report import measure
from trainspeed.conduct.alone import LOCKS_VARIABLE
from trainspeed.core.paths import ROOT

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

# Fixture that takes long and is made once for all tests -> the one group of the files that have it.
MADE_ONCE = {"smoke_report": "smoke report", "report_folder": "recorded report"}
GPU = "GPU"


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
    """The report of the runs that are recorded here, made once."""
    folder = tmp_path_factory.mktemp("report")
    recorded = ROOT / "data/measured/xeon-amx-2-cores"
    result = trainspeed("render", "--from", str(recorded), "--out", str(folder / "out"))
    assert result.returncode == 0, result.stdout + result.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory) -> Iterator[Any]:
    """The browser of a file's tests; no longer than that, as an event loop runs in this process meanwhile."""
    with browser_that_shows(tmp_path_factory.mktemp("probe")) as started:
        yield started


@pytest.fixture(scope="session")
def shared_worker(tmp_path_factory) -> Iterator[SharedWorkers]:
    """A function that returns the one worker of a framework: see `shared_workers.py`."""
    workers = SharedWorkers(tmp_path_factory)
    yield workers
    workers.close()


@pytest.fixture(scope="session")
def smoke_report(tmp_path_factory) -> Path:
    """The folder of a report that was measured here, once for all tests: see `smoke_report.py`."""
    out = tmp_path_factory.mktemp("smoke")
    measure(tmp_path_factory.mktemp("notebooks"), out)
    return out


@pytest.fixture
def own(monkeypatch, tmp_path):
    """A function that writes a file into a user's folder and returns the name of its function `build`.

    Afterwards nothing of it is imported, and no path is left behind.
    """
    monkeypatch.setenv("TRAINSPEED_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(source: str, name: str = "my.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        return f"{name}:build"

    yield write
    for name in [name for name in sys.modules if name.startswith("_own_")]:
        del sys.modules[name]


@pytest.fixture(autouse=True)
def closed_figures():
    """Leave no figure behind."""
    yield
    plt.close("all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the golden pages be written anew."""
    parser.addoption("--update-golden", action="store_true", help="write tests/golden anew")


@functools.cache
def text_of(file: str) -> str:
    """Return what is in a file of tests."""
    return (ROOT / file).read_text(encoding="utf-8")


@functools.cache
def group_of(file: str) -> str:
    """Return what a file of tests is kept together with where they run in several processes.

    A file that trains is a group of its own: that each process imports the frameworks takes less than one of
    them would wait for the other.
    """
    if file.startswith("tests/gpu/"):  # whose memory and load are looked at
        return GPU
    return next((group for fixture, group in MADE_ONCE.items() if fixture in text_of(file)), file)


def unit_of(test: str) -> str:
    """Return what a test is kept together with: its file's group, or in JupyterLab those that look at one notebook."""
    file, _, name = test.partition("::")
    return (
        f"{file}{name[name.find('[') :]}" if file.startswith("tests/lab/") and "[" in name else group_of(file)
    )


def groups_that_train(files: Iterable[str]) -> set[str]:
    """Return the groups whose tests have forks of a framework's worker, or a GPU."""
    return {group_of(file) for file in files if "shared_worker" in text_of(file) or group_of(file) == GPU}


def in_order(files: Sequence[str]) -> dict[str, int]:
    """Return group -> its place: what takes long comes first, so that what is short fills all processes to the end.

    The first group goes to the first process, and so on: the report that is measured here to the second one, as the
    first one's trainings leave the first core alone (see `scripted_backend.py`).
    """
    training = groups_that_train(files)
    trains = [group_of(file) for file in files if group_of(file) in training]
    slow = [group_of(file) for file in files if "mark.slow" in text_of(file)]
    groups = [*trains[:1], *MADE_ONCE.values(), *trains, *slow, *map(group_of, files)]
    return {group: place for place, group in enumerate(dict.fromkeys(groups))}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests by their groups."""
    files = [item.nodeid.partition("::")[0] for item in items]
    places = in_order([*dict.fromkeys(files)])
    items.sort(key=lambda item: places[group_of(item.nodeid.partition("::")[0])])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Keep in one process what shares a fixture that is made once.

    xdist's own `loadgroup` renames tests, which pytest 9.2 does not let it do.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: WorkerController) -> None:
            """Have the third process train last: it fills the cores where the first two wait, and imports nothing."""
            if node.gateway.id == "gw2":
                training = groups_that_train({test.partition("::")[0] for test in self.collection})
                if others := [group for group in self.workqueue if group not in training]:
                    self.workqueue.move_to_end(others[0], last=False)
            super()._assign_work_unit(node)

    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_finish() -> None:
    """Look for garbage seldom, and not among thousands of tests: that takes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)


def pytest_configure() -> None:
    """Hear Ctrl-C even where a background job ignores it: tests of an interruption would wait for ever."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ[LOCKS_VARIABLE] = ""  # tests may run beside a report, and beside each other
