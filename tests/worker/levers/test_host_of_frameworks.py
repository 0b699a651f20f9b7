"""Levers of the host in each framework, on the CPU: what was asked for is what a run sees."""

from __future__ import annotations

import pytest

from shared_workers import SMALL, SharedWorkers
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial
from trainspeed.sensors.machine import logical_cores

pytestmark = pytest.mark.slow

LEVERS = ["threads=all", "python_gc=off"]
TINY = SMALL | {"model": "cnn_keras", "image_size": 12}  # of few layers


@pytest.mark.skipif(logical_cores() == 1, reason="one core is all of them")
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_all_cores_and_no_garbage_collector_are_in_effect(shared_worker: SharedWorkers, framework):
    trial = Trial(framework=framework, compile=framework == "jax", levers=LEVERS, **TINY)
    outcome = shared_worker(framework).run(trial)

    assert outcome.status is Status.OK, outcome.reason
    seen = outcome.result.in_effect
    assert {name: seen[name][0] for name, _ in trial.levers} == dict(trial.levers)
    cores = logical_cores()
    assert f"may run on {cores} of {cores} core" in seen["threads"][1]


def test_a_lever_of_a_cpu_on_a_gpu_is_unsupported_and_no_run_without_it(shared_worker: SharedWorkers):
    """Of the same kind as one that was not seen in effect: never "no difference"."""
    outcome = shared_worker("tensorflow").run(
        Trial(framework="tensorflow", levers=LEVERS, **SMALL), plant="probes.gpu_levers"
    )

    assert (outcome.status, outcome.reason) == (Status.UNSUPPORTED, "threads: it does nothing on a GPU")
