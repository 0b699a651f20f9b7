"""Wait between two samples for what ends them: signals, the end of the command, of the parent or of stdin."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time

# They end a monitor that runs alone. Around a command they are passed on to it: a cluster warns a job by a
# signal (often SIGUSR1) before it ends it.
FORWARDED = tuple(getattr(signal, f"SIG{name}") for name in ("TERM", "INT", "HUP", "QUIT", "USR1", "USR2"))
STDIN = 0
MOST_S = 86_400.0  # that one call waits: the kernel's time ends before a float's


class Watch:
    """Says when sampling ends, and sends signals on to the command. Use it in the main thread only.

    Within its `with` block, the signals that it listens to do nothing but wake it.

    Attributes:
        command: The running command; None before it starts, or where there is none.
    """

    def __init__(self, *, watch_stdin: bool = False, parent: int | None = None) -> None:
        self.command: subprocess.Popen[bytes] | None = None
        self._watch_stdin, self._parent = watch_stdin, parent
        self._stdin_closed = False
        self._received: list[int] = []

    def __enter__(self) -> Watch:
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)
        # A handler alone would not end select(): Python goes on waiting after it. The wakeup pipe does.
        self._old_wakeup_fd = signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        # A signal that is ignored stays ignored, here and in the command: that is how nohup works.
        caught = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
        self._old = {n: signal.signal(n, self._receive) for n in (*caught, signal.SIGCHLD)}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._old.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._old_wakeup_fd)
        os.close(self._wakeup_read)
        os.close(self._wakeup_write)

    def _receive(self, number: int, _frame: object) -> None:
        if number != signal.SIGCHLD:
            self._received.append(number)

    def wait(self, seconds: float) -> bool:
        """Return True as soon as sampling is to end, else False when the seconds are over."""
        end = time.monotonic() + seconds
        while True:
            self._sleep(end - time.monotonic())
            if self._is_over():
                return True
            if time.monotonic() >= end:
                return False

    def _sleep(self, seconds: float) -> None:
        """Return after this many seconds, or earlier when something happened."""
        stdin = [STDIN] if self._watch_stdin and not self._stdin_closed else []
        try:
            ready, _, _ = select.select([self._wakeup_read, *stdin], [], [], min(max(0.0, seconds), MOST_S))
            if self._wakeup_read in ready:
                os.read(self._wakeup_read, 4096)
            if STDIN in ready:
                self._stdin_closed = not os.read(STDIN, 65536)
        except OSError:  # stdin was closed before this process began, or its terminal is gone
            self._stdin_closed = self._watch_stdin

    def _is_over(self) -> bool:
        received, self._received = self._received, []
        if self.command is not None:
            for number in received:
                if self.command.poll() is None and not _sent_by_terminal(number):
                    self.command.send_signal(number)
            return self.command.poll() is not None
        is_orphan = self._parent is not None and os.getppid() != self._parent
        return bool(received) or self._stdin_closed or is_orphan


def _sent_by_terminal(number: int) -> bool:
    """Ctrl-C reaches the whole foreground group: sent on, it would interrupt the command twice."""
    if number not in (signal.SIGINT, signal.SIGQUIT):
        return False
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
