"""The processes of a worker, as whoever started them sees them: its reaper, and behind that the worker.

Knows neither frameworks nor requests.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping

from trainspeed.conduct.forked_run import last_line
from trainspeed.worker.channel import Channel

CLOSE_S = 30  # until a reaper has ended all processes; a GPU's driver may take seconds to let go of one
MOST_LETTERS = 300


class OwnProcess:
    """A worker that this process started, in its own session: a Ctrl-C in the terminal reaches only the runner.

    It ends with this process, and with the thread that started it.

    Attributes:
        pid: Process id of its reaper.
        parent_pid: Process id of whoever started it.
        requests: Where it takes requests, once it has said that it is ready.
        hello: What it said then; None for a worker that nobody has waited for yet.
    """

    hello: bytes | None = None
    _last_words = ""

    def __init__(self, command: list[str], environment: Mapping[str, str]) -> None:
        """Start it.

        Args:
            command: Without the arguments that say where requests come from and whose end is its own.
            environment: All its variables.
        """
        requests, theirs = Channel.pair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self.parent_pid = os.getpid()
        self._process = subprocess.Popen(
            [*command, "--requests", str(theirs.fileno()), "--parent", str(self.parent_pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._output,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env=dict(environment),
        )
        theirs.close()
        self.pid, self.requests = self._process.pid, requests

    @property
    def alive(self) -> bool:
        """Whether it runs: a reaper may still be ending what a worker that has died has left behind."""
        return self._process.poll() is None and not self.requests.hung_up()

    def end(self) -> int:
        """End it with all that it has started, and return its exit code."""
        self._process.terminate()
        try:
            self._process.wait(timeout=CLOSE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()
        self.requests.close()
        if not self._output.closed:
            self._output.seek(0)
            self._last_words = last_line(self._output.read().decode(errors="replace"))[:MOST_LETTERS]
            self._output.close()
        return self._process.returncode

    def last_words(self) -> str:
        """Return the last line that it printed, when it has ended."""
        return self._last_words

    def release(self, hello: bytes) -> None:
        """End it: nobody else is to have it."""
        self.end()
