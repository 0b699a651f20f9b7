"""A study that asks for more, and workers that measure at once in this process."""

from __future__ import annotations

from conv2d_data import VERSIONS
from fake_runs import BeginsRuns
from study_data import make_trial
from trainspeed.conduct import study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status

RUN_S = 10.0  # of a run by a clock that is made up
ENOUGH = 8  # an endless loop is one that asks so often


def trial_of(**changed):
    return make_trial(dataset="digits", **changed)


def part_of(*batch_sizes, blocks=1, **changed):
    trials = tuple(trial_of(batch_size=size, images_per_epoch=16, **changed) for size in batch_sizes)
    return TrialSet(trials=trials, blocks=blocks)


class Asking:
    """Asks for parts in turn, then for nothing; records the batch sizes of the runs it was shown each time."""

    def __init__(self, *rounds, for_ever=False) -> None:
        self.rounds, self.for_ever, self.shown = list(rounds), for_ever, []

    def __call__(self, runs):
        self.shown.append([run.trial.batch_size for run in runs])
        assert len(self.shown) < ENOUGH, "it asks for ever"
        if self.for_ever:
            return self.rounds[0]
        return self.rounds.pop(0) if self.rounds else []


class FakeWorkers:
    """Starts workers in this process that measure at once; `ends` decides how a trial ends."""

    def __init__(self) -> None:
        self.started, self.closed, self.requests = [], 0, []
        self.ends = lambda request: RunOutcome(
            status=Status.OK, result=RunResult(epoch_s=(1.0, 0.5, 0.5), stages_s={"train": 2.0})
        )

    def __call__(self, python, backend, *, environment=None, pool=None):
        self.started.append(backend)
        return FakeWorker(self, backend)

    @property
    def measured(self):
        return [(request.trial.batch_size, request.trial.seed) for request in self.requests]


class FakeWorker(BeginsRuns):
    alive, import_s = True, 0.125

    def __init__(self, workers, backend) -> None:
        self.versions = VERSIONS.get(backend.split(".")[-1].removesuffix("_backend"), {"fake": "1.0"})
        self._workers = workers

    def wait_until_ready(self) -> None:
        pass

    def run(self, request, timeout_s):
        self._workers.requests.append(request)
        return self._workers.ends(request)

    def close(self) -> None:
        self._workers.closed += 1


def measured(out, more, *parts, **options):
    context = Context(id=options.pop("id", "s1"), out=out, **options)
    plan = Plan(others=parts, more=more)
    return study.measure("s", plan, timeout_s=1, interval_s=1, context=context)
