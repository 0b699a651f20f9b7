"""Start a worker, send it requests and wait for its events, never longer than the timeout.

Knows neither frameworks nor grids.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from trainspeed.core.paths import ROOT
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status
from trainspeed.sensors.memory import host_oom_kills
from trainspeed.worker import events
from trainspeed.worker.backends.base import says_out_of_memory
from trainspeed.worker.measure import Request

# Where glibc's own thresholds end up in a process that trains long enough. A forked run inherits them as far as they
# happen to have grown: without this, one in two ddp runs gave memory back and took it anew in every step, at
# 70,000 page faults a second and 8 % of its speed. Source: mallopt(3).
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(32 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20)}
IMPORT_TIMEOUT_S = 300  # importing a framework from a cold disk was seen to take 40 s


class Unavailable(Exception):
    """The worker could not import its framework; the message says why."""


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a request ended, and what was measured."""

    status: Status
    reason: str | None = None
    failure: Failure | None = None
    result: RunResult = field(default_factory=RunResult)


class WorkerProcess:
    """One worker in its own session, so that a Ctrl-C in the terminal reaches only the runner.

    It starts at once, and imports its framework in the background: see `wait_until_ready`.
    """

    def __init__(
        self, python: str, backend: str, *, environment: Mapping[str, str] | None = None, plain: bool = False
    ) -> None:
        reader, writer = os.pipe()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        command = [python, "-u", "-m", "trainspeed.worker.main", "--backend", backend]
        command += ["--events", str(writer), "--parent", str(os.getpid())]
        self._process = subprocess.Popen(
            [*command, "--plain"] if plain else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._output,
            pass_fds=[writer],
            start_new_session=True,
            env={**MALLOC, **os.environ, **_import_path(), **(environment or {})},
        )
        os.close(writer)
        self._events = _Lines(reader)
        self._child: int | None = None
        self.versions: dict[str, str] | None = None
        self.import_s: float | None = None

    def wait_until_ready(self) -> None:
        """Wait until the framework is imported and `versions` are known.

        Raises:
            Unavailable: It cannot be imported; the worker has ended.
        """
        if self.versions is not None:
            return
        hello = self._next(time.monotonic() + IMPORT_TIMEOUT_S)
        if not isinstance(hello, events.Hello):
            reason = hello.reason if hello else self._stderr_tail()
            self.close()
            raise Unavailable(reason or "importing it took too long")
        self.versions, self.import_s = hello.versions, hello.import_s

    @property
    def alive(self) -> bool:
        """Whether the worker can take a request."""
        return self._process.poll() is None

    def run(self, request: Request, timeout_s: float) -> RunOutcome:
        """Have a trial measured and return how it ended. `alive` tells whether the worker has died."""
        self.wait_until_ready()
        deadline = time.monotonic() + timeout_s
        kills_before = host_oom_kills()
        try:
            self._process.stdin.write(request.as_json() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self.close()
            return RunOutcome(status=Status.CRASHED, reason="the worker had died before the run")
        outcome, stage = None, "start"
        while True:
            event = self._next(deadline)
            if event is None:
                return outcome or self._lost(stage, timeout_s, time.monotonic() >= deadline, kills_before)
            match event:
                case events.Forked():
                    self._child = event.pid
                case events.StageBegun():
                    stage = event.name
                case events.ResultSent():
                    outcome = RunOutcome(status=Status.OK, result=event.result)
                case events.Failed():
                    outcome = RunOutcome(
                        status=event.status, reason=event.reason, failure=event.failure, result=event.result
                    )
                case events.Exited():
                    self._child = None
                    return outcome or _died(event, stage, kills_before)

    def close(self) -> None:
        """End the worker, its child and whatever that started."""
        for group in (self._child, self._process.pid):
            if group is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
        self._child = None
        self._process.wait()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._events.close()
        self._output.close()

    def _stderr_tail(self) -> str:
        self._output.seek(0)
        return _last_line(self._output.read().decode(errors="replace"))[:300]

    def _next(self, deadline: float) -> events.AnyEvent | None:
        line = self._events.read(deadline)
        return events.decode(line) if line else None

    def _lost(self, stage: str, timeout_s: float, timed_out: bool, kills_before: int | None) -> RunOutcome:
        """Return the outcome when no more events come: the time is over, or the worker itself died."""
        self.close()
        if timed_out:
            reason = (
                f"not finished after {timeout_s:g} s, in stage {stage!r}: raise timeout_s or ask for less"
            )
            return _failed(Status.TIMEOUT, reason, stage)
        return _died(events.Exited(code=self._process.returncode), stage, kills_before, who="worker")


def _died(event: events.Exited, stage: str, kills_before: int | None, who: str = "run") -> RunOutcome:
    """Return why a process ended without a result: the kernel's OOM killer, a signal, or an abort."""
    code, kills = event.code, host_oom_kills()
    if code == -signal.SIGKILL and None not in (kills, kills_before) and kills > kills_before:
        reason = f"killed by the kernel in stage {stage!r}: the machine ran out of memory"
        return _failed(Status.OOM, reason, stage, "SIGKILL")
    if says_out_of_memory(event.stderr_tail):
        return _failed(Status.OOM, f"ran out of memory in stage {stage!r} and aborted", stage)
    error = signal.Signals(-code).name if code < 0 else None
    ending = f"was killed by {error}" if error else f"ended with exit code {code}"
    last = _last_line(event.stderr_tail)[:200]
    reason = f"the {who} {ending} in stage {stage!r}" + (f": {last}" if last else "")
    return _failed(Status.CRASHED, reason, stage, error)


def _failed(status: Status, reason: str, stage: str, error: str | None = None) -> RunOutcome:
    return RunOutcome(status=status, reason=reason, failure=Failure(stage=stage, error=error))


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip()


def _import_path() -> dict[str, str]:
    """Return the variable by which an interpreter without this package installed finds it."""
    paths = [str(ROOT / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


class _Lines:
    """Reads the lines of a pipe, each with a deadline."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._buffer = descriptor, b""
        self._selector = selectors.DefaultSelector()
        self._selector.register(descriptor, selectors.EVENT_READ)

    def read(self, deadline: float) -> bytes | None:
        """Return the next line, or None at the deadline or at the end of the pipe."""
        while b"\n" not in self._buffer:
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                return None
            if not (data := os.read(self._descriptor, 65536)):
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def close(self) -> None:
        self._selector.close()
        with contextlib.suppress(OSError):
            os.close(self._descriptor)
