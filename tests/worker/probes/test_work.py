"""FLOPs and what they are compared with: a made-up training that does what it says, or does not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from trainspeed.core.probe import Probe
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge import check_work
from trainspeed.judge.checks import CheckOutcome
from trainspeed.worker.probes.work import EPOCHS, CountedWork, measure_work

SIDE = 1000
PRODUCT_S = 0.02  # 1e11 FLOP/s
STEP_FLOPS = 3e9
STEPS = 2
OK, NOT_OK, NOT_APPLICABLE = CheckOutcome.OK, CheckOutcome.NOT_OK, CheckOutcome.NOT_APPLICABLE


class Training:
    """A training that takes `epoch_s` for an epoch, but more for the first, and says what a step's FLOPs are."""

    def __init__(self, epoch_s: float, step_flops: float | None) -> None:
        self.epoch_s, self.step_flops = epoch_s, step_flops

    def train(self, another):
        done = [10 * self.epoch_s]
        while another(done):
            done.append(self.epoch_s)
        assert len(done) == EPOCHS
        return tuple(done)

    def inspect(self):
        return SimpleNamespace(step_flops=self.step_flops)


@pytest.fixture
def outcomes(fake_clock):
    """A function that measures and returns the outcomes of both checks, and the values."""

    def measure(*, epoch_s=0.1, step_flops=STEP_FLOPS, counted=STEP_FLOPS):
        work = CountedWork(
            training=Training(epoch_s, step_flops),
            count=lambda: counted,
            multiply=lambda: fake_clock.advance(PRODUCT_S),
            side=SIDE,
        )
        values = measure_work(work, STEPS, clock=fake_clock)
        trial = Probe(framework="torch", name="work")
        runs = RunSet((Run(session="s", study="check", trial=trial, block=0, probe=values),))
        found = tuple(make(runs)[0].outcome for make in (check_work.is_counted_right, check_work.is_possible))
        return found, values

    return measure


def test_what_is_counted_right_and_possible_is_ok(outcomes):
    found, values = outcomes()
    assert found == (OK, OK)
    assert values["multiplied_per_s"] == pytest.approx(1e11)
    assert values["trained_per_s"] == pytest.approx(6e10)  # without the first epoch


def test_a_wrong_count_is_found(outcomes):
    assert outcomes(step_flops=1.5 * STEP_FLOPS)[0] == (NOT_OK, OK)


def test_a_training_that_is_faster_than_the_device_is_found(outcomes):
    assert outcomes(epoch_s=0.05)[0] == (OK, NOT_OK)


def test_a_framework_that_counts_nothing_is_no_fault(outcomes):
    assert outcomes(counted=None)[0] == (NOT_APPLICABLE, OK)


def test_a_model_whose_flops_are_not_known_is_no_fault(outcomes):
    assert outcomes(step_flops=None)[0] == (NOT_APPLICABLE, NOT_APPLICABLE)
