"""Two replicas on CPU cores, in each framework: they learn what one device learns, and fail as a row."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from shared_workers import SharedWorker
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, STRATEGIES, Trial
from trainspeed.sensors.machine import logical_cores
from trainspeed.worker.device_errors import FAULTS, classify

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]


@pytest.fixture(scope="module", params=FRAMEWORKS)
def trained(request, shared_worker, tmp_path_factory):
    """Weights after one device and after two, from the framework's own environment."""
    folder = tmp_path_factory.mktemp(request.param)
    shared_worker(request.param).probed("probes.strategy_probe", request.param, folder)
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


def with_ranks_that(action: str, worker: SharedWorker, timeout_s: float = 120) -> RunOutcome:
    """A run whose rank 1 does this in its second epoch."""
    environment = {"TRAINSPEED_TEST_RANK": action}
    return worker.run(ddp(), plant="probes.failing_ranks", environment=environment, timeout_s=timeout_s)


WAITING = " while rank 0 waits"


@pytest.mark.parametrize(
    ("action", "status", "cause", "words"),
    [
        ("train", Status.OK, None, None),
        ("die", Status.CRASHED, "killed", "rank 1 was killed by SIGKILL"),
        ("die" + WAITING, Status.CRASHED, "killed", "rank 1 was killed by SIGKILL"),
        ("run out of memory", Status.OOM, "out_of_memory", "rank 1: MemoryError: cannot allocate memory"),
        (
            "run out of memory" + WAITING,
            Status.OOM,
            "out_of_memory",
            "rank 1: MemoryError: cannot allocate memory",
        ),
        ("hang", Status.CRASHED, "rank_silent", "in stage 'train'"),
    ],
)
def test_a_rank_that_fails_ends_the_run_with_its_words_and_the_next_run_runs(
    shared_worker, action, status, cause, words
):
    worker = shared_worker("torch")
    outcome = with_ranks_that(action, worker)

    assert outcome.status == status
    if action == "train":
        assert outcome.reason is None
    else:
        assert (outcome.failure.cause, outcome.failure.stage) == (cause, "train")
        assert words in outcome.reason
        assert worker.run(ddp(strategy="single", devices=1)).status == Status.OK
    assert not worker.processes()


def under_torchrun(
    module: str, worker: SharedWorker, folder: Path, environment: Mapping[str, str] | None = None
) -> tuple[RunOutcome, str, str]:
    """Run a module as two ranks of torchrun, on a trial in a folder; return how that ended, and what it said."""
    trial, said = folder / "trial.json", folder / "said"
    trial.write_text(json.dumps(ddp().as_dict()))
    command = ["--standalone", "--nproc-per-node", 2, "-m", module, trial]
    outcome = worker.probe("probes.forked_torchrun", said, *command, environment=environment)
    return outcome, *(said.with_suffix(f".{stream}").read_text() for stream in ("out", "err"))


def test_the_same_training_runs_under_torchrun(shared_worker, tmp_path):
    outcome, out, err = under_torchrun(
        "trainspeed.worker.backends.torchrun", shared_worker("torch"), tmp_path
    )

    assert outcome.status == Status.OK, err[-2000:]
    printed = json.loads(out.strip().splitlines()[-1])
    assert len(printed["epoch_s"]) == 3
    assert np.isfinite(printed["final_loss"])


def test_a_rank_that_hangs_ends_torchrun_too(shared_worker, tmp_path):
    outcome, _, err = under_torchrun(
        "probes.failing_torchrun", shared_worker("torch"), tmp_path, {"TRAINSPEED_TEST_RANK": "hang"}
    )

    assert outcome.status == Status.CRASHED
    assert (
        classify(next(line for line in err.splitlines() if "RuntimeError" in line)) == FAULTS["rank_silent"]
    )
    assert not shared_worker("torch").processes()
