"""A runner whose workers only pretend."""

from __future__ import annotations

from dataclasses import dataclass, field

from fake_runs import BeginsRuns
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.schedule import schedule
from trainspeed.core.ledger import Ledger
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status
from trainspeed.core.trial import grid


@dataclass
class FakeWorker(BeginsRuns):
    """Answers with `outcomes` in turn, then with good runs; with `dies`, it dies in its first run."""

    log: list
    framework: str
    outcomes: list = field(default_factory=list)
    versions: dict = field(default_factory=lambda: {"fake": "1"})
    alive: bool = True
    dies: bool = False

    def wait_until_ready(self) -> None:
        self.log.append(("ready", self.framework))

    def run(self, request, timeout_s):
        self.log.append(request)
        if self.dies:
            self.alive = False
            return RunOutcome(status=Status.CRASHED, reason="the worker was killed")
        if self.outcomes:
            return self.outcomes.pop(0)
        return RunOutcome(status=Status.OK, result=RunResult(epoch_s=(2.0, 1.0, 1.0), images_per_epoch=16))

    def close(self) -> None:
        self.log.append(("closed", self.framework))


TRIALS = grid(
    framework=["torch", "jax"],
    model="cnn10",
    layout="channels_last",
    batch_size=8,
    images_per_epoch=16,
    epochs=3,
)


def runner(tmp_path, log, start=None, *, device="cpu", **changes) -> Runner:
    return Runner(
        ledger=Ledger(tmp_path),
        session="s1",
        study="layout",
        device=device,
        machine={"cpu": "x"},
        start=lambda name, settings: start(name) if start else FakeWorker(log, name),
        timeout_s=9,
        **changes,
    )


def measure_all(runner: Runner, *parts: TrialSet) -> list:
    return [runner.measure(planned) for planned in schedule(parts, seed=0)]
