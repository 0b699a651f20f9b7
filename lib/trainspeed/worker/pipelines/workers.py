"""Worker processes that make batches. They load no framework, and end with the process they serve.

They are started afresh, not forked: a fork copies the locks that threads of TensorFlow, JAX or CUDA hold at
that moment, and waits for them for ever.
Source: https://github.com/keras-team/keras/issues/20619 (Keras's own forked workers hang on JAX)
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace

import numpy as np

from trainspeed.sensors.processes import use_all_cores
from trainspeed.worker.pipelines.batches import Batches
from trainspeed.worker.pipelines.shared_memory import check_shared_memory

START = multiprocessing.get_context("spawn")


class Processes:
    """Makes batches in worker processes, which share one copy of the images. Many threads may call it."""

    def __init__(self, batches: Batches, workers: int) -> None:
        """Return when the workers are ready: starting them takes longer than a short epoch.

        Raises:
            Unsupported: No process can be given memory here.
        """
        check_shared_memory()
        without_data = replace(batches, x=None, y=None)
        shared = _Shared(batches.x), _Shared(batches.y)
        self._executor = ProcessPoolExecutor(
            workers, mp_context=START, initializer=_begin, initargs=(without_data, *shared)
        )
        while (
            self.alive < workers
        ):  # with a job, the executor starts a worker only where none is idle at that moment
            for ready in [self._executor.submit(os.getpid) for _ in range(workers)]:
                ready.result()

    def __call__(self, epoch: int, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Wait for one batch and return it.

        Raises:
            BrokenProcessPool: A worker died.
        """
        return self._executor.submit(_make, epoch, index).result()

    @property
    def alive(self) -> int:
        """How many workers there are, as the system tells."""
        return sum(worker.is_alive() for worker in (self._executor._processes or {}).values())

    def close(self) -> None:
        """End the workers and wait for them."""
        self._executor.shutdown(cancel_futures=True)


class _Shared:
    """An array in memory that a new process maps instead of copying it."""

    def __init__(self, array: np.ndarray) -> None:
        self._memory = START.RawArray("B", array.nbytes)
        self._shape, self._dtype = array.shape, array.dtype
        np.copyto(self.array(), array)

    def array(self) -> np.ndarray:
        return np.frombuffer(self._memory, self._dtype).reshape(self._shape)


_batches: Batches  # in a worker, from its first moment


def _begin(without_data: Batches, x: _Shared, y: _Shared) -> None:
    global _batches
    use_all_cores()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _batches = replace(without_data, x=x.array(), y=y.array())


def _end_with_parent() -> None:
    """Wait for the parent's end: the kernel's signal would also come when the thread that started this ends."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _make(epoch: int, index: int) -> tuple[np.ndarray, np.ndarray]:
    return _batches(epoch, index)
