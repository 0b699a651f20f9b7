"""On a real GPU: a run is cold, keeps what it has measured, and trains where switches for TF32 meet a compiler."""

from __future__ import annotations

import os
from statistics import median

import pytest

from trainspeed.conduct.machine import devices
from trainspeed.core.notes import EndedAfterMeasuring
from trainspeed.core.result import TF32_WORK
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]


def run(shared_worker, framework, *, plant=None, **changed):
    """Measure on the first GPU, and look at everything afterwards."""
    fields = {"layout": "channels_last", "batch_size": 256, "images_per_epoch": 5120, "epochs": 3}
    fields |= {"model": "cnn10", "dataset": "digits", "compile": framework == "jax"} | changed
    asked = {"device": "gpu", "gpu_uuids": devices()[1][:1], "evaluate": True, "inspect": True}
    outcome = shared_worker(framework).run(Trial(framework=framework, **fields), plant=plant, **asked)
    assert outcome.status == Status.OK, outcome.reason
    return outcome.result


@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_the_first_epoch_of_a_second_run_is_as_cold_as_that_of_the_first(shared_worker, framework):
    """A compiler's cache would bring along what its autotuner chose: blocks would not be independent."""
    first, again = (run(shared_worker, framework, compile=True).epoch_s for _ in range(2))

    for epoch_s in (first, again):
        assert epoch_s[0] > 3 * median(epoch_s[1:]), (first, again)
    assert again[0] > 0.5 * first[0], (first, again)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_look_that_aborts_with_a_context_open_takes_no_epoch_and_no_later_run_with_it(
    shared_worker, framework
):
    aborted = run(shared_worker, framework, plant="probes.aborting")
    (note,) = (note for note in aborted.notes if isinstance(note, EndedAfterMeasuring))
    assert (len(aborted.epoch_s), note.stage, note.status) == (3, "inspect", "crashed")

    after = run(shared_worker, framework)
    assert len(after.epoch_s) == 3 and after.test_accuracy is not None
    assert not [note for note in after.notes if isinstance(note, EndedAfterMeasuring)]


@pytest.mark.parametrize("levers", [(), (("compile_mode", "max-autotune"),)], ids=["plain", "max-autotune"])
def test_a_compiler_takes_the_switches_for_tf32_as_a_run_sets_them(shared_worker, levers):
    """Inductor reads the older switches in some kernels, and refuses where only the newer ones are set."""
    if float(devices()[2]["gpus"][0]["compute_capability"]) < 8:
        pytest.skip("needs a GPU with TF32")
    result = run(shared_worker, "torch", precision="tf32", compile=True, levers=levers)

    assert len(result.epoch_s) == 3 and set(result.tf32) == set(TF32_WORK)
