"""Run what is planned: one worker per framework, one run at a time, a ledger line as each ends.

Knows neither what is asked nor how it is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Protocol

from trainspeed.conduct.plan import Planned
from trainspeed.conduct.worker_process import RunOutcome, Unavailable
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import scrubbed
from trainspeed.core.paths import ROOT
from trainspeed.core.result import RunResult
from trainspeed.core.run import FINAL, Role, Run, Status
from trainspeed.core.scrub import scrubber
from trainspeed.core.user_model import version_of
from trainspeed.worker.measure import Request


class Worker(Protocol):
    """What the runner needs of `WorkerProcess`; tests pass a fake."""

    versions: Mapping[str, str] | None
    import_s: float | None

    @property
    def alive(self) -> bool: ...

    def wait_until_ready(self) -> None: ...

    def run(self, request: Request, timeout_s: float) -> RunOutcome: ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """Where and on what a study is measured.

    Attributes:
        device: "gpu" or "cpu": what every run of the study trains on.
        machine: As in the ledger.
        monitor: The monitor's CSV, relative to the ledger.
    """

    ledger: Ledger
    session: str
    study: str
    device: str
    machine: Mapping[str, Any]
    gpu_uuids: tuple[str, ...] = ()
    monitor: str | None = None


@dataclass
class Runner:
    """Measures planned runs.

    Attributes:
        start: Starts the worker of a framework; raises `Unavailable` where there is none.
        accuracy_blocks: Test accuracy is measured in so many blocks, from the first.
    """

    context: RunContext
    start: Callable[[str], Worker]
    timeout_s: float
    accuracy_blocks: int = 1
    _workers: dict[str, Worker] = field(default_factory=dict, init=False)
    _not_again: set[Any] = field(default_factory=set, init=False)
    _missing: dict[str, str] = field(default_factory=dict, init=False)
    _told: set[str] = field(default_factory=set, init=False)
    _inspected: set[AnyTrial] = field(default_factory=set, init=False)

    def measure(self, planned: Planned) -> Run | None:
        """Measure a planned run; None where an earlier one has shown that it is no use.

        A trial that ran out of memory, timed out or is unsupported is not tried in later blocks. A
        framework that is not there is one row with that reason.
        """
        framework = planned.trial.framework
        if planned.kind in self._not_again or framework in self._told:
            return None
        worker = self._worker(framework)
        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        if worker is None:
            self._told.add(framework)
            outcome = RunOutcome(status=Status.UNSUPPORTED, reason=f"{framework}: {self._missing[framework]}")
        else:
            outcome = worker.run(self._request(planned), self.timeout_s)
        run = self._line(planned, outcome, started_at, worker)
        self.context.ledger.append(run)
        if run.status in FINAL:
            self._not_again.add(planned.kind)
        if run.layers is not None:
            self._inspected.add(planned.trial.graph_key)
        return run

    def start_all(self, frameworks: Iterable[str], *, side_by_side: bool = True) -> None:
        """Start the workers, and wait for all: no import may run beside a measured epoch.

        Args:
            side_by_side: False where the time of each import is of interest.
        """
        for framework in frameworks:
            self._start(framework)
            if not side_by_side:
                self._wait_for(framework)
        for framework in list(self._workers):
            self._wait_for(framework)

    def close(self) -> None:
        """End every worker and whatever it runs."""
        while self._workers:
            self._workers.popitem()[1].close()

    def _request(self, planned: Planned) -> Request:
        on_cpu = planned.trial.on_cpu
        return Request(
            trial=planned.trial,
            device="cpu" if on_cpu else self.context.device,
            requested_at=time.monotonic(),
            evaluate=planned.block < self.accuracy_blocks,
            inspect=planned.trial.graph_key not in self._inspected,
            default_allocation=planned.label == Role.ALLOCATION,
            gpu_uuids=()
            if on_cpu
            else self.context.gpu_uuids[: planned.trial.devices],  # in the order of CUDA_VISIBLE_DEVICES
        )

    def _worker(self, framework: str) -> Worker | None:
        """Return the framework's worker, started anew if the last one died; None where it is missing."""
        worker = self._workers.get(framework)
        if worker is None or not worker.alive:
            if worker:
                worker.close()
            self._start(framework)
            self._wait_for(framework)
        return self._workers.get(framework)

    def _start(self, framework: str) -> None:
        try:
            self._workers[framework] = self.start(framework)
        except Unavailable as problem:
            self._missing[framework] = str(problem)

    def _wait_for(self, framework: str) -> None:
        try:
            if framework in self._workers:
                self._workers[framework].wait_until_ready()
        except Unavailable as problem:
            self._missing[framework] = f"it could not be imported: {problem}"
            del self._workers[framework]

    def _line(self, planned: Planned, outcome: RunOutcome, started_at: str, worker: Worker | None) -> Run:
        context = self.context
        # What a library says of a failure may hold paths and names, and a ledger is shared.
        scrub = scrubber(root=ROOT, out=context.ledger.folder.resolve())
        result = {field.name: getattr(outcome.result, field.name) for field in fields(RunResult)}
        result["notes"] = tuple(scrubbed(note, scrub) for note in outcome.result.notes)
        return Run(
            session=context.session,
            study=context.study,
            trial=planned.trial,
            block=planned.block,
            label=planned.label,
            status=outcome.status,
            reason=outcome.reason and scrub(outcome.reason),
            failure=outcome.failure,
            started_at=started_at,
            machine=context.machine,
            versions={**worker.versions, **version_of(getattr(planned.trial, "model", ""))} if worker else {},
            monitor=context.monitor,
            import_s=worker.import_s if planned.trial.phase.calls and worker else None,
            **result,
        )
