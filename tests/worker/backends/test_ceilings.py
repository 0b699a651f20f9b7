"""What a device can do at most."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from shared_workers import SharedWorkers
from trainspeed.core.phase import CEILINGS
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.sensors.cpu import FLAGS_VARIABLE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def probed(shared_worker, tmp_path_factory):
    """What the probe says of the ceilings."""
    out = tmp_path_factory.mktemp("probe") / "out.json"
    shared_worker("torch").probed("probes.ceilings_probe", out)
    return json.loads(out.read_text())


def test_the_work_of_a_ceiling_is_known_beforehand(probed):
    """A product of square matrices of 2,048, a convolution of 8 x 128 x 28 x 28, a copy of 256 MiB."""
    ceilings = probed

    assert ceilings["matmul"]["flops"] == 2 * 2048**3
    assert ceilings["conv"]["flops"] == 2 * 8 * 28 * 28 * 128 * 128 * 3 * 3
    assert ceilings["copy"]["bytes"] == 2 * 256 * 2**20, "read and written"


@pytest.mark.parametrize("part", ["matmul", "conv"])
def test_torchs_own_counter_finds_the_same_work(probed, part):
    assert probed[part]["counted"] == probed[part]["flops"]
    assert probed[part]["bytes"] is None


def test_a_copy_multiplies_nothing(probed):
    assert probed["copy"]["flops"] is None
    assert probed["copy"]["counted"] == 0


def trial(part: str, precision: str = "fp32") -> Trial:
    """As the notebook's, but few steps."""
    made = next(t for t in ceiling_trials([precision], dataset="digits", seed=0) if t.part == part)
    return replace(made, images_per_epoch=1, epochs=3)


def run(shared_worker: SharedWorkers, a_trial: Trial):
    """Measure it as on a CPU that has bfloat16 and no float16."""
    environment = {FLAGS_VARIABLE: "avx512_bf16"}
    return shared_worker("torch").run(
        a_trial, environment=environment, plant="probes.short_ceilings", evaluate=True, inspect=True
    )


@pytest.mark.parametrize(
    ("part", "precision"), [*((phase.name, "fp32") for phase in CEILINGS), ("conv", "bf16")]
)
def test_a_ceiling_is_timed_and_trains_nothing(shared_worker, part, precision):
    outcome = run(shared_worker, trial(part, precision))

    assert outcome.status == Status.OK, outcome.reason
    assert len(outcome.result.epoch_s) == 3
    assert all(seconds > 0 for seconds in outcome.result.epoch_s)
    assert outcome.result.repeats >= 1
    assert outcome.result.test_accuracy is None
    assert outcome.result.skipped_steps is None
    assert (outcome.result.step_bytes if part == "copy" else outcome.result.step_flops) > 1e8


@pytest.mark.parametrize(
    ("precision", "reason"),
    [("tf32", "TF32 is a mode of NVIDIA GPUs"), ("fp16", "this CPU has no fp16 arithmetic")],
)
def test_a_ceiling_in_a_precision_that_the_device_lacks_is_a_row(shared_worker, precision, reason):
    outcome = run(shared_worker, trial("matmul", precision))

    assert outcome.status == Status.UNSUPPORTED
    assert reason in outcome.reason
