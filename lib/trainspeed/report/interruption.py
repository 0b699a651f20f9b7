"""Ctrl-C and SIGTERM while kernels run: interrupt the kernel first, so that its `finally` blocks run.

Knows no notebook: its caller says which process group is the kernel's.
"""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 60.0  # a cell that goes on for so long after the signal is killed; workers end within seconds


class Interruption:
    """Handles the signals while its `with` block runs.

    The first one interrupts the running kernel and asks for an end; a second one, but for that of a lost terminal, or
    `GRACE_S` passing kills the kernel. No exception is raised here, so a notebook is saved and rendered as far as it
    got.

    Attributes:
        asked: Whether a signal has asked for an end.
    """

    def __init__(self) -> None:
        self.asked = False
        self._group: int | None = None
        self._timer: threading.Timer | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():  # Python refuses elsewhere
            # What is ignored stays ignored, so that `nohup make report` outlives its terminal.
            heard = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._handle) for number in heard}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self.kernel_ended()

    def kernel_started(self, group: int | None) -> None:
        """Remember the kernel's process group, to which signals are passed on."""
        self._group = group
        if self.asked:
            self._send(signal.SIGINT)

    def kernel_ended(self) -> None:
        """Kill what the kernel left in its process group, and forget it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._send(signal.SIGKILL)
        self._group = None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.asked:
            # A terminal that goes may say so twice: its shell, and then the system.
            if number != signal.SIGHUP:
                self._send(signal.SIGKILL)
            return
        self.asked = True
        self._send(signal.SIGINT)
        self._timer = threading.Timer(GRACE_S, self._send, [signal.SIGKILL])
        self._timer.daemon = True
        self._timer.start()

    def _send(self, number: int) -> None:
        if self._group is None:
            return
        try:
            os.killpg(self._group, number)
        except ProcessLookupError:
            self._group = None
        except PermissionError:  # what macOS raises for a group that holds only a zombie
            pass
