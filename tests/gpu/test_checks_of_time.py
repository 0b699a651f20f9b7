"""On a real GPU: an epoch by its own timer, by the driver, by a stopwatch outside and beside a bare loop."""

from __future__ import annotations

import os

import pytest

from trainspeed.conduct.machine import devices
from trainspeed.core.probe import Probe
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge import check_time
from trainspeed.judge.checks import CheckOutcome

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]


@pytest.fixture(params=FRAMEWORKS)
def runs(request, shared_worker):
    """The run of a framework's probe of epochs."""
    probe = Probe(framework=request.param, name="epoch")
    outcome = shared_worker(request.param).run(probe, device="gpu", gpu_uuids=devices()[1][:1])
    assert outcome.status is Status.OK, outcome.reason
    return RunSet((Run(session="s", study="check", trial=probe, block=0, probe=outcome.result.probe),))


def test_nothing_is_left_to_do_when_the_clock_is_read_and_what_is_not_waited_for_is_noticed(runs):
    """And the wall clock is within 1 % of the device's own timer: CUDA events in torch, else the profiler."""
    (check,) = check_time.waits_for_device(runs)
    assert check.outcome is CheckOutcome.OK, check
    assert "noticed" in check.measured and runs[0].probe["device_s"] is not None, check
    assert runs[0].probe["timer"] == ("cuda_events" if check.framework == "torch" else "profiler")


def test_an_epoch_takes_as_long_as_in_a_bare_loop_and_by_a_stopwatch(runs):
    for find in (check_time.as_fast_as_bare_loop, check_time.agrees_with_stopwatch):
        (check,) = find(runs)
        assert check.outcome in (CheckOutcome.OK, CheckOutcome.UNDECIDED), check
