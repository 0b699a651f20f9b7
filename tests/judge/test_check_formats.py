"""What convolutions ran in: as asked, something else, or not known."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.core.result import EffectivePrecision
from trainspeed.core.run import Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_formats import runs_in_16_bits, runs_in_layout
from trainspeed.judge.checks import CheckOutcome

OK, NOT_OK, NOT_APPLICABLE = CheckOutcome.OK, CheckOutcome.NOT_OK, CheckOutcome.NOT_APPLICABLE


def ran_in(dtypes, **more):
    return EffectivePrecision(dtypes=dtypes, **more)


@pytest.mark.parametrize(
    ("ran", "outcome"),
    [
        (ran_in({"bfloat16": 9}), OK),
        (ran_in({"bfloat16": 8, "float32": 1}), NOT_OK),
        (ran_in({"float16": 9}), NOT_OK),
        (ran_in({"bfloat16": None}, asked=True), NOT_APPLICABLE),
        (None, NOT_APPLICABLE),
    ],
    ids=["right", "one in 32 bits", "other 16 bits", "only asked", "not known"],
)
def test_sixteen_bits_are_these_sixteen_bits(ran, outcome):
    (check,) = runs_in_16_bits(RunSet((make_run(precision="bf16", effective_precision=ran), make_run())))
    assert (check.outcome, check.framework) == (outcome, "torch")


@pytest.mark.parametrize(
    ("status", "outcome"), [(Status.UNSUPPORTED, NOT_APPLICABLE), (Status.CRASHED, NOT_OK)]
)
def test_what_cannot_run_is_no_fault_and_what_fails_is_one(status, outcome):
    (bits,) = runs_in_16_bits(RunSet((make_run(precision="fp16", status=status),)))
    (layout,) = runs_in_layout(RunSet((make_run(layout="channels_first", status=status),)))
    assert bits.outcome is layout.outcome is outcome


def test_16_bits_that_are_not_to_be_had_say_nothing_of_the_layout():
    assert runs_in_layout(RunSet((make_run(precision="bf16", status=Status.UNSUPPORTED),))) == []


@pytest.mark.parametrize(
    ("trial", "ran", "outcome"),
    [
        ({"framework": "torch"}, {"channels_first": 9}, OK),
        ({"framework": "torch"}, {"channels_last": 9}, NOT_OK),
        ({"framework": "torch"}, {"channels_first": 8, "channels_last": 1}, NOT_OK),
        ({"framework": "torch", "compile": True}, {"channels_last": 9}, NOT_APPLICABLE),
        ({"framework": "jax", "compile": True}, {"channels_last": 9}, NOT_APPLICABLE),
        ({"framework": "torch"}, None, NOT_APPLICABLE),
    ],
)
def test_a_layout_that_nobody_asked_for_is_a_fault_where_no_compiler_chooses(trial, ran, outcome):
    run = make_run(layout="channels_first", effective_layout=ran, **trial)
    (check,) = runs_in_layout(RunSet((run,)))
    assert check.outcome is outcome


def test_the_worst_of_several_runs_counts():
    right, wrong = ({"channels_first": 9}, {"channels_last": 9})
    runs = [
        make_run(block=block, layout="channels_first", effective_layout=ran)
        for block, ran in enumerate((right, wrong, None))
    ]
    (check,) = runs_in_layout(RunSet(tuple(runs)))
    assert check.outcome is NOT_OK
