"""Only one report or notebook measures on a device at a time: side by side, each would measure the other.

The locks are the kernel's, and end with the process that holds them, however it ends. Does not see other containers,
nor what is not Trainspeed (`trainspeed.sensors.gpus`, `trainspeed.worker.meter`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.sensors.gpus import hashed

# Not the user's own temporary folder: the locks are between users, too.
LOCKS = Path("/tmp")
LOCKS_VARIABLE = (
    "TRAINSPEED_LOCKS"  # another folder for them; empty: none. For tests, and fleets of one machine
)
HOST = "trainspeed-host.lock"


@contextlib.contextmanager
def measuring_alone(device: str, gpu_uuids: Sequence[str]) -> Iterator[None]:
    """Keep other reports and notebooks from measuring on these devices meanwhile.

    Runs on different GPUs may go on side by side; beside runs on the CPU, which take all of its cores, none may.

    Args:
        device: "gpu" or "cpu".
        gpu_uuids: The GPUs to use.
    Raises:
        UserError: Another one is measuring on one of them.
    """
    folder = os.environ.get(LOCKS_VARIABLE, str(LOCKS))
    wanted = [(HOST, fcntl.LOCK_SH if device == "gpu" else fcntl.LOCK_EX)]
    wanted += [(f"trainspeed-gpu-{hashed(uuid)}.lock", fcntl.LOCK_EX) for uuid in sorted(gpu_uuids)]
    with contextlib.ExitStack() as held:
        for name, kind in wanted if folder else ():
            try:
                descriptor = _open(Path(folder) / name)
                held.callback(os.close, descriptor)
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                where = "this machine" if name == HOST else "a GPU that this one would use"
                raise UserError(
                    f"another report or notebook is measuring on {where}, and side by side each would slow the other "
                    "down: wait for its end, then start this one again."
                ) from None
            except OSError as problem:
                print(
                    f"no lock can be held in {folder} ({problem.strerror}): start no second report meanwhile",
                    flush=True,
                )
        yield


def _open(path: Path) -> int:
    """Return a descriptor of a lock's file, which whoever comes first makes, for all users to read."""
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    # Where another user was faster, Linux does not let us create it again, but open it.
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)
        os.fchmod(descriptor, 0o644)  # whatever the umask
        return descriptor
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
