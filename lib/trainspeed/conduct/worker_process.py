"""Start a worker, and have it measure requests: one after the other, or several that take turns.

Knows neither frameworks nor grids.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping

from trainspeed.conduct.forked_run import ForkedRun, RunOutcome, last_line
from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.worker import events
from trainspeed.worker.channel import Channel
from trainspeed.worker.request import Request

CLOSE_S = 30  # until a reaper has ended all processes; a GPU's driver may take seconds to let go of one
# How other machines are reached, and with which token (a user's own model could read it), and torchrun's own.
NOT_FOR_RUNS = ("RAY_", "TRAINSPEED_TWINS", "TORCHELASTIC_")
# Where this process is a rank itself, as in a pod of a PyTorchJob: a run forks its own ranks, and has others.
RANK_VARIABLES = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}
RANK_VARIABLES |= {"GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE"}
IMPORT_TIMEOUT_S = 300  # importing a framework from a cold disk was seen to take 40 s


class Unavailable(Exception):
    """The worker could not import its framework; the message says why."""


class WorkerProcess:
    """One worker in its own session, so that a Ctrl-C in the terminal reaches only the runner.

    It starts at once, and imports its framework in the background: see `wait_until_ready`. What this process
    starts is the worker's reaper, which ends as the worker does.

    Attributes:
        pid: Process id of the worker itself; None until it is ready.
        versions: Of the framework and its libraries; None until then.
        import_s: Seconds that it took to import them; None until then.
    """

    def __init__(
        self, python: str, backend: str, *, environment: Mapping[str, str] | None = None, plain: bool = False
    ) -> None:
        ours, theirs = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        command = [python, "-u", "-m", "trainspeed.worker.main", "--backend", backend]
        command += ["--requests", str(theirs.fileno()), "--parent", str(os.getpid())]
        self._process = subprocess.Popen(
            [*command, "--plain"] if plain else command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._output,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            env=_environment(environment or {}),
        )
        theirs.close()
        self._requests = Channel(ours)
        self._runs: list[ForkedRun] = []
        self.pid: int | None = None
        self.versions: dict[str, str] | None = None
        self.import_s: float | None = None

    def wait_until_ready(self) -> None:
        """Wait until the framework is imported and `versions` are known.

        Raises:
            Unavailable: It cannot be imported; the worker has ended.
        """
        if self.versions is not None:
            return
        line = self._requests.receive(time.monotonic() + IMPORT_TIMEOUT_S)
        hello = events.decode(line) if line else None
        if not isinstance(hello, events.Hello):
            reason = hello.reason if hello else self._stderr_tail()
            self.close()
            raise Unavailable(reason or "importing it took too long")
        self.pid, self.versions, self.import_s = hello.pid, hello.versions, hello.import_s

    @property
    def alive(self) -> bool:
        """Whether the worker can take a request."""
        return self._process.poll() is None

    def begin(self, request: Request, timeout_s: float) -> ForkedRun:
        """Have a request measured in a child of its own; see `ForkedRun` for the timeout."""
        self.wait_until_ready()
        ours, theirs = Channel.pair()
        run = ForkedRun(ours, timeout_s, self._ended, device=request.device)
        try:
            self._requests.send(request.as_json() + b"\n", passing=theirs)
        except OSError:
            self.close()
            run = ForkedRun.ended(Status.CRASHED, "the worker had died before the run")
            ours.close()
        theirs.close()
        self._runs = [*(other for other in self._runs if other.outcome is None), run]
        return run

    def run(self, request: Request, timeout_s: float) -> RunOutcome:
        """Have a trial measured and return how it ended. `alive` tells whether the worker has died."""
        return self.begin(request, timeout_s).end()

    def close(self) -> None:
        """End the worker, its children and whatever those started."""
        for run in self._runs:
            run.kill()
        self._process.terminate()
        try:
            self._process.wait(timeout=CLOSE_S)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._requests.close()
        self._output.close()

    def _ended(self) -> int:
        """End the worker and return its exit code."""
        self.close()
        return self._process.returncode

    def _stderr_tail(self) -> str:
        self._output.seek(0)
        return last_line(self._output.read().decode(errors="replace"))[:300]


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return what a worker is started with: malloc's thresholds as users have set them, or a lever takes them away."""
    others = {name for name in os.environ if name in RANK_VARIABLES or name.startswith(NOT_FOR_RUNS)}
    mine = {name: text for name, text in os.environ.items() if name not in others}
    variables = {**MALLOC_THRESHOLDS, **mine, **_import_path(), **own}
    return {name: text for name, text in variables.items() if text or name not in MALLOC_THRESHOLDS}


def _import_path() -> dict[str, str]:
    """Return the variable by which an interpreter without this package installed finds it."""
    paths = [str(ROOT / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}
