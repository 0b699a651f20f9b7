"""What a process that serves another needs: to die with its parent, to leave none behind, and to know its cores.

Does not know what the processes do.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal as signals
import sys
import time
from collections.abc import Collection

import psutil

CORES = "TRAINSPEED_CORES"  # variable: all cores that a process was allowed before it was pinned
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # Source: linux/prctl.h
LOOK_AGAIN_S = 0.01


def die_with_parent(signal: int = signals.SIGKILL, *, parent: int | None = None) -> None:
    """Have the kernel send `signal` to this process when its parent dies. Call it first in a child.

    The parent, to the kernel, is the *thread* that started this process: a runner that starts a
    process from a thread must keep that thread. Off Linux only the check of `parent` is done.

    Args:
        parent: The expected parent's process id. If that has died before this call, the kernel would send
            nothing, so `signal` is sent at once.
    """
    _prctl(PR_SET_PDEATHSIG, int(signal))
    if parent is not None and os.getppid() != parent:
        os.kill(os.getpid(), signal)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, whatever session it made for itself.

    A child does not inherit it. Off Linux nothing is done: there init adopts them.
    Source: PR_SET_CHILD_SUBREAPER(2const)
    """
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def child_pids() -> set[int]:
    """Return the processes whose parent is this one, those that have ended and were not waited for among them."""
    return {child.pid for child in psutil.Process().children()}


def descends_from(pid: int, ancestor: int) -> bool | None:
    """Return whether a process is another one or descends from it; None where there is no such process here."""
    try:
        process = psutil.Process(pid)
        return ancestor in (pid, *(parent.pid for parent in process.parents()))
    except psutil.Error:
        return None


def end_children(*, keep: Collection[int] = (), grace_s: float = 0.0) -> None:
    """Kill and reap this process's children, and those that it adopts as they die, until there are none.

    Args:
        keep: Children that go on.
        grace_s: Seconds in which they may end by themselves.
    """
    deadline, kept = time.monotonic() + grace_s, set(keep)
    while children := child_pids() - kept:
        # One that has ended may have left children of its own here since they were listed: look again.
        left = {pid for pid in children if not _reaped(pid, os.WNOHANG)}
        if left and time.monotonic() < deadline:
            time.sleep(LOOK_AGAIN_S)
            continue
        for pid in left:
            try:
                os.kill(pid, signals.SIGKILL)
            except PermissionError:  # it has become another user's
                kept.add(pid)
        for pid in left - kept:
            _reaped(pid)


def _reaped(pid: int, how: int = 0) -> bool:
    """Return whether a child has ended, and let go of it."""
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, how)[0] == pid
    return True


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(option, value, 0, 0, 0):
            raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def usable_cores() -> list[int]:
    """Return the cores this process may run on, lowest first; [] where the system has no such notion."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def device_cores(count: int | None) -> list[int]:
    """Return the cores that are the first `count` CPU devices, or all where there are fewer or none is named.

    They are the last usable ones: the first serve most interrupts.
    """
    cores = usable_cores()
    return cores if count is None else cores[max(0, len(cores) - count) :]


def remember_cores() -> None:
    """Note which cores this process may run on, before a library or a device keeps it to fewer of them."""
    os.environ[CORES] = ",".join(map(str, usable_cores()))


def all_cores() -> list[int]:
    """Return the cores that `remember_cores` has noted, else those that this process may run on."""
    return [int(core) for core in os.environ.get(CORES, "").split(",") if core] or usable_cores()


def move_to_own_cores(count: int | None, core_offset: int = 0) -> None:
    """Move this process with all its threads to the cores that are the first `count` CPU devices.

    Args:
        count: None where it may run on all: then it stays where it is.
        core_offset: How many cores before those.
    """
    if count is None:
        return
    cores = all_cores()
    own = set(cores[len(cores) - core_offset - count : len(cores) - core_offset])
    moved = False
    while not moved:  # a thread that has not been moved yet may start another one
        moved = True
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
                if os.sched_getaffinity(int(thread)) != own:
                    os.sched_setaffinity(int(thread), own)
                    moved = False


def use_all_cores() -> None:
    """Let this thread run on every core again, not only on that of the device it works for."""
    if os.environ.get(CORES):
        os.sched_setaffinity(0, all_cores())
