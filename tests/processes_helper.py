"""See whether processes are gone, without sleeping for a guessed time."""

from __future__ import annotations

import time
from pathlib import Path

import psutil


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that nobody has waited for has ended too."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def until(condition, *, within_s: float = 20.0) -> bool:
    """Wait for another process to have done something; False when it never did."""
    end = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def with_text(path: Path) -> str | None:
    """Return what another process has written to a file, or None while there is nothing."""
    return (path.read_text() or None) if path.exists() else None
