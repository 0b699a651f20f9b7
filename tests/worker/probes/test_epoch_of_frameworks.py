"""An epoch by other clocks in the frameworks themselves: every clock sees every epoch."""

import pytest

from trainspeed.core.probe import Probe
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.worker.probes.epoch import EPOCHS

pytestmark = pytest.mark.slow


@pytest.fixture(params=FRAMEWORKS)
def ended(request, shared_worker):
    """A framework, and how its probe ended."""
    probe = Probe(framework=request.param, name="epoch", rounds=1)
    return request.param, shared_worker(request.param).run(probe, plant="few_rounds")


def test_every_clock_sees_every_epoch_that_counts(ended):
    framework, outcome = ended
    assert outcome.status is Status.OK, outcome.reason
    values = outcome.result.probe
    counted = [len(values[name]) for name in ("epoch_s", "outside_s", "ours_s", "bare_s", "leftover_s")]
    assert counted == [EPOCHS - 1, EPOCHS - 1, 1, 1, 1]
    assert values["device_s"] is None  # there is no such timer on a CPU
    assert all(0 < ours < 10 for ours in values["epoch_s"])
    noticed = values["unwaited_s"] > 0.01 * (values["queued_s"] + values["unwaited_s"])
    assert noticed or framework != "jax"  # JAX returns before a CPU is done: a step nobody waited for
