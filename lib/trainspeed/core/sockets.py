"""Where sockets of a report lie. Knows no process."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

MAX_TEMPORARY_LENGTH = 60  # a Unix socket's path holds 107 bytes on Linux and 103 on macOS


@contextlib.contextmanager
def folder_for_sockets() -> Iterator[Path]:
    """Make a folder for sockets, which no other user can connect to, and remove it at the end."""
    usual = tempfile.gettempdir()
    parent = usual if len(usual) <= MAX_TEMPORARY_LENGTH else "/tmp"
    with tempfile.TemporaryDirectory(prefix="trainspeed-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
