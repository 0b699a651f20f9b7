"""Workers, their children, and all the ways they end, with a backend that has no framework."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path

import psutil
import pytest

from processes_helper import is_gone, until
from trainspeed.conduct import worker_process
from trainspeed.conduct.environments import environment_for
from trainspeed.conduct.worker_process import Unavailable, WorkerProcess
from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.notes import EndedAfterMeasuring, LossNotFinite
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker.request import Request

TESTS = Path(__file__).parents[1]


def request(behaviour: str | None = None, layout: str = "channels_first", **changes) -> Request:
    fields = {"layout": layout, "batch_size": 8, "images_per_epoch": 20, "epochs": 3}
    trial = Trial(
        framework="torch", model="cnn10", dataset="digits", weights=behaviour, image_size=8, **fields
    )
    return Request(trial=trial, device="cpu", requested_at=time.monotonic(), **changes)


def start(**changes) -> WorkerProcess:
    environment = {"PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])}
    environment |= changes.pop("environment", {})
    return WorkerProcess(sys.executable, "fake_backend", environment=environment, **changes)


@pytest.fixture(scope="module")
def worker():
    process = start()
    yield process
    process.close()


def test_returns_what_the_child_measured(worker):
    outcome = worker.run(request(evaluate=True, inspect=True), 60)

    assert outcome.status == Status.OK
    assert outcome.result.epoch_s == (1.0, 0.1, 0.1)
    assert outcome.result.images_per_epoch == 16, "two whole batches of 8; the rest is dropped"
    assert outcome.result.test_accuracy == 0.9
    assert outcome.result.effective_layout == {"channels_first": 2}


def test_a_file_in_the_current_folder_replaces_no_module_of_the_worker(tmp_path, monkeypatch):
    (tmp_path / "random.py").write_text("raise ImportError('of the user')")
    monkeypatch.chdir(tmp_path)
    worker = start()

    try:
        assert worker.run(request(), 60).status == Status.OK
    finally:
        worker.close()


def test_measures_accuracy_only_when_asked(worker):
    assert worker.run(request(), 60).result.test_accuracy is None


def test_every_run_is_a_process_of_its_own_on_one_core(worker):
    """A CPU device is one core, so the child is pinned; the worker itself is not."""
    outcome = worker.run(request(), 60)

    assert outcome.status == Status.OK
    worker_cores = psutil.Process(worker.pid).cpu_affinity()
    assert worker_cores == psutil.Process().cpu_affinity()


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        ("out of memory", Status.OOM, "can't allocate memory"),
        ("abort", Status.OOM, "ran out of memory"),
        ("unsupported", Status.UNSUPPORTED, "no such arithmetic"),
        ("bug", Status.CRASHED, "a bug in a framework"),
        ("die", Status.CRASHED, "SIGKILL in stage 'build'"),
        ("out of memory preparing", Status.OOM, "RuntimeError in stage 'start': DefaultCPUAllocator"),
        ("bug preparing", Status.CRASHED, "KeyError in stage 'start': 'a bug in a framework'"),
    ],
)
def test_a_failing_child_is_an_outcome_and_the_worker_goes_on(worker, behaviour, status, reason):
    outcome = worker.run(request(behaviour), 60)

    assert outcome.status == status
    assert reason in outcome.reason
    assert worker.run(request(), 60).status == Status.OK


@pytest.mark.parametrize("stage", ["evaluat", "inspect"])
def test_a_child_that_dies_after_the_measuring_keeps_its_times(worker, stage):
    outcome = worker.run(request(f"die {stage}ing", evaluate=True, inspect=True), 60)
    (note,) = (note for note in outcome.result.notes if isinstance(note, EndedAfterMeasuring))

    assert (outcome.status, outcome.result.epoch_s) == (Status.OK, (1.0, 0.1, 0.1))
    assert (note.stage[:7], note.status) == (stage, "crashed")
    assert "SIGKILL" in note.message


def test_a_child_that_ends_late_shifts_no_result_to_the_next_trial(worker):
    """Its own result counts, and whatever it says later is nobody's."""
    late = worker.run(request("exit late inspecting", inspect=True), 2)
    following = worker.run(request(layout="channels_last"), 60)

    assert (late.status, late.result.effective_layout) == (Status.OK, {"channels_first": 2})
    assert (following.status, following.result.epoch_s) == (Status.OK, (1.0, 0.05, 0.05))


