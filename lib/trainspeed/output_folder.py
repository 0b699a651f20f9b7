"""The folder a report writes to: can it be written, is there room, and is nobody else writing there.

Does not know what is written.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from trainspeed.errors import UserError

LOCK = ".lock"
LEAST_FREE_BYTES = 100 * 2**20  # notebooks, pages and monitor files of one report take a tenth of it


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Check that the folder can be written to, and keep a second report out of it."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out) as file:
            file.write(b"0")
        free = shutil.disk_usage(out).free
        lock = (out / LOCK).open("a")
    except OSError as problem:
        raise UserError(
            f"cannot write to {shown(out)} ({problem.strerror or problem}): name another folder, OUT=…"
        ) from None
    with lock:
        if free < LEAST_FREE_BYTES:
            raise UserError(
                f"{shown(out)} has {free / 2**20:.0f} MiB free, a report may need "
                f"{LEAST_FREE_BYTES / 2**20:.0f} MiB: make room, or name another folder, OUT=…"
            )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however it ends
        except BlockingIOError:
            raise UserError(
                f"another report is writing to {shown(out)}: wait for it, or name another folder, OUT=…"
            ) from None
        except OSError as problem:  # some network file systems know no locks
            print(
                f"{shown(out)} cannot be locked ({problem.strerror}): start no second report in it",
                flush=True,
            )
        yield


def shown(path: Path) -> str:
    """A path as seen from where the user is."""
    return os.path.relpath(path)
