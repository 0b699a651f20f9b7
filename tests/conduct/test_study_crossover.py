"""A study that looks for a crossover, and one with real workers: what is measured next depends on the runs."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

import pytest

from conv2d_data import GPU_MACHINE, VERSIONS, grid
from fake_runs import BeginsRuns
from fake_study import run_study
from study_data import make_trial
from trainspeed.conduct import study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.core.monitor_csv import read_monitor
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status
from trainspeed.studies.conv2d.sweeps import Bisection, crossovers
from trainspeed.worker import backends

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

    def __call__(self, python, backend, *, environment=None):
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


@pytest.fixture
def monitors():
    return []


@pytest.fixture
def workers(monkeypatch, monitors):
    """Replace everything that would start another process."""

    @contextmanager
    def monitoring(out, interval_s, cores):
        monitors.append(out)
        yield

    fakes = FakeWorkers()
    monkeypatch.setattr(study, "WorkerProcess", fakes)
    monkeypatch.setattr(study, "monitoring", monitoring)
    monkeypatch.setattr(study, "devices", lambda: ("cpu", (), {**GPU_MACHINE, "device": "cpu"}))
    monkeypatch.setattr("trainspeed.conduct.study.find_interpreter", lambda framework: sys.executable)
    return fakes


def measured(out, more, *parts, **options):
    context = Context(id=options.pop("id", "s1"), out=out, **options)
    plan = Plan(others=parts, more=more)
    return study.measure("s", plan, timeout_s=1, interval_s=1, context=context)


# With a crossover to find.

SIZES = {"height": 100, "width": 100, "filter_size": 3}
PAIR = (["tensorflow"], ["scipy_signal"])
VALUES = {"images": [1, 64]}


def convolving(request):
    """TensorFlow takes 0.25 s and 0.01 s an image, SciPy 0.035 s an image: equal at 10 images."""
    images = request.trial.images
    took = 0.035 * images if request.trial.library == "scipy_signal" else 0.25 + 0.01 * images
    return RunOutcome(status=Status.OK, result=RunResult(call_s=(took,) * 3, stages_s={"kernel": took}))


def test_a_crossover_is_bisected_within_one_study(workers, tmp_path):
    workers.ends = convolving
    sizes = grid(*PAIR, VALUES, **SIZES)
    result = measured(tmp_path, Bisection(sizes, 3, 6), TrialSet(trials=sizes.trials(), blocks=6))

    (sweep,) = crossovers(result.runs, sizes)
    assert [point.size for point in sweep.crossover.points] == [1, 8, 14, 23, 64]
    assert sweep.crossover.bracket == (8, 14)
    assert sweep.crossover.low <= 10 <= sweep.crossover.high
    assert len(result.runs) == 2 * 5 * 6
    assert {run.import_s for run in result.runs} == {0.125}


# With real workers.


def test_real_workers_measure_what_is_asked_for_next(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(backends, "MODULES", dict(backends.MODULES))
    more = Asking([part_of(8, image_size=8, epochs=3, blocks=2)])
    result = run_study(Context(id="s1", out=tmp_path), frameworks=["torch"], blocks=1, more=more)

    assert [run.status for run in result.runs] == [Status.OK] * len(result.runs)
    assert len(result.runs) == 2 + 1, "a block of both layouts, and one more of the first"
    assert len({run.monitor for run in result.runs}) == 1
    samples, _ = read_monitor(result.folder / result.runs[-1].monitor)
    assert samples["utc"].iloc[-1].isoformat() >= result.runs[-1].started_at, "it went on to the last run"
