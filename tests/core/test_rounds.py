"""Rounds in which others used the machine count where there are too few without."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conv2d_data import make_run, make_trial
from study_data import layout_pair
from trainspeed.core.result import DISTURBED_CORES, Turn
from trainspeed.core.rounds import are_disturbed, common_rounds

BUSY, QUIET = DISTURBED_CORES + 0.1, DISTURBED_CORES


def run_with(*others_cores, first=0):
    """A run of a turn a round, of 1 s, 2 s, 3 s …, in which others kept so many cores busy."""
    turns = tuple(
        Turn(round=first + n, place=0, start_s=n, epoch_s=(1.0 + n,), others_cores=cores)
        for n, cores in enumerate(others_cores)
    )
    (run, *_) = layout_pair([1.0])
    epoch_s = (9.0, 9.0, *(turn.epoch_s[0] for turn in turns))
    return replace(run, turns=turns, epoch_s=epoch_s, group=0)


@pytest.mark.parametrize(
    ("one", "other", "rounds"),
    [
        ([QUIET] * 4, [QUIET] * 4, {0, 1, 2, 3}),
        ([None] * 4, [None] * 4, {0, 1, 2, 3}),  # an older line, or turns too short to tell
        ([QUIET, BUSY, QUIET, QUIET], [QUIET] * 4, {0, 2, 3}),
        ([BUSY, QUIET, QUIET, QUIET], [QUIET, BUSY, QUIET, QUIET], {2, 3}),
        ([QUIET] * 4, [QUIET, QUIET, QUIET, BUSY], {0, 1, 2}),  # of both, though it disturbed one alone
        ([BUSY, QUIET, BUSY, QUIET], [QUIET, BUSY, QUIET, QUIET], {0, 1, 2, 3}),  # one would be too few
        ([BUSY] * 4, [BUSY] * 4, {0, 1, 2, 3}),
    ],
)
def test_disturbed_rounds_are_left_out_of_both_where_enough_are_left(one, other, rounds):
    both = [run_with(*one), run_with(*other)]

    assert common_rounds(both) == rounds
    assert are_disturbed(both) == (BUSY in one + other and len(rounds) == 4)


def test_only_rounds_of_all_are_common():
    assert common_rounds([run_with(QUIET, QUIET, QUIET), run_with(QUIET, QUIET, first=1)]) == {1, 2}


@pytest.mark.parametrize(
    ("others_cores", "epoch_s"),
    [([QUIET, BUSY, QUIET, QUIET], 3.0), ([QUIET, BUSY, BUSY, BUSY], 2.5), ([None] * 4, 2.5)],
)
def test_a_runs_own_pace_is_that_of_the_turns_that_were_left_alone(others_cores, epoch_s):
    run = run_with(*others_cores)

    assert run.median_s * run.images_per_epoch / run.trial.images_per_epoch == epoch_s


def test_so_is_a_calls():
    turns = tuple(
        Turn(round=n, place=0, start_s=n, call_s=(s,), resident_s=(s / 2,), others_cores=cores)
        for n, (s, cores) in enumerate([(1.0, 0.0), (9.0, BUSY), (2.0, 0.0), (3.0, 0.0)])
    )
    run = make_run(make_trial(), call_s=(1.0, 9.0, 2.0, 3.0), turns=turns, group=0)

    assert (run.median_call_s, run.median_resident_s) == (2.0, 1.0)
