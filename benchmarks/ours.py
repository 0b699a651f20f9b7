"""A run of Trainspeed's worker as a program that takes turns with others."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import psutil

from programs import NO_GPU, START_TIMEOUT_S, Program
from trainspeed.conduct.forked_run import ForkedRun
from trainspeed.conduct.machine import find_interpreter
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.levers.registry import environment_of
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker import backends
from trainspeed.worker.events import AnyEvent, Forked, StageBegun, TakeTurn
from trainspeed.worker.request import Request
from turns import Pace


class Ours(Program):
    """A run of Trainspeed's worker, in a forked child or with `plain` in the worker itself.

    Args:
        sibling: Another one, started before: where both need the same environment, its worker forks this one, too, as
            that of a report forks all arms of a block.
    """

    def __init__(
        self, trial: Trial, rounds: int, *, plain: bool = False, sibling: Ours | None = None
    ) -> None:
        super().__init__()
        self._trial, self._rounds, self._plain, self._sibling = trial, rounds, plain, sibling
        self._worker: Worker | None = None
        self._forked: ForkedRun | None = None
        self._training, self._warm, self._ended = threading.Event(), threading.Event(), threading.Event()
        self._outcome: Any = None

    @property
    def environment(self) -> dict[str, str]:
        """Variables that its worker is started with."""
        return environment_of(self._trial.levers)

    @property
    def worker(self) -> Worker:
        """Its worker, which is started when it is first asked for."""
        if self._sibling is not None and self._sibling.environment == self.environment:
            return self._sibling.worker
        if self._worker is None:
            self._worker = Worker(self._trial.framework, plain=self._plain, environment=self.environment)
        return self._worker

    def start(self, pace: Pace | None) -> Pace:
        self._trial = replace(self._trial, epochs=pace.epochs(self._rounds))
        self.worker.wait_until_ready()
        threading.Thread(target=self._run, daemon=True).start()
        self._training.wait(START_TIMEOUT_S)
        self.began = time.monotonic()
        self._warm.wait(START_TIMEOUT_S)  # a compiler takes as long as it takes
        going = self.wait(pace.turn_s)
        if going:
            # A worker that forks is not stopped itself: it kills a child left alone, and may have another.
            own = psutil.Process(self.worker.pid if self._plain else self._forked.pid)
            self.tree = [own, *own.children(recursive=True)]
        self.pause()
        if not going:
            self.finish()
            raise SystemExit(f"bench: {self._trial} ended before the first turn")
        return pace

    def _run(self) -> None:
        request = Request(trial=self._trial, device="cpu", requested_at=time.monotonic(), turns=True)
        try:
            self._forked = self.worker.begin(request, 3600, self._training)
            # Its first two epochs are over then; the rest is one turn, in which it is stopped.
            if self._forked.rests():
                self._warm.set()
                self._forked.take_turn(TakeTurn(epochs=self._trial.epochs))
                self._forked.finish()
            self._outcome = self._forked.end()
        finally:
            for event in (self._training, self._warm, self._ended):
                event.set()

    def wait(self, seconds: float) -> bool:
        return not self._ended.wait(seconds)

    def finish(self) -> Sequence[float]:
        if not self._ended.is_set():
            self.turn(START_TIMEOUT_S)  # its epochs come at its end
        if self._outcome is None or self._outcome.status != Status.OK:
            raise SystemExit(f"bench: {self._trial}: {self._outcome}")
        return self._outcome.result.epoch_s

    def close(self) -> None:
        if self._worker is not None:
            self._worker.close()


class Worker(WorkerProcess):
    """A worker whose runs tell when they train."""

    def __init__(
        self, framework: str, *, plain: bool = False, environment: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        python, backend = find_interpreter(framework), backends.MODULES[framework]
        super().__init__(python, backend, plain=plain, environment=NO_GPU | dict(environment))

    def begin(self, request: Request, timeout_s: float, training: threading.Event | None = None) -> ForkedRun:
        """Have a request measured, as any worker; `training` is set when its first epoch begins."""
        run = super().begin(request, timeout_s)
        heed = run._heed

        def watch(event: AnyEvent) -> None:
            if isinstance(event, Forked):
                run.pid = event.pid
            if training and isinstance(event, StageBegun) and event.name == "train":
                training.set()
            heed(event)

        run._heed = watch
        return run
