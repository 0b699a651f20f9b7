"""Turns of a run: when it did something between its waits, what is compared of each, and how old lines are read."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from msgspec.structs import replace as replaced

from conv2d_data import make_run, make_trial
from study_data import layout_pair
from trainspeed.core.ledger_line import read_run
from trainspeed.core.result import Turn
from trainspeed.core.spans import active_spans_s, epoch_ends_s

STARTS_S = (20.0, 40.0)


@pytest.fixture
def trained():
    """Two epochs before its turns, two of 1 s in each; then 3 s of evaluation, and 27.5 s of waiting."""
    turns = tuple(
        Turn(round=number, place=0, start_s=start_s, epoch_s=(1.0, 1.0))
        for number, start_s in enumerate(STARTS_S)
    )
    stages_s = {"start": 2.0, "build": 3.0, "wait": 27.5, "train": 9.5, "evaluate": 3.0}
    (run, *_) = layout_pair([1.0])
    return replace(run, turns=turns, epoch_s=(4.0, 1.5, 1.0, 1.0, 1.0, 1.0), stages_s=stages_s, group=0)


@pytest.fixture
def called():
    """A first call and a warm-up of 15 s, two turns of 2 s, and 23 s of waiting; of a turn's calls some are kept."""
    turns = tuple(
        Turn(
            round=number,
            place=0,
            start_s=start_s,
            end_s=start_s + 2.0,
            call_s=(0.25, 0.5, 0.75),
            resident_s=(0.1,),
        )
        for number, start_s in enumerate(STARTS_S)
    )
    stages_s = {"start": 2.0, "kernel": 3.0, "wait": 23.0, "warm": 14.0}
    return make_run(make_trial(), turns=turns, stages_s=stages_s, group=0)


def test_a_training_was_active_before_its_turns_in_them_and_at_its_end(trained):
    on_gpu = replace(trained, machine={**trained.machine, "device": "gpu"})
    assert active_spans_s(on_gpu) == [(0.0, 10.5), (20.0, 22.0), (40.0, 42.0), (42.0, 45.0)]
    assert epoch_ends_s(on_gpu) == [9.0, 10.5, 21.0, 22.0, 41.0, 42.0]


def test_on_a_cpu_the_second_epoch_may_have_waited_and_is_not_shown(trained):
    """It begins when no arm is being built any more, and nothing says when that was."""
    assert active_spans_s(trained) == [(0.0, 9.0), (20.0, 22.0), (40.0, 42.0), (42.0, 45.0)]
    assert epoch_ends_s(trained) == [9.0, 21.0, 22.0, 41.0, 42.0]


def test_a_convolution_was_active_before_its_turns_and_in_them(called):
    assert active_spans_s(called) == [(0.0, 15.0), (20.0, 22.0), (40.0, 42.0)]
    assert epoch_ends_s(called) == []


def test_without_turns_it_was_active_all_the_time(called):
    alone = replace(called, turns=(), stages_s={"start": 2.0, "warm": 3.0})

    assert active_spans_s(alone) == [(0.0, 5.0)]


def test_of_a_turn_its_median_epoch_or_call_is_compared(trained, called):
    assert trained.round_s == {0: 1.0, 1: 1.0}
    assert called.round_s == {0: 0.5, 1: 0.5}


@pytest.mark.parametrize(
    ("lead_in", "counted", "of_round"), [(0, (1.0, 2.0, 4.0), 2.0), (1, (2.0, 4.0), 3.0)]
)
def test_what_leads_into_a_turn_does_not_count(trained, lead_in, counted, of_round):
    turns = tuple(replaced(turn, epoch_s=(1.0, 2.0, 4.0), lead_in=lead_in) for turn in trained.turns)
    run = replace(trained, turns=turns)

    assert run.later_epoch_s == counted * 2
    assert run.round_s == {0: of_round, 1: of_round}
    assert read_run(json.dumps(run.as_dict()).encode(), {}).turns == turns
    assert replaced(turns[0], lead_in=9).counted_epoch_s == (1.0, 2.0, 4.0), "somebody else's line"


def test_of_calls_there_are_no_epochs(called):
    assert (called.later_epoch_s, called.median_epoch_s, called.images_per_s) == ((), None, None)


@pytest.mark.parametrize("kind", ["trained", "called"])
def test_turns_go_through_a_line_and_back(request, kind):
    run = request.getfixturevalue(kind)
    line = json.dumps(run.as_dict(), allow_nan=False)

    assert read_run(line.encode(), {}).turns == run.turns


def test_a_line_of_the_first_runs_that_took_turns_is_read(trained):
    """It has no end of a turn and no calls."""
    line = trained.as_dict()
    assert [{*turn} for turn in line["turns"]] == [{"round", "place", "start_s", "epoch_s"}] * 2
    assert read_run(json.dumps(line).encode(), {}).turns == trained.turns
