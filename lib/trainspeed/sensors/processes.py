"""What a process that serves another needs: to die with its parent, to know its cores, to wait for signals.

Does not know what the processes do.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal as signals
import sys

CORES = "TRAINSPEED_CORES"  # variable: all cores that a process was allowed before it was pinned
PR_SET_PDEATHSIG = 1  # Source: linux/prctl.h
STDIN = 0


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


class SignalWaiter:
    """Sleeps until time is up, a signal arrives or stdin ends, without polling. Use it in the main thread only.

    Within its `with` block, the signals that it listens to do nothing but wake it.

    Attributes:
        stdin_closed: Whether stdin has ended; False where it is not watched.
    """

    def __init__(self, listen_to: tuple[int, ...], *, watch_stdin: bool = False) -> None:
        self._received: list[int] = []
        self.stdin_closed = False
        self._listen_to = listen_to
        self._watch_stdin = watch_stdin

    def __enter__(self) -> SignalWaiter:
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)
        # A handler alone would not end select(): Python goes on waiting after it. The wakeup pipe does.
        self._old_wakeup_fd = signals.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        self._old = {n: signals.signal(n, lambda n, _: self._received.append(n)) for n in self._listen_to}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signals.signal(number, handler)
        signals.set_wakeup_fd(self._old_wakeup_fd)
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)

    def take(self) -> list[int]:
        """Return the signals that arrived since the last call, oldest first."""
        taken, self._received = self._received, []
        return taken

    def wait(self, seconds: float) -> None:
        """Return after this many seconds, or earlier when something happened."""
        stdin = [STDIN] if self._watch_stdin and not self.stdin_closed else []
        try:
            ready, _, _ = select.select([self._wakeup_read, *stdin], [], [], max(0.0, seconds))
            if self._wakeup_read in ready:
                os.read(self._wakeup_read, 4096)
            if STDIN in ready:
                self.stdin_closed = not os.read(STDIN, 65536)
        except OSError:  # stdin was closed before this process began, or its terminal is gone
            self.stdin_closed = self._watch_stdin
