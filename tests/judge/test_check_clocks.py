"""A GPU's clock over turns: steady, or not, and what holds it down."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.core.notes import CoresBusy, GpuSlowedDown
from trainspeed.core.result import Turn
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_clocks import is_steady
from trainspeed.judge.checks import CheckOutcome

STEADY = (1980, 1965) * 10
SLOWED = GpuSlowedDown(gpu=0, reason="hw_thermal_slowdown", share=0.1)


def judged(clocks, *, notes=(), device="gpu"):
    turns = tuple(
        Turn(round=number, place=0, start_s=1.0 * number, epoch_s=(0.5,), sm_clock_mhz=mhz)
        for number, mhz in enumerate(clocks)
    )
    run = make_run(turns=turns, notes=tuple(notes), machine={"device": device})
    (check,) = is_steady(RunSet((run,)))
    return check


@pytest.mark.parametrize(
    ("clocks", "outcome"),
    [
        (STEADY, CheckOutcome.OK),
        ((*STEADY, 1200), CheckOutcome.OK),  # one exception
        ((1980,) * 16 + (1700,) * 4, CheckOutcome.NOT_OK),
        (tuple(1980 - 20 * number for number in range(20)), CheckOutcome.NOT_OK),
        (STEADY[:4], CheckOutcome.UNDECIDED),
        ((None,) * 20, CheckOutcome.NOT_APPLICABLE),
    ],
    ids=["steady", "one exception", "low at times", "falls", "few", "not told"],
)
def test_a_clock_that_changes_is_found(clocks, outcome):
    assert judged(clocks).outcome is outcome


def test_a_fault_of_the_cooling_is_found_and_a_busy_neighbour_is_none():
    check = judged(STEADY, notes=[SLOWED])
    assert check.outcome is CheckOutcome.NOT_OK and "hw_thermal_slowdown on GPU 0" in check.reason
    assert judged(STEADY, notes=[CoresBusy(cores=1.0)]).outcome is CheckOutcome.OK


def test_a_cpu_has_no_such_clock():
    check = judged((None,) * 20, device="cpu")
    assert check.outcome is CheckOutcome.NOT_APPLICABLE and "no GPU" in check.reason
