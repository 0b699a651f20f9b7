"""Workers that go from one study of a report to the next, and the ways in which a lease ends."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from conv2d_data import make_trial
from processes_helper import is_gone, until
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.start import imports_are_timed, start_worker
from trainspeed.conduct.worker_lease import Lease
from trainspeed.conduct.worker_pool import worker_pool
from trainspeed.conduct.worker_process import Unavailable, WorkerProcess
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker import backends
from trainspeed.worker.request import Request

TESTS = Path(__file__).parents[1]
TRIAL = Trial(
    framework="torch",
    model="cnn10",
    layout="channels_first",
    batch_size=8,
    images_per_epoch=20,
    epochs=3,
    dataset="digits",
    image_size=8,
)


@pytest.fixture
def pool():
    with worker_pool() as path:
        yield path


def taken(pool: Path | None, backend: str = "fake_backend", **environment: str) -> WorkerProcess:
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])
    environment = {"PYTHONPATH": path, **environment}
    return WorkerProcess(sys.executable, backend, environment=environment, pool=pool)


def measured(worker: WorkerProcess, behaviour: str | None = None, timeout_s: float = 60):
    trial = TRIAL if behaviour is None else replace(TRIAL, weights=behaviour)
    return worker.run(Request(trial=trial, device="cpu", requested_at=time.monotonic()), timeout_s)


def test_the_next_study_has_the_worker_of_the_last_one(pool, monkeypatch):
    """What a kernel alone is told is not passed on to its workers, so that they are the same."""
    monkeypatch.setenv("TRAINSPEED_NOTEBOOKS", "[]")
    first = taken(pool)
    outcome = measured(first)
    first.release()
    monkeypatch.setenv("TRAINSPEED_NOTEBOOKS", '[{"name": "amp"}]')
    second = taken(pool)

    assert (outcome.status, measured(second).status) == (Status.OK, Status.OK)
    assert (second.pid, second.versions, second.import_s) == (first.pid, first.versions, first.import_s)
    assert second.alive


def test_another_environment_has_a_worker_of_its_own_in_the_place_of_the_idle_one(pool):
    first = taken(pool, VARIABLE="1")
    first.wait_until_ready()
    first.release()
    second = taken(pool, VARIABLE="2")
    second.wait_until_ready()

    assert second.pid != first.pid
    assert is_gone(first.pid)


def test_two_at_once_have_one_each_and_one_of_them_is_kept(pool):
    one, other = taken(pool), taken(pool)
    for worker in (one, other):
        worker.wait_until_ready()
    for worker in (one, other):
        worker.release()

    assert is_gone(one.pid)
    assert not is_gone(other.pid)
    assert taken(pool).pid == other.pid


def test_a_worker_in_which_something_still_runs_is_ended(pool):
    worker = taken(pool)
    trial = replace(TRIAL, weights="hang")
    run = worker.begin(Request(trial=trial, device="cpu", requested_at=time.monotonic()), 60)
    worker.release()

    assert run.outcome is None
    assert is_gone(worker.pid)
    assert taken(pool).pid is None, "a new one, which has yet to say that it is ready"


def test_a_kernel_that_was_killed_takes_its_worker_along(pool):
    worker = taken(pool)
    worker.wait_until_ready()
    worker._process._pool.close()

    assert until(lambda: is_gone(worker.pid))


def test_a_worker_that_has_died_meanwhile_is_given_to_nobody(pool):
    first = taken(pool)
    first.wait_until_ready()
    first.release()
    os.kill(first.pid, 9)
    assert until(lambda: is_gone(first.pid))
    second = taken(pool)

    assert measured(second).status == Status.OK
    assert second.pid != first.pid


def test_a_run_that_takes_its_worker_along_says_how_as_elsewhere(pool):
    """The exit code comes from the pool, which is the worker's parent."""
    outcomes = []
    for where in (pool, None):
        with closing(taken(where)) as worker:
            worker.wait_until_ready()
            run = worker.begin(
                Request(trial=replace(TRIAL, weights="hang"), device="cpu", requested_at=time.monotonic()), 60
            )
            os.kill(worker.pid, 9)
            outcomes.append(run.end())
            assert not worker.alive

    assert outcomes[0] == replace(outcomes[1], result=outcomes[0].result), "its time apart"
    assert (outcomes[0].status, "SIGKILL" in outcomes[0].reason) == (Status.CRASHED, True)


@pytest.mark.parametrize("pooled", [True, False])
def test_what_cannot_be_imported_says_why(pool, pooled):
    with pytest.raises(Unavailable, match="No module named 'no_such_backend'"):
        taken(pool if pooled else None, "no_such_backend").wait_until_ready()


def test_a_python_that_is_not_there_is_an_error_of_whoever_asks(pool):
    with pytest.raises(OSError, match="no-such-python"):
        WorkerProcess("/no-such-python", "fake_backend", pool=pool)
    assert measured(taken(pool)).status == Status.OK, "the pool goes on"


def test_where_the_pool_cannot_be_reached_a_study_has_a_worker_of_its_own(tmp_path):
    """Whatever clears away old temporary files may take a socket along, in the middle of a report."""
    with closing(taken(tmp_path / "workers")) as worker:
        assert measured(worker).status == Status.OK
        assert worker.parent_pid == os.getpid()
        worker.release()
        assert is_gone(worker.pid)


def test_what_is_no_message_ends_that_lease_alone(pool):
    lease = Lease(pool, [sys.executable, "-c", "input()"], {})
    lease._pool.send(b"nonsense\n")

    assert lease._pool.receive() is not None
    assert until(lambda: is_gone(lease.pid))
    assert measured(taken(pool)).status == Status.OK


def test_at_the_end_of_a_report_no_worker_is_left():
    with worker_pool() as path:
        idle, busy = taken(path), taken(path, VARIABLE="1")
        for worker in (idle, busy):
            worker.wait_until_ready()
        idle.release()

    assert is_gone(idle.pid)
    assert is_gone(busy.pid)
    assert not path.exists()
    assert not busy.alive
    busy.close()


def test_a_worker_whose_environment_a_lever_sets_is_never_kept(pool, monkeypatch):
    """It would take the place of the one that most trials need."""
    monkeypatch.setitem(backends.MODULES, "torch", "fake_backend")
    monkeypatch.setenv("PYTHONPATH", str(TESTS), prepend=os.pathsep)
    plain = start_worker((), "torch", (), pool=pool)
    with_lever = start_worker((), "torch", (("malloc_thresholds", "off"),), pool=pool)
    for worker in (plain, with_lever):
        worker.wait_until_ready()
        worker.release()

    assert not is_gone(plain.pid)
    assert is_gone(with_lever.pid)


@pytest.mark.parametrize(("label", "timed"), [("", True), ("A again", True), ("confirmation", False)])
def test_a_convolution_has_new_workers_but_where_it_is_measured_again(label, timed):
    """The front page waited for five imports, one after the other, that nobody asked for."""
    call, training = make_trial("torch"), TRIAL
    planned = [Planned(trial=trial, label=label, block=0) for trial in (training, call)]

    assert imports_are_timed(planned) is timed
    assert not imports_are_timed(planned[:1])
