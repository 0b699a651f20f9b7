"""Where a node keeps what it works with for others. Most nodes are killed in the end: the next one tidies up."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import IO

from trainspeed.core.sockets import MAX_TEMPORARY_LENGTH

PREFIX = "trainspeed-node-"
LOCK = "lock"


class NodeFolder:
    """An empty folder among the system's temporary files; this user's folders of nodes that are gone are removed.

    Attributes:
        path: It is there as long as this object.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        lock = (self.path / f"{LOCK}.new").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)  # ends with the process, however it ends
        (self.path / f"{LOCK}.new").rename(self.path / LOCK)  # held from the moment on at which it is there
        self._end = weakref.finalize(self, _remove, self.path, lock)
        _remove_others(self.path)

    def keep_temporary_files(self) -> None:
        """Have this process, and those that it starts, keep their temporary files there, too: Ctrl-C kills them all.

        Where its path is so long that sockets in it would not work, they stay among the system's.
        """
        if len(os.fsencode(self.path)) <= MAX_TEMPORARY_LENGTH:
            os.environ["TMPDIR"] = tempfile.tempdir = str(self.path)

    def new(self) -> Path:
        """Make an empty folder in it, and return its path."""
        return Path(tempfile.mkdtemp(dir=self.path))


def _remove(path: Path, lock: IO[str]) -> None:
    shutil.rmtree(path, ignore_errors=True)
    lock.close()


def _remove_others(own: Path) -> None:
    for path in own.parent.glob(f"{PREFIX}*"):
        # Held, or being made; or a link: `rmtree` takes none.
        with contextlib.suppress(OSError), (path / LOCK).open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(lock.fileno()).st_uid == os.getuid():
                _empty(path)
                shutil.rmtree(path)


def _empty(path: Path) -> None:
    """Remove all but the lock: where something is still written, the next node sees that the folder is nobody's."""
    for child in path.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child)
        elif child.name != LOCK:
            child.unlink()
