"""The real frameworks, each in its own environment, through a real worker: a run is what it claims."""

from __future__ import annotations

import os

import pytest

from shared_workers import SharedWorker
from trainspeed.core.layer_table import forgotten
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, LAYOUTS, Trial
from trainspeed.core.user_model import FOLDER_VARIABLE

pytestmark = pytest.mark.slow

# Memory enough for a small run and not for a large one.
MEMORY_BYTES = {"tensorflow": 3 * 10**9, "torch": 10**9, "jax": 3 * 10**9}
LARGE_BATCH = {"tensorflow": 4096, "torch": 1400, "jax": 4096}
ENLARGES = """
def build(input_shape, classes, layout):
    from keras import Input, Model, layers
    x = layers.UpSampling2D(64)(inputs := Input(input_shape))
    return Model(inputs, layers.Dense(classes)(layers.GlobalAveragePooling2D()(x)))
"""
# JAX compiles cnn10 for ten seconds in each layout; test_models.py and test_precision_arms.py do.
SMALL = {"tensorflow": {"model": "cnn10", "image_size": 8}, "torch": {"model": "cnn10", "image_size": 8}}
SMALL |= {"jax": {"model": "cnn_keras", "image_size": 12}}


def trial(framework: str, **changes) -> Trial:
    fields = {"layout": "channels_last", "batch_size": 8, "images_per_epoch": 16, "epochs": 3}
    fields |= {"dataset": "digits", "compile": framework == "jax"} | SMALL[framework] | changes
    return Trial(framework=framework, **fields)


def run(worker: SharedWorker, a_trial: Trial, **asked):
    limit = {"TRAINSPEED_MEMORY_BYTES": str(MEMORY_BYTES[worker.framework])}
    limit[FOLDER_VARIABLE] = os.environ.get(FOLDER_VARIABLE, "")
    return worker.run(a_trial, environment=limit, **asked)


@pytest.fixture(scope="module", params=FRAMEWORKS)
def worker(request, shared_worker):
    return shared_worker(request.param)


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
        assert len(result.epoch_s) == 3
        assert all(seconds > 0 for seconds in result.epoch_s)
        assert result.images_per_epoch == 16
        assert 0 <= result.test_accuracy <= 1
        assert result.peak_memory_bytes > 0


def test_the_layout_that_ran_is_found_out(worker, both_layouts):
    """Uncompiled, a framework runs on this CPU what was asked; a compiler may choose for itself."""
    layouts = {layout: result.effective_layout for layout, result in both_layouts.items()}

    assert all(sum(counts.values()) > 0 for counts in layouts.values())
    if worker.framework == "torch":
        assert {layout: set(counts) for layout, counts in layouts.items()} == {
            name: {name} for name in LAYOUTS
        }


def test_the_default_precision_on_a_cpu_is_32_bits_and_the_run_says_that_there_was_no_tf32(both_layouts):
    dtypes = [dtype for result in both_layouts.values() for dtype in result.effective_precision.dtypes]
    assert {*dtypes} == {"float32"}
    assert {result.tf32 for result in both_layouts.values()} == {()}


def test_no_layer_forgot_the_layout(both_layouts):
    for layout, result in both_layouts.items():
        assert forgotten(result.layers) == []
        formats = {row["data_format"] for row in result.layers} - {None}
        assert formats == {layout}


def test_a_precision_that_a_cpu_lacks_is_unsupported(worker):
    outcome = run(worker, trial(worker.framework, precision="tf32"))

    assert outcome.status == Status.UNSUPPORTED
    assert "TF32 is a mode of NVIDIA GPUs" in outcome.reason


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_that_tensorflow_lacks_without_onednn_is_unsupported(shared_worker, layout):
    outcome = shared_worker("tensorflow").run(
        trial("tensorflow", layout=layout), plant="probes.without_onednn"
    )

    lacks = layout == "channels_first"  # with the other one it would be something else
    assert outcome.status == (Status.UNSUPPORTED if lacks else Status.CRASHED)
    assert ("TF_ENABLE_ONEDNN_OPTS=1 switches it on" in outcome.reason) is lacks


def test_on_a_machine_with_a_gpu_nothing_trains_on_the_cpu_instead(worker):
    """The worker sees no GPU here, as a CPU build would not."""
    outcome = run(worker, trial(worker.framework), device="gpu")

    assert outcome.status == Status.UNSUPPORTED
    assert "cannot reach the GPU" in outcome.reason


def test_running_out_of_memory_is_a_row_and_a_smaller_batch_still_runs(worker, own):
    """The allocation itself fails: activations of so many images need more than is allowed."""
    many = LARGE_BATCH[worker.framework]
    large = {"model": "cnn10", "batch_size": many, "images_per_epoch": many, "image_size": 32}
    if worker.framework == "tensorflow":  # of cnn10 it computes for half a minute until then
        large |= {"model": own(ENLARGES), "image_size": 8}
    big = run(worker, trial(worker.framework, **large))
    small = run(worker, trial(worker.framework))

    assert big.status == Status.OOM, big
    assert small.status == Status.OK, small
