"""The real frameworks, each in its own environment, through a real worker: a run is what it claims."""

from __future__ import annotations

import time

import pytest

from trainspeed import backends, interpreters
from trainspeed.child import Request
from trainspeed.layers import forgotten
from trainspeed.run import Status
from trainspeed.trial import FRAMEWORKS, LAYOUTS, Trial
from trainspeed.worker_process import WorkerProcess

pytestmark = pytest.mark.slow

# On the CPU, with memory enough for a small run (JAX wants most) and not for a large one.
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "", "TRAINSPEED_MEMORY_BYTES": str(3 * 10**9)}


def trial(framework: str, **changes) -> Trial:
    fields = {
        "layout": "channels_last",
        "batch_size": 8,
        "images_per_epoch": 16,
        "epochs": 3,
        "image_size": 8,
    }
    compiled = framework == "jax"
    fields |= {"model": "cnn10", "dataset": "digits", "compile": compiled} | changes
    return Trial(framework=framework, **fields)


def run(worker: WorkerProcess, a_trial: Trial, **changes):
    return worker.run(Request(trial=a_trial, device="cpu", requested_at=time.monotonic(), **changes), 300)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def worker(request):
    python = interpreters.find(request.param)
    if python is None:
        pytest.skip(f"{request.param} is not installed here")
    process = WorkerProcess(python, backends.MODULES[request.param], environment=ENVIRONMENT)
    process.framework = request.param
    yield process
    process.close()


@pytest.fixture(scope="module")
def both_layouts(worker):
    outcomes = {
        layout: run(worker, trial(worker.framework, layout=layout), evaluate=True, inspect=True)
        for layout in LAYOUTS
    }
    assert [outcome.status for outcome in outcomes.values()] == [Status.OK] * 2, [
        o.reason for o in outcomes.values()
    ]
    return {layout: outcome.result for layout, outcome in outcomes.items()}


def test_both_layouts_train_and_are_measured(both_layouts):
    for result in both_layouts.values():
        assert len(result["epoch_s"]) == 3
        assert all(seconds > 0 for seconds in result["epoch_s"])
        assert result["images_per_epoch"] == 16
        assert 0 <= result["test_accuracy"] <= 1
        assert result["peak_memory_bytes"] > 0


def test_the_layout_that_ran_is_found_out(worker, both_layouts):
    """Uncompiled, a framework runs on this CPU what was asked; a compiler may choose for itself."""
    found = {layout: result["effective_layout"] for layout, result in both_layouts.items()}

    assert all("channels" in text or "XLA" in text for text in found.values())
    if worker.framework == "torch":
        assert found == {layout: layout for layout in LAYOUTS}


def test_strict_fp32_is_what_ran(both_layouts):
    assert {result["effective_precision"] for result in both_layouts.values()} == {"float32"}


def test_no_layer_forgot_the_layout(both_layouts):
    for layout, result in both_layouts.items():
        assert forgotten(result["layers"]) == []
        told = {row["data_format"] for row in result["layers"]} - {None}
        assert told == {layout}


def test_a_precision_that_a_cpu_lacks_is_unsupported(worker):
    outcome = run(worker, trial(worker.framework, precision="tf32"))

    assert outcome.status == Status.UNSUPPORTED
    assert "TF32 is a mode of NVIDIA GPUs" in outcome.reason


def test_on_a_machine_with_a_gpu_nothing_trains_on_the_cpu_instead(worker):
    """The worker sees no GPU here, as a CPU build would not."""
    request = Request(trial=trial(worker.framework), device="gpu", requested_at=time.monotonic())
    outcome = worker.run(request, 300)

    assert outcome.status == Status.UNSUPPORTED
    assert "cannot reach the GPU" in outcome.reason


def test_running_out_of_memory_is_a_row_and_a_smaller_batch_still_runs(worker):
    """The allocation itself fails: activations of 4,096 images of 32 pixels want more than is allowed."""
    big = run(worker, trial(worker.framework, batch_size=4096, images_per_epoch=4096, image_size=32))
    small = run(worker, trial(worker.framework))

    assert big.status == Status.OOM, big
    assert small.status == Status.OK, small
