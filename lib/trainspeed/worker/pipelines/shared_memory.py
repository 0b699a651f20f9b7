"""Whether processes can share memory here, which those that make batches have to. Loads no framework."""

from __future__ import annotations

import multiprocessing

from trainspeed.worker.failures import Unsupported

FOLDER = "/dev/shm"


def check_shared_memory() -> None:
    """Raise Unsupported where no semaphore can be made, with which worker processes begin.

    The system's own error, such as "[Errno 30] Read-only file system", names no folder.
    """
    try:
        multiprocessing.Lock()
    except OSError as problem:
        raise Unsupported(
            f"{FOLDER} cannot be written to ({problem.strerror or problem}), and the processes that make batches need "
            f"it: mount a tmpfs there with mode 1777, in Docker by --shm-size=1g or --tmpfs {FOLDER}"
        ) from None
