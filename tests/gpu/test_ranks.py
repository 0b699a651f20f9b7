"""Over NCCL, too, a rank that dies, fails or hangs ends its run with its own words."""

from __future__ import annotations

import os

import pytest

from study_data import tiny_trial
from trainspeed.conduct.machine import devices
from trainspeed.core.run import Status

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]


@pytest.mark.parametrize(
    ("action", "status", "cause"),
    [
        ("train", Status.OK, None),
        ("die", Status.CRASHED, "killed"),
        ("run out of memory", Status.OOM, "out_of_memory"),
        ("hang", Status.CRASHED, "rank_silent"),
    ],
)
def test_a_rank_that_fails_ends_the_run_long_before_its_timeout(shared_worker, action, status, cause):
    _, uuids, _ = devices()
    if len(uuids) < 2:
        pytest.skip("NCCL gives two ranks two GPUs")
    trial = tiny_trial(layout="channels_last", batch_size=16, images_per_epoch=32, strategy="ddp", devices=2)

    outcome = shared_worker("torch").run(
        trial,
        device="gpu",
        gpu_uuids=uuids[:2],
        plant="probes.failing_ranks",
        environment={"TRAINSPEED_TEST_RANK": action},
        timeout_s=120,
    )

    assert (outcome.status, outcome.failure and outcome.failure.cause) == (status, cause), outcome.reason
