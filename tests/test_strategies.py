"""Two replicas on CPU cores, in each framework: they learn what one device learns, and fail as a row."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from trainspeed import interpreters
from trainspeed.child import Request
from trainspeed.detect import logical_cores
from trainspeed.environments import ROOT
from trainspeed.run import Status
from trainspeed.trial import FRAMEWORKS, STRATEGIES, Trial
from trainspeed.worker_process import WorkerProcess

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]

PROBE = Path(__file__).parent / "probes/strategy_probe.py"
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": ""}


def python_of(framework: str) -> str:
    python = interpreters.find(framework)
    if python is None:
        pytest.skip(f"{framework} is not installed here")
    return python


@pytest.fixture(scope="module", params=FRAMEWORKS)
def trained(request, tmp_path_factory):
    """Weights after one device and after two, from the framework's own environment."""
    folder = tmp_path_factory.mktemp(request.param)
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT / "lib")}
    subprocess.run(
        [python_of(request.param), str(PROBE), request.param, str(folder)],
        check=True,
        env=environment,
        timeout=300,
    )
    return request.param, folder


def distance(one, other, names) -> float:
    return float(np.sqrt(sum(((one[a] - other[b]).astype(float) ** 2).sum() for a, b in names)))


def test_replicas_stay_in_step(trained):
    """Each saw other images; their weights are the same to the last bit."""
    framework, folder = trained
    two = np.load(folder / f"{STRATEGIES[framework][1]}2.npz")

    assert two["apart"] == 0


def test_two_replicas_learn_what_one_device_learns(trained):
    """Without normalisation over the batch the mean gradient is the same to rounding: 0.1 % of the way."""
    framework, folder = trained
    one, two = np.load(folder / "single1.npz"), np.load(folder / f"{STRATEGIES[framework][1]}2.npz")
    count = sum(name.startswith("after") for name in one)
    went = distance(one, one, [(f"after{i}", f"before{i}") for i in range(count)])

    assert count == sum(name.startswith("after") for name in two) == 12
    assert distance(one, two, [(f"before{i}", f"before{i}") for i in range(count)]) == 0
    assert went > 0.1
    assert distance(one, two, [(f"after{i}", f"after{i}") for i in range(count)]) < 0.001 * went


def test_a_model_saved_from_two_devices_evaluates_the_same_on_one(trained):
    """Article 002 could not save its multi-GPU model."""
    framework, folder = trained
    spread = float((folder / f"{STRATEGIES[framework][1]}2.accuracy").read_text())

    assert float((folder / "loaded.accuracy").read_text()) == spread


def ddp(**changes) -> Trial:
    fields = {"framework": "torch", "model": "cnn10", "layout": "channels_last", "batch_size": 16}
    fields |= {"images_per_epoch": 32, "epochs": 3, "image_size": 8, "dataset": "digits"}
    return Trial(**{**fields, "strategy": "ddp", "devices": 2, **changes})


def run(worker, trial, timeout_s=120):
    request = Request(trial=trial, device="cpu", requested_at=time.monotonic(), evaluate=True)
    return worker.run(request, timeout_s)


def with_ranks_that(how: str) -> WorkerProcess:
    """A worker whose rank 1 does this in its second epoch."""
    environment = {**ENVIRONMENT, "TRAINSPEED_TEST_RANK": how, "PYTHONPATH": str(PROBE.parent)}
    return WorkerProcess(python_of("torch"), "failing_ranks", environment=environment)


def left_running(worker: WorkerProcess | None = None) -> list[psutil.Process]:
    """Processes of a run, wherever they hang now: forked, they have their worker's command line."""
    of_worker = worker._process.pid if worker else None
    found = (p for p in psutil.process_iter(["cmdline", "status", "pid"]) if p.info["pid"] != of_worker)
    return [p for p in found if "failing_ranks" in (p.info["cmdline"] or ()) and p.info["status"] != "zombie"]


@pytest.mark.parametrize(
    ("how", "status"), [("train", Status.OK), ("die", Status.CRASHED), ("run out of memory", Status.OOM)]
)
def test_a_rank_that_ends_ends_the_run_as_a_row_and_the_next_run_runs(how, status):
    worker = with_ranks_that(how)
    try:
        outcome = run(worker, ddp(), timeout_s=60)
        assert outcome.status == status
        assert (outcome.reason is None) if status == Status.OK else ("rank" in outcome.reason)
        assert not left_running(worker)
        assert run(worker, ddp(strategy="single", devices=1)).status == Status.OK
    finally:
        worker.close()


def test_a_rank_that_hangs_ends_at_the_timeout():
    worker = with_ranks_that("hang")
    try:
        assert run(worker, ddp(), timeout_s=10).status == Status.TIMEOUT
    finally:
        worker.close()
    assert not left_running()


def test_the_same_training_runs_under_torchrun(tmp_path):
    python = Path(python_of("torch"))
    (tmp_path / "trial.json").write_text(json.dumps(ddp().as_dict()))
    command = [python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += ["-m", "trainspeed.backends.torch_ranks", str(tmp_path / "trial.json")]
    environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": str(ROOT / "lib"), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=240)

    assert done.returncode == 0, done.stderr[-2000:]
    printed = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(printed["epoch_s"]) == 3
    assert np.isfinite(printed["final_loss"])
