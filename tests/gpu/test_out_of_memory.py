"""A GPU's memory that runs out is a row that says so, and the next run has all of it."""

from __future__ import annotations

import os

import pytest

from trainspeed.conduct.machine import devices
from trainspeed.core.notes import EndedAfterMeasuring, EpochNotResident
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_memory_that_runs_out_is_known_and_gone_with_its_process(shared_worker, framework):
    """The first convolution alone gives 105 GB for 8,192 images of 224 pixels, and its gradient as much again."""
    _, uuids, _ = devices()
    fields = {"model": "cnn10", "layout": "channels_last", "epochs": 3, "dataset": "digits"}
    fields |= {"framework": framework, "compile": framework == "jax"}
    large = Trial(**fields, batch_size=8192, images_per_epoch=8192, image_size=224)
    small = Trial(**fields, batch_size=8, images_per_epoch=16, image_size=8)
    worker = shared_worker(framework)
    asked = {"device": "gpu", "gpu_uuids": uuids[:1], "evaluate": True, "inspect": True}

    failed, ran = (worker.run(trial, **asked) for trial in (large, small))

    assert (failed.status, failed.failure.cause) == (Status.OOM, "out_of_memory"), failed.reason
    assert ran.status == Status.OK, ran.reason
    # What the GPU itself or another program does meanwhile is no fault of the run before.
    assert not [note for note in ran.result.notes if isinstance(note, EndedAfterMeasuring | EpochNotResident)]
    assert len(ran.result.epoch_s) == 3 and ran.result.test_accuracy is not None
