"""What a turn of a group is, and which arms begin at once: by the first block, without a process."""

from __future__ import annotations

import pytest

from trainspeed.conduct import turn_plan
from trainspeed.conduct.plan import TrialSet, schedule
from trainspeed.conduct.turn_plan import TurnPlan, places_of
from trainspeed.conduct.turns import ROUNDS
from trainspeed.core.trial import Trial

FIELDS = {"framework": "torch", "model": "cnn10", "layout": "channels_last", "images_per_epoch": 64}


@pytest.fixture(autouse=True)
def cores(monkeypatch):
    monkeypatch.setattr(turn_plan, "usable_cores", lambda: [0, 1, 2, 3])


def group_of(*changes: dict):
    trials = tuple(Trial(**FIELDS | {"batch_size": 8, "epochs": 3} | change) for change in changes)
    return schedule([TrialSet(trials=trials, blocks=1)], seed=0)


PAIR = ({"batch_size": 8}, {"batch_size": 16})


def planned(group, device="cpu"):
    """Return the plan after the group's first block."""
    plan = TurnPlan(device=device, turn_s=5.0)
    assert plan.side_by_side(group, group, ROUNDS) == 1, "how long a first epoch takes alone"
    plan.turn(group, ROUNDS, [1.0] * len(group))
    return plan


def test_a_turn_has_as_many_epochs_in_every_block_by_the_pace_of_the_first_that_has_one():
    group, plan = group_of(*PAIR), TurnPlan(device="cpu", turn_s=5.0)

    assert plan.turn(group, ROUNDS, []).epochs == 1, "no arm has come so far: nothing is kept"
    assert plan.turn(group, ROUNDS, [1.0, 1.0]).epochs == 5
    assert plan.turn(group, ROUNDS, [0.1, 0.1]).epochs == 5
    assert plan.turn(group, 2, [0.1, 0.1]).epochs == 50, "of other rounds"


def test_from_the_second_block_on_arms_begin_at_once_each_on_a_core():
    assert planned(group := group_of(*PAIR)).side_by_side(group, group, ROUNDS) == 2
    many = group_of(*({"batch_size": size} for size in (1, 2, 4, 8, 16, 32)))
    assert planned(many).side_by_side(many, many, ROUNDS) == 4, "as many as there are cores"


def test_arms_that_use_all_cores_begin_at_once_too():
    group = group_of({}, {"levers": (("threads", "all"),)})

    assert planned(group).side_by_side(group, group, ROUNDS) == 2


def test_not_on_a_gpu_whose_autotuning_would_be_disturbed():
    group = group_of(*PAIR)

    assert planned(group, device="gpu").side_by_side(group, group, ROUNDS) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"strategy": "ddp", "devices": 2},
        {"pipeline": "processes", "workers": 2, "augment": True},
        {"pipeline": "generator", "augment": True},
        {"compile": True},
    ],
)
def test_not_where_an_arm_has_some_cores_to_itself_or_processes_of_its_own(change):
    group = group_of({}, change)

    assert planned(group).side_by_side(group, group, ROUNDS) == 1


def test_on_a_machine_with_one_core_one_after_the_other(monkeypatch):
    monkeypatch.setattr(turn_plan, "usable_cores", lambda: [0])
    group = group_of(*PAIR)

    assert planned(group).side_by_side(group, group, ROUNDS) == 1


def test_what_does_not_fit_while_several_are_built_begins_one_after_the_other_from_then_on():
    group = group_of(*PAIR)
    plan = planned(group)

    assert plan.begin_alone(group, group, ROUNDS), "they had begun at once: they are tried again"
    assert plan.side_by_side(group, group, ROUNDS) == 1
    assert not plan.begin_alone(group, group, ROUNDS), "now they do not fit together"


def test_who_begins_beside_whom_and_where():
    """A last one alone has nothing beside it, and moves and rests as the others do."""
    assert [tuple(place.values()) for place in places_of(3, at_once=2)] == [(1, 0), (1, 1), (0, 0)]
    assert [tuple(place.values()) for place in places_of(4, at_once=3)] == [(2, 0), (2, 1), (2, 2), (0, 0)]
    assert [tuple(place.values()) for place in places_of(2, at_once=1)] == [(0, None)] * 2
