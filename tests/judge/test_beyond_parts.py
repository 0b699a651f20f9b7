"""Whole steps that are faster than a part of them, which cannot be: planted, and what only looks so."""

import pytest

from study_data import make_run, make_trial
from trainspeed.core.phase import COMPUTE, INPUT
from trainspeed.judge.beyond_parts import beyond_parts
from trainspeed.judge.doubts import whole_study_doubts

FED = make_trial(pipeline="threads", workers=2, augment=True)
ARRAYS = make_trial()


def arm(trial, *seconds, group=1):
    """Return a run in each block, of those that take turns with one another."""
    return [make_run(s, trial=trial, block=block, group=group) for block, s in enumerate(seconds)]


def test_whole_steps_that_beat_a_part_of_theirs_are_found_with_what_it_may_be():
    runs = [*arm(FED, *[1.0] * 6), *arm(ARRAYS.only(COMPUTE), *[1.5] * 6), *arm(FED.only(INPUT), *[1.2] * 6)]

    found = beyond_parts(runs)
    assert [(one.trial, one.phase, one.times) for one in found] == [(FED, COMPUTE, 1.5), (FED, INPUT, 1.2)]
    (doubt,) = whole_study_doubts(runs, None)
    assert "threads (2 workers), 1.50 times as fast as their computing; " in doubt
    assert "1.20 times as fast as their input" in doubt and "do not rely there" in doubt


@pytest.mark.parametrize(
    ("whole_s", "part_s", "group"),
    [
        ([1.0] * 5, [1.5] * 5, 1),
        ([1.0, 1.6] * 3, [1.3] * 6, 1),
        ([1.0] * 6, [1.01] * 6, 1),
        ([1.0] * 6, [0.9] * 6, 1),
        ([1.0] * 6, [1.5] * 6, 2),
    ],
    ids=["too few blocks", "scatter", "within the margin", "a part as it should be", "at another time"],
)
def test_what_noise_or_another_time_may_have_made_is_no_doubt(whole_s, part_s, group):
    assert beyond_parts([*arm(ARRAYS, *whole_s), *arm(ARRAYS.only(COMPUTE), *part_s, group=group)]) == []
