"""Where the time of a plain step goes, from runs of its parts."""

import math

import pandas as pd
import pytest

from study_data import make_run, make_trial
from trainspeed.core.phase import COMPUTE, FIT, INPUT, WHOLE
from trainspeed.core.result import Turn
from trainspeed.core.run import Role
from trainspeed.studies.switches.step_parts import time_parts

START = make_trial(dataset="auto")
SECONDS = {WHOLE: 1.0, INPUT: 0.8, COMPUTE: 0.7, FIT: 1.25}


def runs(**changed):
    """Runs of each part, on the data set that "auto" stood for there."""
    trial = make_trial(dataset="digits")
    seconds = {phase: changed.get(phase.name, size) for phase, size in SECONDS.items()}
    return [make_run(size, trial=trial.only(phase)) for phase, size in seconds.items() if size]


def parts(**changed):
    (row,) = time_parts(runs(**changed), {"here": START}).to_dict("records")
    return row


def test_an_epoch_is_its_compute_the_wait_for_input_the_rest_and_validation():
    row = parts()

    assert row["epoch_s"] == pytest.approx(1.25)
    assert [row[f"{name}_s"] for name in ("compute", "waiting", "rest", "validation")] == pytest.approx(
        [0.7, 0.3, 0.0, 0.25]
    )


def turns(seconds):
    """Turns of one epoch each, a round after the other."""
    return tuple(Turn(round=n, place=0, start_s=float(n), epoch_s=(s,)) for n, s in enumerate(seconds))


def in_turns(again):
    """The row of one block on an AMD EPYC, which slowed down by 17 % in the middle."""
    measured = {
        (WHOLE, Role.CONTROL): (0.1532, 0.1534, 0.1786, 0.1816),
        (WHOLE, Role.CONTROL_AGAIN): again,
        (COMPUTE, Role.DATA): (0.1529, 0.1521, 0.1562, 0.1794),
        (INPUT, Role.DATA): (0.0001,) * 4,
    }
    found = [
        make_run(trial=START.only(phase), label=role, turns=turns(seconds), group=0)
        for (phase, role), seconds in measured.items()
    ]
    return time_parts(found, {"here": START}).to_dict("records")[0]


def test_a_machine_that_slows_down_between_two_rounds_adds_no_rest_of_a_step():
    """By the median of each arm's own turns, 7 % were the rest."""
    row = in_turns((0.1530, 0.1525, 0.1555, 0.1797))

    assert row["rest_s"] / row["epoch_s"] == pytest.approx(0.010, abs=0.001)
    assert (row["waiting_s"], row["hidden_s"]) == pytest.approx((0.0001, 0.0), abs=1e-5)
    assert row["noise_s"] / row["epoch_s"] == pytest.approx(0.008, abs=0.001)


def test_what_lies_within_what_the_same_steps_differ_by_counts_as_computing():
    row = in_turns((0.1500, 0.1500, 0.1555, 0.1797))

    assert (row["compute_s"], row["waiting_s"], row["rest_s"]) == (row["epoch_s"], 0.0, 0.0)
    assert row["hidden_s"] / row["epoch_s"] == pytest.approx(0.010, abs=0.001)


def test_what_is_neither_compute_nor_as_long_as_the_input_is_the_rest():
    row = parts(input=0.1)

    assert (row["waiting_s"], row["rest_s"]) == pytest.approx((0.1, 0.2))


def test_parts_that_take_longer_than_the_whole_leave_nothing_below_zero():
    row = parts(compute=1.1, fit=0.9)

    assert (row["compute_s"], row["waiting_s"], row["rest_s"], row["validation_s"]) == pytest.approx(
        (1.0, 0.0, 0.0, 0.0)
    )


def test_a_part_that_was_not_measured_is_not_0():
    row = parts(compute=None, fit=None)

    assert math.isnan(row["compute_s"]) and math.isnan(row["validation_s"])


def test_without_whole_steps_there_is_no_row():
    assert time_parts(runs(both=None), {"here": START}).empty
    assert isinstance(time_parts([], {"here": START}), pd.DataFrame)
