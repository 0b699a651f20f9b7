"""A study that looks for a crossover, and one with real workers: what is measured next depends on the runs."""

from __future__ import annotations

import os

from asking_study import Asking, measured, part_of
from conv2d_data import grid
from fake_study import run_study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.monitor_csv import read_monitor
from trainspeed.core.result import RunResult
from trainspeed.core.run import Status
from trainspeed.studies.conv2d.sweeps import Bisection, crossovers
from trainspeed.worker import backends

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
