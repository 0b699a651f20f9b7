"""Batches without a framework: shuffled again in each epoch, and the same from any number of workers."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from trainspeed.core.paths import ROOT
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker.device_errors import crowds
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.pipelines import shared_memory, workers
from trainspeed.worker.pipelines.batches import Batches, batches_of
from trainspeed.worker.pipelines.workers import Processes

COUNT, BATCH, STEPS = 45, 8, 5  # five images are left over in each epoch
END_S = 30


@pytest.fixture
def batches() -> Batches:
    x = np.random.default_rng(1).random((COUNT, 8, 8, 3), dtype=np.float32)
    return Batches(
        x=x, y=np.arange(COUNT, dtype=np.int32), batch_size=BATCH, steps=STEPS, seed=4, augment=True
    )


@pytest.fixture
def processes(batches):
    made = Processes(batches, 2)
    yield made
    made.close()


def epoch(batches, number: int) -> tuple[np.ndarray, np.ndarray]:
    parts = [batches(number, index) for index in range(STEPS)]
    return np.stack([x for x, _ in parts]), np.concatenate([y for _, y in parts])


def test_an_epoch_has_whole_batches_and_no_image_twice(batches):
    x, y = epoch(batches, 0)

    assert x.shape == (STEPS, BATCH, 8, 8, 3)
    assert x.dtype == np.float32
    assert len(set(y)) == STEPS * BATCH


def test_every_epoch_and_every_seed_has_its_own_order(batches):
    orders = [epoch(each, n)[1] for each in (batches, replace(batches, seed=5)) for n in (0, 1)]

    assert len({order.tobytes() for order in orders}) == 4


def test_labels_stay_with_their_images(batches):
    x, y = epoch(replace(batches, augment=False), 1)

    np.testing.assert_array_equal(x.reshape(-1, 8, 8, 3), batches.x[y])


def test_no_two_batches_are_augmented_alike(batches):
    """The same image everywhere, so that equal results would be equal shifts and flips."""
    same = replace(batches, x=np.broadcast_to(batches.x[0], batches.x.shape))
    images = np.concatenate([epoch(same, number)[0] for number in range(3)]).reshape(-1, 8 * 8 * 3)

    assert len(np.unique(images, axis=0)) == len(images)


def test_channels_first_is_the_same_images_transposed(batches):
    x, y = batches(0, 2)
    first, same = replace(batches, channels_first=True)(0, 2)

    np.testing.assert_array_equal(first, x.transpose(0, 3, 1, 2))
    np.testing.assert_array_equal(same, y)
    assert first.flags.c_contiguous


@pytest.mark.parametrize(
    ("pipeline", "augment", "expected"),
    [("generator", True, True), ("generator", False, False), ("in_model", True, False)],
)
def test_a_trial_says_what_its_batches_are(pipeline, augment, expected):
    """What the model augments comes as it is."""
    trial = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_last",
        batch_size=4,
        images_per_epoch=11,
        epochs=3,
        seed=2,
        pipeline=pipeline,
        augment=augment,
    )
    made = batches_of(trial, np.zeros((11, 8, 8, 3)), np.zeros(11), channels_first=True)

    assert (made.batch_size, made.steps, made.seed) == (4, 2, 2)
    assert made.augment is expected
    assert made.channels_first


def test_ranks_share_what_one_device_has(batches):
    x, y = batches(1, 3)
    parts = [replace(batches, rank=rank, ranks=2)(1, 3) for rank in (0, 1)]

    for rank, (part_x, part_y) in enumerate(parts):
        np.testing.assert_array_equal(part_x, x[rank::2])
        np.testing.assert_array_equal(part_y, y[rank::2])


def test_worker_processes_make_the_same_batches(batches, processes):
    for number in (0, 1):
        for index in range(STEPS):
            for found, expected in zip(processes(number, index), batches(number, index), strict=True):
                np.testing.assert_array_equal(found, expected)


def test_closing_ends_the_worker_processes(batches):
    others = _workers(psutil.Process())
    processes = Processes(batches, 2)
    workers = [worker for worker in _workers(psutil.Process()) if worker not in others]
    processes.close()

    assert len(workers) == 2
    assert not any(worker.is_running() for worker in workers)


HOLD = """
import sys
import numpy as np
from trainspeed.worker.pipelines.batches import Batches
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.pipelines import shared_memory, workers
from trainspeed.worker.pipelines.workers import Processes

x = np.zeros((8, 8, 8, 3), np.float32)
data = Batches(x=x, y=np.arange(8), batch_size=4, steps=2, seed=0, augment=True)
processes = Processes(data, 2)
print("ready", flush=True)
sys.stdin.read()
"""


def test_worker_processes_end_with_a_process_that_is_killed():
    command = [sys.executable, "-c", HOLD]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as served:
        assert served.stdout.readline() == b"ready\n"
        workers = _workers(psutil.Process(served.pid))
        served.kill()
    _, alive = psutil.wait_procs(workers, timeout=END_S)

    assert len(workers) == 2
    assert alive == []


def _workers(process: psutil.Process) -> list[psutil.Process]:
    """Its children but the one with which Python's multiprocessing cleans up."""
    return [child for child in process.children() if "resource_tracker" not in _command(child)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:  # it ended while it was looked at
        return ""


class SlowToStart:
    """An executor that starts one worker for all jobs that it is given at once, as where the first is idle again."""

    def __init__(self, *_args, **_more):
        self._processes = {}

    def submit(self, _job):
        if not getattr(self, "given", False):
            self._processes[len(self._processes)] = SimpleNamespace(is_alive=lambda: True)
        self.given = True
        return SimpleNamespace(result=self._result)

    def _result(self):
        self.given = False


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSYS, errno.ENOSPC])
def test_where_processes_can_share_no_memory_the_folder_and_a_way_out_are_named(batches, monkeypatch, number):
    """The system's own error, "[Errno 30] Read-only file system", ended the run as a crash."""

    def refuse():
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(shared_memory.multiprocessing, "Lock", refuse)

    with pytest.raises(
        Unsupported, match=rf"^/dev/shm cannot .* \({os.strerror(number)}\), .* --shm-size=1g"
    ):
        Processes(batches, 2)


@pytest.mark.parametrize(("needed", "advice"), [(65_536_001, "1g"), (3_400_000_000, "4g")])
def test_where_batches_do_not_fit_into_shared_memory_it_is_said_how_much_there_is(
    monkeypatch, needed, advice
):
    """The size that Docker gives: torch waits for ever for a batch that a worker could not hand on."""
    there = SimpleNamespace(f_bavail=16_000, f_frsize=4096)
    monkeypatch.setattr(shared_memory.os, "statvfs", lambda folder: there)

    shared_memory.check_shared_memory(16_000 * 4096)
    with pytest.raises(
        Unsupported, match=rf"^/dev/shm has 0\.066 GB free, .* --shm-size={advice},"
    ) as raised:
        shared_memory.check_shared_memory(needed)
    assert crowds(Status.UNSUPPORTED, Failure(cause=raised.value.cause))


def test_all_workers_are_there_before_the_first_epoch(batches, monkeypatch):
    monkeypatch.setattr(workers, "ProcessPoolExecutor", SlowToStart)

    assert Processes(batches, 3).alive == 3
