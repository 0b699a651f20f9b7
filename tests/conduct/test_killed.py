"""Processes killed with SIGKILL while a run hangs: none is left, not even one in a session of its own."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from processes_helper import until, with_text
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker.request import Request

TESTS = Path(__file__).parents[1]
VARIABLE = "FAKE_PID_FILE"  # a worker of these tests has it, and so has whatever that starts


def request(behaviour: str | None = None) -> Request:
    fields = {"layout": "channels_first", "batch_size": 8, "images_per_epoch": 16, "epochs": 3}
    trial = Trial(
        framework="torch", model="cnn10", dataset="digits", weights=behaviour, image_size=8, **fields
    )
    return Request(trial=trial, device="cpu", requested_at=time.monotonic())


@pytest.fixture
def pids(tmp_path):
    """The file that a hanging run writes its process id to. Whatever a test leaves is killed."""
    file = tmp_path / "pids"
    yield file
    for process in left(file):
        process.kill()


def started(pids: Path) -> WorkerProcess:
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])
    worker = WorkerProcess(
        sys.executable, "fake_backend", environment={"PYTHONPATH": path, VARIABLE: str(pids)}
    )
    worker.wait_until_ready()
    return worker


def left(pids: Path) -> list[psutil.Process]:
    """Return the processes of the worker of a test that live, wherever they hang now."""
    return [process for process in psutil.process_iter() if _is_of(process, pids)]


def _is_of(process: psutil.Process, pids: Path) -> bool:
    try:
        return process.environ().get(VARIABLE) == str(pids) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:  # ended meanwhile, or another user's
        return False


def kill_when_hanging(pids: Path, pid: Callable[[], int]) -> None:
    """From a process of its own: this one waits for the run."""
    if os.fork() == 0:
        until(lambda: with_text(pids))
        os.kill(pid(), signal.SIGKILL)
        os._exit(0)


def test_what_a_killed_run_leaves_is_ended_before_the_next_one(pids):
    worker = started(pids)
    kill_when_hanging(pids, lambda: int(pids.read_text()))
    outcome = worker.run(request("hang with daemons"), 60)
    alive = {process.pid for process in left(pids)}
    again = worker.run(request(), 60)
    worker.close()

    assert "the run was killed by SIGKILL" in outcome.reason
    assert alive == {worker.pid, worker._process.pid}, "the worker and its reaper"
    assert again.status == Status.OK
    assert left(pids) == []


@pytest.mark.parametrize("killed", ["worker", "reaper"])
def test_a_killed_worker_is_an_outcome_and_leaves_nothing(pids, killed):
    worker = started(pids)
    pid = worker.pid if killed == "worker" else worker._process.pid
    kill_when_hanging(pids, lambda: pid)
    outcome = worker.run(request("hang with daemons"), 60)

    assert outcome.status == Status.CRASHED
    assert "worker was killed by SIGKILL" in outcome.reason
    assert not worker.alive
    assert until(lambda: not left(pids))


def test_a_killed_runner_leaves_nothing(pids):
    runner = os.fork()
    if runner == 0:
        started(pids).run(request("hang with daemons"), 60)
        os._exit(0)

    assert until(lambda: with_text(pids))
    assert len(left(pids)) == 5, "reaper, worker, run, and what that started"
    os.kill(runner, signal.SIGKILL)
    os.waitpid(runner, 0)

    assert until(lambda: not left(pids))


def test_closing_a_worker_leaves_nothing(pids):
    worker = started(pids)
    run = worker.begin(request("hang with daemons"), 60)
    assert until(lambda: with_text(pids))
    worker.close()

    assert run.outcome is None
    assert left(pids) == []
