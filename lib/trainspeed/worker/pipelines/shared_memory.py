"""Whether processes can share memory here, which those that make batches have to. Loads no framework."""

from __future__ import annotations

import math
import multiprocessing
import os

from trainspeed.core.format import gigabytes
from trainspeed.worker.device_errors import Cause
from trainspeed.worker.failures import Unsupported

FOLDER = "/dev/shm"


class SharedMemoryTooSmall(Unsupported):
    """The batches that are made ahead do not fit into what is free."""

    cause = Cause.OUT_OF_SHARED_MEMORY


def check_shared_memory(batches_bytes: int = 0) -> None:
    """Raise Unsupported where no semaphore can be made, with which worker processes begin, or batches do not fit.

    The system's own error, such as "[Errno 30] Read-only file system", names no folder. And a worker of torch whose
    batch does not fit says so in a thread of its own and goes on: whoever waits for that batch waits for ever.

    Args:
        batches_bytes: That the worker processes will hold there at a time.
    """
    try:
        multiprocessing.Lock()
    except OSError as problem:
        raise Unsupported(
            f"{FOLDER} cannot be written to ({problem.strerror or problem}), and the processes that make batches need "
            f"it: mount a tmpfs there with mode 1777, in Docker by --shm-size=1g or --tmpfs {FOLDER}"
        ) from None
    there = os.statvfs(FOLDER)
    if batches_bytes > (free := there.f_bavail * there.f_frsize):
        raise SharedMemoryTooSmall(
            f"{FOLDER} has {gigabytes(free, 3)} free, and the batches that processes make ahead take "
            f"{gigabytes(batches_bytes, 3)} there: mount a larger tmpfs there, in Docker by "
            f"--shm-size={math.ceil(batches_bytes / 1e9)}g, or lower queue, workers or batch_size"
        )
