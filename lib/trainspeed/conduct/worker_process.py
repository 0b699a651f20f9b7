"""Start a worker, and have it measure requests: one after the other, or several that take turns.

Knows neither frameworks nor grids.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trainspeed.conduct.context import VARIABLES
from trainspeed.conduct.forked_run import ForkedRun, RunOutcome, how_it_ended
from trainspeed.conduct.own_process import OwnProcess
from trainspeed.conduct.worker_lease import Lease
from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.sensors.memory import KernelKills
from trainspeed.worker import events
from trainspeed.worker.channel import Channel
from trainspeed.worker.request import Request

# How other machines are reached, and with which token (a user's own model could read it), and torchrun's own.
NOT_FOR_RUNS = ("RAY_", "TRAINSPEED_TWINS", "TORCHELASTIC_")
# Where this process is a rank itself, as in a pod of a PyTorchJob: a run forks its own ranks, and has others.
RANK_VARIABLES = {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"}
RANK_VARIABLES |= {"GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE"}
# With 2 there are no docstrings, which workers and libraries read; with 1 no asserts, which a script has.
NOT_OF_RUNS = RANK_VARIABLES | {"PYTHONOPTIMIZE"}
IMPORT_TIMEOUT_S = 300  # importing a framework from a cold disk was seen to take 40 s


class Unavailable(Exception):
    """The worker could not import its framework; the message says why."""


class WorkerProcess:
    """One worker, started by this process or taken on lease from a report's pool.

    It starts at once, and imports its framework in the background: see `wait_until_ready`.

    Attributes:
        pid: Process id of the worker itself; None until it is ready.
        versions: Of the framework and its libraries; None until then.
        import_s: Seconds that it took to import them, for whichever study it was started; None until then.
        parent_pid: Process id of whoever started it.
    """

    def __init__(
        self,
        python: str,
        backend: str,
        *,
        environment: Mapping[str, str] | None = None,
        plain: bool = False,
        pool: Path | None = None,
    ) -> None:
        """Start it, or take it.

        Args:
            environment: What it has that this process has not, or otherwise.
            plain: Whether it measures one request, in its own process.
            pool: Socket of the report's pool: see `worker_pool`. Where it cannot be reached, the worker is an own one.
        """
        # -P: a file of the user's in this folder may have the name of a module.
        command = [python, "-P", "-u", "-m", "trainspeed.worker.main", "--backend", backend]
        command += ["--plain"] if plain else []
        variables = _environment(environment or {})
        self._kills = KernelKills()
        self._process = _taken(pool, command, variables) or OwnProcess(command, variables)
        self.parent_pid = self._process.parent_pid
        self._requests = self._process.requests
        self._runs: list[ForkedRun] = []
        self.pid: int | None = None
        self.versions: dict[str, str] | None = None
        self.import_s: float | None = None
        self._hello = self._process.hello
        if self._hello:
            self._learn(events.decode(self._hello))

    def wait_until_ready(self) -> None:
        """Wait until the framework is imported and `versions` are known.

        Raises:
            Unavailable: It cannot be imported; the worker has ended.
        """
        if self.versions is not None:
            return
        until_s = time.monotonic() + IMPORT_TIMEOUT_S
        self._hello = self._requests.receive(until_s)
        hello = events.decode(self._hello) if self._hello else None
        if not isinstance(hello, events.Hello):
            in_time, code = time.monotonic() < until_s, self._ended()
            reason = hello.reason if hello else self._process.last_words()
            ended = f"its process was {how_it_ended(code, self._kills)}" if in_time else ""
            raise Unavailable(reason or ended or "importing it took too long")
        self._learn(hello)

    def _learn(self, hello: events.Hello) -> None:
        self.pid, self.versions, self.import_s = hello.pid, hello.versions, hello.import_s

    @property
    def alive(self) -> bool:
        """Whether the worker can take a request."""
        return self._process.alive

    def begin(self, request: Request, timeout_s: float) -> ForkedRun:
        """Have a request measured in a child of its own; see `ForkedRun` for the timeout."""
        self.wait_until_ready()
        ours, theirs = Channel.pair()
        run = ForkedRun(ours, timeout_s, self._ended, device=request.device)
        try:
            asked = replace(request, runner_pid=self.parent_pid)
            self._requests.send(asked.as_json() + b"\n", passing=theirs)
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
        self._ended()

    def release(self) -> None:
        """Leave the worker to the next study of a report; end it where there is none, or where something still runs."""
        if self._hello and self.versions and all(run.outcome for run in self._runs) and self.alive:
            self._process.release(self._hello)
        else:
            self.close()

    def _ended(self) -> int:
        """End the worker and return its exit code."""
        for run in self._runs:
            run.kill()
        return self._process.end()


def _taken(pool: Path | None, command: list[str], variables: Mapping[str, str]) -> Lease | None:
    """Return a worker of a pool; None where there is no pool, or none that gives one."""
    if pool is not None:
        with contextlib.suppress(OSError):
            return Lease(pool, command, variables)
    return None


def _environment(own: Mapping[str, str]) -> dict[str, str]:
    """Return what a worker is started with: malloc's thresholds as users have set them, or a lever takes them away."""
    not_passed_on = NOT_OF_RUNS | {*VARIABLES.values()}
    others = {name for name in os.environ if name in not_passed_on or name.startswith(NOT_FOR_RUNS)}
    mine = {name: text for name, text in os.environ.items() if name not in others}
    variables = {**MALLOC_THRESHOLDS, **mine, **_import_path(), **own}
    return {name: text for name, text in variables.items() if text or name not in MALLOC_THRESHOLDS}


def _import_path() -> dict[str, str]:
    """Return the variable by which an interpreter without this package installed finds it."""
    paths = [str(ROOT / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths)}
