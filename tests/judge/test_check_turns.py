"""A training against itself and against more steps: what is right is ok, each planted fault is found."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.core.run import Role, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_turns import agrees_with_itself, finds_what_was_planted
from trainspeed.judge.checks import CheckOutcome

STEPS = {"batch_size": 8, "images_per_epoch": 80}
MORE = {"batch_size": 8, "images_per_epoch": 88}
QUIET = (1.0, 1.001, 0.999, 1.0, 1.002, 0.998)
NOISY = (1.0, 1.3, 0.7, 1.1, 0.9, 1.0)


def runs(again=QUIET, longer=tuple(1.1 * ratio for ratio in QUIET)):
    """Return six blocks of the three arms; the first takes 1 s for an epoch."""
    every = []
    for block, (again_s, longer_s) in enumerate(zip(again, longer, strict=True)):
        every.append(make_run(1.0, block=block, label=Role.CONTROL, **STEPS))
        every.append(make_run(again_s, block=block, label=Role.CONTROL_AGAIN, **STEPS))
        every.append(make_run(longer_s, block=block, **MORE))
    return RunSet(tuple(every))


@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        (QUIET, CheckOutcome.OK),
        ((1.0, 1.08, 0.94, 1.02, 0.97, 1.0), CheckOutcome.OK),  # covers 1, narrow enough to tell
        (NOISY, CheckOutcome.UNDECIDED),  # covers 1, and would with a favour of a tenth, too
        (tuple(1.01 * ratio for ratio in QUIET), CheckOutcome.OK),  # misses 1, and does not matter
        (tuple(1.02 * ratio for ratio in QUIET), CheckOutcome.UNDECIDED),  # misses 1, and may matter
        (tuple(1.05 * ratio for ratio in QUIET), CheckOutcome.NOT_OK),
    ],
)
def test_an_arm_that_is_favoured_is_found(again, outcome):
    (check,) = agrees_with_itself(runs(again=again))
    assert check.outcome is outcome and check.framework == "torch" and "half-width" in check.measured


@pytest.mark.parametrize(
    ("factor", "outcome"),
    [(1.1, CheckOutcome.OK), (1.0, CheckOutcome.NOT_OK), (1.21, CheckOutcome.NOT_OK)],
)
def test_more_steps_are_found_in_the_right_size_only(factor, outcome):
    (check,) = finds_what_was_planted(runs(longer=tuple(factor * ratio for ratio in QUIET)))
    assert (check.name, check.outcome) == ("A planted difference of 10 % is found", outcome)


def test_noise_that_hides_what_was_planted_leaves_it_undecided():
    (check,) = finds_what_was_planted(runs(longer=tuple(1.1 * ratio for ratio in NOISY)))
    assert check.outcome is CheckOutcome.UNDECIDED and "noisy" in check.reason


def test_too_few_blocks_decide_nothing():
    few = RunSet(runs().runs[:3])
    (itself,), (planted,) = agrees_with_itself(few), finds_what_was_planted(few)
    assert itself.outcome is planted.outcome is CheckOutcome.UNDECIDED
    assert planted.reason == "1 of 6 blocks that give an interval"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(Status.UNSUPPORTED, CheckOutcome.NOT_APPLICABLE), (Status.CRASHED, CheckOutcome.NOT_OK)],
)
def test_a_training_that_did_not_run_is_a_line_with_its_reason(status, outcome):
    failed = [
        make_run(label=Role.CONTROL, status=status, **STEPS),
        make_run(label=Role.CONTROL_AGAIN, status=status, **STEPS),
        make_run(status=status, **MORE),
    ]
    (itself,), (planted,) = (
        agrees_with_itself(RunSet(tuple(failed))),
        finds_what_was_planted(RunSet(tuple(failed))),
    )
    assert itself.outcome is planted.outcome is outcome and "for a test" in itself.reason


def test_another_training_is_not_what_was_planted():
    tiny = {"batch_size": 4, "images_per_epoch": 4}  # fewer than a batch of the one in turns
    others = (
        make_run(5.0, precision="bf16", **MORE),
        make_run(0.1, image_size=64, **MORE),
        make_run(1.0, **tiny),
    )
    (check,) = finds_what_was_planted(RunSet((*runs(), *others)))
    assert check.outcome is CheckOutcome.OK
