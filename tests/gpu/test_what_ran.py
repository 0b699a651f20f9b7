"""What really ran on a real GPU, and what was timed there."""

from __future__ import annotations

import os
from dataclasses import replace
from statistics import median

import pytest

from trainspeed.conduct.machine import devices
from trainspeed.core.notes import ConvolutionsNotSeen, EpochNotResident, NotInspected
from trainspeed.core.phase import COMPUTE, INPUT
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, PIPELINES, WITH_WORKERS, Trial
from trainspeed.judge.ceilings import ceiling_trials

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
IMAGE_BYTES = 32 * 32 * 3 * 4


def trial(framework: str, **changed) -> Trial:
    fields = {"layout": "channels_last", "batch_size": 256, "images_per_epoch": 5120, "epochs": 3}
    fields |= {"model": "cnn10", "dataset": "digits", "compile": framework == "jax"} | changed
    return Trial(framework=framework, **fields)


def run(shared_worker, a_trial: Trial):
    """Measure it on the first GPU."""
    asked = {"device": "gpu", "gpu_uuids": devices()[1][:1], "evaluate": True, "inspect": True}
    outcome = shared_worker(a_trial.framework).run(a_trial, **asked)
    assert outcome.status == Status.OK, outcome.reason
    return outcome.result


@pytest.mark.parametrize("layout", ["channels_first", "channels_last"])
def test_inductor_says_in_which_layout_it_ran_the_convolutions(shared_worker, layout):
    result = run(shared_worker, trial("torch", compile=True, layout=layout))

    assert sum(result.effective_layout.values()) == 9
    assert not [note for note in result.notes if isinstance(note, ConvolutionsNotSeen)]


def test_a_step_is_profiled_and_its_kernels_take_no_longer_than_it(shared_worker):
    result = run(shared_worker, trial("torch", model="wrn28_1"))
    step_s = median(result.epoch_s[1:]) / 20

    assert not [note for note in result.notes if isinstance(note, NotInspected)]
    assert 0 < result.profile["matrix_share"] < 1 and result.profile["kernels"]
    assert 0 < result.profile["device_s"] < 1.1 * step_s


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_the_images_of_an_epoch_are_on_the_gpu_before_the_clock_runs(shared_worker, framework):
    """64 times as many images take so much more of its memory: 2 GB, beside 1 GB that XLA takes to choose kernels."""
    few, many = (
        run(shared_worker, trial(framework, images_per_epoch=images)) for images in (2560, 64 * 2560)
    )

    assert many.peak_memory_bytes - few.peak_memory_bytes > 0.5 * 63 * 2560 * IMAGE_BYTES
    assert not [note for note in many.notes if isinstance(note, EpochNotResident)]


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_every_pipeline_feeds_a_gpu_and_so_does_its_input_alone(shared_worker, framework, pipeline):
    if pipeline == "tf_data" and framework != "tensorflow":
        pytest.skip("TensorFlow's own")
    workers = 1 if pipeline in WITH_WORKERS else 0
    fed = trial(framework, pipeline=pipeline, workers=workers, images_per_epoch=1024)

    for phase in (fed.phase, INPUT, COMPUTE):
        if phase is COMPUTE and pipeline != "arrays":
            continue
        assert len(run(shared_worker, fed.only(phase)).epoch_s) == 3


def test_a_ceilings_epoch_takes_about_a_second(shared_worker):
    for a_trial in ceiling_trials(["bf16"], dataset="digits", seed=0):
        result = run(shared_worker, replace(a_trial, epochs=3))

        assert all(0.5 < seconds < 2 for seconds in result.epoch_s[1:]), (a_trial.part, result)