def test_a_run_that_learns_nothing_is_a_row_with_a_doubt(worker):
    outcome = worker.run(request("nan"), 60)

    assert outcome.status == Status.OK
    assert outcome.result.notes[-1] == LossNotFinite(loss="nan")


def test_a_run_may_take_only_the_memory_that_is_allowed(worker):
    """On a CPU the limit makes the allocation fail, instead of the machine swapping."""
    limited = start(environment={"TRAINSPEED_MEMORY_BYTES": str(10**9)})
    outcome = limited.run(request("3 GB"), 60)
    after = limited.run(request(), 60)
    limited.close()

    assert outcome.status == Status.OOM
    assert after.status == Status.OK


def test_a_timeout_ends_the_run_and_whatever_it_started(tmp_path):
    pids = tmp_path / "pids"
    worker = start(environment={"FAKE_PID_FILE": str(pids)})
    worker.run(request(), 60)  # images are loaded, so the timeout falls into the hanging stage

    outcome = worker.run(request("hang with grandchild"), 3)

    assert outcome.status == Status.TIMEOUT
    assert "3 s, in stage 'build'" in outcome.reason
    assert all(until(lambda pid=pid: is_gone(int(pid))) for pid in pids.read_text().split())
    assert worker.run(request(), 60).status == Status.OK, "the worker itself goes on"
    worker.close()


def test_a_backend_that_cannot_be_imported_says_why():
    with pytest.raises(Unavailable, match="No module named 'no_such_backend'"):
        WorkerProcess(sys.executable, "no_such_backend").wait_until_ready()


def test_a_worker_that_ends_without_a_word_says_how_it_ended():
    """An old CPU ends it by SIGILL, the kernel by SIGKILL: neither took too long."""
    with pytest.raises(Unavailable, match=r"^its process was ended with exit code 1$"):
        WorkerProcess("false", "tensorflow").wait_until_ready()


def test_a_plain_worker_measures_one_request_in_its_own_process():
    worker = start(plain=True)
    outcome = worker.run(request(), 60)
    ended = until(lambda: not worker.alive)
    worker.close()

    assert outcome.status == Status.OK
    assert ended


def test_how_memory_is_given_back_does_not_depend_on_luck_unless_the_user_says_so(monkeypatch):
    """A run inherits glibc's thresholds from its worker; as they grow by chance, so would the page faults."""
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1000")
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")  # with which no worker could say what its options are
    with contextlib.closing(start()) as worker:
        worker.wait_until_ready()
        environment = psutil.Process(worker._process.pid).environ()

    assert "PYTHONOPTIMIZE" not in environment
    assert environment["MALLOC_MMAP_THRESHOLD_"] == str(2**25)
    assert environment["MALLOC_TRIM_THRESHOLD_"] == "1000"


def test_a_lever_takes_these_thresholds_away_as_a_script_is_without_them(monkeypatch):
    """An empty one would be read as 0: each piece of memory would be a mapping of its own."""
    for name in MALLOC_THRESHOLDS:
        monkeypatch.delenv(name, raising=False)
    taken = environment_for((("malloc_thresholds", "off"),), {})
    with contextlib.closing(start(environment=taken | {"CUDA_VISIBLE_DEVICES": ""})) as worker:
        worker.wait_until_ready()
        environment = psutil.Process(worker._process.pid).environ()

    assert not set(MALLOC_THRESHOLDS) & set(environment)
    assert environment["CUDA_VISIBLE_DEVICES"] == "", "which means something empty"


def test_a_worker_hears_nothing_of_ranks_that_whoever_started_the_report_has_set(monkeypatch):
    """In a pod of a PyTorchJob each run with ddp took itself for a rank that others wait for."""
    set_by_a_launcher = {
        "RANK": "0",
        "WORLD_SIZE": "1",
        "LOCAL_RANK": "0",
        "MASTER_ADDR": "node",
        "MASTER_PORT": "1",
    }
    set_by_a_launcher |= {"GROUP_RANK": "0", "LOCAL_WORLD_SIZE": "1", "TORCHELASTIC_USE_AGENT_STORE": "True"}
    for name, text in {**set_by_a_launcher, "RANKING": "mine"}.items():
        monkeypatch.setenv(name, text)

    handed_down = worker_process._environment({"MASTER_PORT": "2"})

    assert {*set_by_a_launcher} & {*handed_down} == {"MASTER_PORT"}, "which a lever has set"
    assert handed_down["RANKING"] == "mine"
