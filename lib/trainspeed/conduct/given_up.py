"""What is not tried again in a session, by how its runs have ended so far: trials, and whole frameworks.

A session that is resumed learns it from its ledger, so that it leaves out what the one before would have left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from trainspeed.conduct.crashes import Crashes
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.workers import WorkerKind
from trainspeed.core.run import Run, Status
from trainspeed.worker.device_errors import fails_for_all


@dataclass
class GivenUp:
    """The trials that would end the same again, and the frameworks that are of no use here.

    Attributes:
        device: "gpu" or "cpu": what every run of the study trains on.
    """

    device: str
    _kinds: set[Any] = field(default_factory=set, init=False)
    _missing: set[str] = field(default_factory=set, init=False)
    _without_gpu: dict[WorkerKind, int] = field(
        default_factory=dict, init=False
    )  # the fewest that it cannot use
    _crashes: Crashes = field(default_factory=Crashes, init=False)

    def learn(self, run: Run) -> Run:
        """Take in how a run has ended, and return it; where that was the last of several tries, it says so."""
        run = self._crashes.judged(run, (run.label, run.trial.spec))
        framework = run.trial.framework
        if run.is_final:
            self._kinds.add((run.label, run.trial.spec))
        if run.status is Status.UNSUPPORTED and not run.versions:  # no worker of it could be started
            self._missing.add(framework)
        if fails_for_all(run.failure) and not run.trial.on_cpu:
            kind = WorkerKind.of(run.trial)  # an environment may be why
            self._without_gpu[kind] = min(self._without_gpu.get(kind, math.inf), run.trial.devices)
        return run

    def learn_again(self, runs: Iterable[Run], missing: Collection[str]) -> None:
        """Take in the runs of a session that is resumed, in their order.

        Args:
            missing: Frameworks that cannot be started now either: the rows of others may say so no longer.
        """
        for run in runs:
            if run.versions or run.trial.framework in missing:
                self.learn(run)

    def holds(self, planned: Planned) -> bool:
        """Return whether a run is no use: its trial, or its framework on such devices."""
        kind = WorkerKind.of(planned.trial)
        fewest = min(self._without_gpu.get(one, math.inf) for one in (kind, kind.plain))
        on_gpu = self.device == "gpu" and not planned.trial.on_cpu
        useless = on_gpu and planned.trial.devices >= fewest
        return (
            planned.kind in self._kinds
            or kind.framework in self._missing
            or useless
            or self._crashes.has_given_up(planned.trial)
        )
