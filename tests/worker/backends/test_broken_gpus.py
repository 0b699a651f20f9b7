"""The real frameworks on a GPU that cannot be used: one row with a reason, and nothing in the way of the CPU."""

from __future__ import annotations

import pytest

from study_data import tiny_trial
from trainspeed.core.convolution import LIBRARIES, Conv2dTrial
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.worker.device_errors import fails_for_all

pytestmark = pytest.mark.slow
PLANT = "probes.broken_gpus"


def training(framework):
    return tiny_trial(framework=framework, layout="channels_last")


def convolution(library):
    return Conv2dTrial(
        library=library,
        mode=LIBRARIES[library][0],
        images=2,
        height=8,
        width=8,
        channels=3,
        filters=4,
        calls=3,
    )


@pytest.mark.parametrize("make", [training, convolution])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_gpu_that_cannot_be_used_is_a_row_with_the_reason(shared_worker, framework, make):
    outcome = shared_worker(framework).run(make(framework), device="gpu", plant=PLANT)

    assert outcome.status is Status.UNSUPPORTED, outcome
    assert "cannot reach the GPU that is here" in outcome.reason
    assert fails_for_all(outcome.failure), outcome.failure


def test_a_plugin_that_cannot_start_is_not_in_the_way_of_the_cpu(shared_worker):
    """JAX starts every plugin that it finds, unless it is told which platform to use; a training is told likewise."""
    outcome = shared_worker("jax").run(convolution("jax"), plant=PLANT)

    assert outcome.status is Status.OK, outcome.reason
