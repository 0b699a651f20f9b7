"""What a process that serves another needs: to die with its parent, and to know its cores.

Does not know what the processes do.
"""

from __future__ import annotations

import ctypes
import os
import signal as signals
import sys

CORES = "TRAINSPEED_CORES"  # variable: all cores that a process was allowed before it was pinned
PR_SET_PDEATHSIG = 1  # Source: linux/prctl.h


def die_with_parent(signal: int = signals.SIGKILL, *, parent: int | None = None) -> None:
    """Have the kernel send `signal` to this process when its parent dies. Call it first in a child.

    The parent, to the kernel, is the *thread* that started this process: a runner that starts a
    process from a thread must keep that thread. Off Linux only the check of `parent` is done.

    Args:
        parent: The expected parent's process id. If that has died before this call, the kernel would send
            nothing, so `signal` is sent at once.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_PDEATHSIG, int(signal), 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal)


def usable_cores() -> list[int]:
    """Return the cores this process may run on, lowest first; [] where the system has no such notion."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def device_cores(count: int) -> list[int]:
    """Return the cores that are the first `count` CPU devices, or all where there are fewer.

    They are the last usable ones: the first serve most interrupts.
    """
    cores = usable_cores()
    return cores[max(0, len(cores) - count) :]


def use_all_cores() -> None:
    """Let this thread run on every core again, not only on that of the device it works for."""
    if os.environ.get(CORES):
        os.sched_setaffinity(0, {int(core) for core in os.environ[CORES].split(",")})
