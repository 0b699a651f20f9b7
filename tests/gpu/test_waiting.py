"""On a real GPU: arms that wait for their turns leave it to the one that has its own, by the driver's samples."""

from __future__ import annotations

import os
from functools import partial
from statistics import fmean

import pytest

from trainspeed.conduct.machine import devices
from trainspeed.conduct.turns import Turns, measure_in_turns
from trainspeed.core.notes import GpuBusyWhileWaiting
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS, Trial
from trainspeed.worker.events import TakeTurn
from trainspeed.worker.turns import BUSY_WHILE_WAITING

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]
TURN_S = 3.0  # longer than a driver's sample by far


def turn(epoch_s):
    """Return turns of as many epochs as take their time."""
    return Turns(each=TakeTurn(epochs=max(1, round(TURN_S / fmean(epoch_s)))))


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_an_arm_that_waits_uses_less_than_1_percent_of_the_gpu(shared_worker, framework):
    fields = {"layout": "channels_last", "batch_size": 256, "images_per_epoch": 25_600, "epochs": 3}
    fields |= {"model": "cnn10", "dataset": "digits", "compile": framework == "jax"}
    begin = partial(
        shared_worker(framework).begin,
        Trial(framework=framework, **fields),
        device="gpu",
        gpu_uuids=devices()[1][:1],
        turns=True,
    )

    outcomes = measure_in_turns([begin, begin], "seed", turn)

    for outcome in outcomes:
        assert outcome.status is Status.OK, outcome.reason
        result = outcome.result
        assert not [note for note in result.notes if isinstance(note, GpuBusyWhileWaiting)]
        if result.waiting_gpu is None:
            pytest.skip(result.no_waiting_gpu)
        assert result.waiting_gpu <= BUSY_WHILE_WAITING
