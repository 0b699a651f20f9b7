"""What a turn of a group is, and which arms begin at once: by the first block, without a process."""

from __future__ import annotations

from dataclasses import replace

import pytest

from study_data import make_run
from trainspeed.conduct import turn_plan
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.schedule import schedule
from trainspeed.conduct.turn_plan import TurnPlan, places_of
from trainspeed.conduct.turns import FEW_ROUNDS, ROUNDS
from trainspeed.core.levers.host import ALL_CORES
from trainspeed.core.result import Turn
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
    plan.turns(group, ROUNDS, [1.0] * len(group))
    return plan


def test_a_turn_has_as_many_epochs_in_every_block_by_the_pace_of_the_first_that_has_one():
    group, plan = group_of(*PAIR), TurnPlan(device="cpu", turn_s=5.0)

    assert plan.turns(group, ROUNDS, []).each.epochs == 1, "no arm has come so far: nothing is kept"
    first = plan.turns(group, ROUNDS, [1.0, 1.0])
    assert (first.rounds, first.each.epochs) == (20, 1)
    assert plan.turns(group, ROUNDS, [0.1, 0.1]) == first
    assert plan.turns(group, 2, [0.1, 0.1]).each.epochs == 5, "of other rounds"


@pytest.mark.parametrize("rounds", [ROUNDS, FEW_ROUNDS])
@pytest.mark.parametrize("epoch_s", [0.0, 0.2, 1.0, 30.0])
def test_the_first_epoch_of_a_turn_counts_for_no_arm_where_one_is_fed_ahead(epoch_s, rounds):
    """tf.data makes its batches while the others train; theirs is slower, as they come back to cold caches."""
    fed = {"framework": "tensorflow", "batch_size": 8}
    plain, group = group_of(fed), group_of(fed, fed | {"pipeline": "tf_data"})

    usual, ahead = (
        TurnPlan(device="cpu", turn_s=0.6).turns(one, rounds, [epoch_s] * len(one)) for one in (plain, group)
    )
    assert (usual.each.lead_in, ahead.each.lead_in) == (0, 1)
    assert ahead.each.epochs >= 2 and ahead.rounds >= rounds


def test_a_burst_beside_the_first_block_of_a_group_takes_no_turns_from_trials_that_had_some_before():
    group, others = group_of(*PAIR), group_of({"batch_size": 8}, {"batch_size": 32})
    plan, alone = (TurnPlan(device="cpu", turn_s=0.6) for _ in range(2))
    runs = [run_of(one.trial, seconds) for one in group for seconds in (0.3, 0.2, 0.9)]
    plan.learn(runs)
    plan.learn([replace(run, turns=()) for run in runs for _ in range(9)])

    assert plan.turns(group, ROUNDS, [0.9, 0.9]) == alone.turns(group, ROUNDS, [0.3, 0.3])
    assert plan.turns(group, 2, [0.1, 0.1]) == alone.turns(group, 2, [0.1, 0.1]), "it was not disturbed"
    assert plan.turns(others, ROUNDS, [0.9, 0.5]) == alone.turns(others, ROUNDS, [0.3, 0.5])


def run_of(trial, epoch_s, before_s=(5.0, 5.0)):
    """Return a run of two turns with such epochs."""
    turns = tuple(Turn(round=number, place=0, start_s=0.0, epoch_s=(epoch_s, epoch_s)) for number in range(2))
    return make_run(trial=trial, epoch_s=(*before_s, *[epoch_s] * 4), turns=turns)


@pytest.mark.parametrize(
    ("second_s", "device", "change", "paced"),
    [
        (1.2, "cpu", {}, True),
        (1.3, "cpu", {}, False),  # something was compiled in it
        (1.2, "gpu", {}, False),
        (1.2, "cpu", {"epochs": 21}, True),
        (1.2, "cpu", {"epochs": 22}, False),  # as many as were asked for need it
        (1.2, "cpu", {"levers": (ALL_CORES,)}, False),
    ],
)
def test_a_second_epoch_before_the_turns_is_left_out_where_it_told_nothing_but_the_pace(
    second_s, device, change, paced
):
    group = group_of(*(one | change for one in PAIR))
    plan = TurnPlan(device=device, turn_s=5.0)
    plan.learn([run_of(group[0].trial, 1.0, (5.0, 1.0)), run_of(group[1].trial, 1.0, (5.0, second_s))])

    assert not plan.is_paced(group, ROUNDS), "the first block of this group tells it"
    assert plan.turns(group, ROUNDS, [1.0, 1.0]).rounds == 20
    assert plan.is_paced(group, ROUNDS) == paced
    assert not plan.is_paced(group, FEW_ROUNDS)
    assert not planned(group, device).is_paced(group, ROUNDS), "a run that failed has told nothing"


def test_a_run_without_a_second_epoch_tells_nothing_of_it():
    group = group_of(*PAIR)
    plan = planned(group)
    plan.learn([run_of(one.trial, 1.0, (1.0,)) for one in group])

    assert not plan.is_paced(group, ROUNDS)


def test_from_the_second_block_on_arms_begin_at_once_each_on_a_core():
    assert planned(group := group_of(*PAIR)).side_by_side(group, group, ROUNDS) == 2
    many = group_of(*({"batch_size": size} for size in (1, 2, 4, 8, 16, 32)))
    assert planned(many).side_by_side(many, many, ROUNDS) == 4, "as many as there are cores"


@pytest.mark.parametrize("rounds", [ROUNDS, FEW_ROUNDS])
def test_in_the_first_block_they_begin_alone_and_end_at_once(rounds):
    """The sizes of a chart, which have one block each, have a chart of their first epochs, too."""
    group, plan = group_of(*PAIR), TurnPlan(device="cpu", turn_s=5.0)

    assert (plan.side_by_side(group, group, rounds), plan.end_at_once(group, group)) == (1, 2)


def test_arms_that_use_all_cores_begin_at_once_too_but_torchs_whose_threads_would_spin():
    for framework, at_once in {"tensorflow": 2, "jax": 2, "torch": 1}.items():
        trial = {"framework": framework, "levers": (("threads", "all"),)}
        group = group_of(trial, trial | {"batch_size": 16})
        assert planned(group).side_by_side(group, group, ROUNDS) == at_once


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

    assert plan.begin_alone(group, group), "they had begun at once: they are tried again"
    assert plan.side_by_side(group, group, ROUNDS) == 1
    assert plan.end_at_once(group, group) is None
    assert not plan.begin_alone(group, group), "now they do not fit together"


def test_who_begins_beside_whom_and_where():
    """A last one alone has nothing beside it, and moves and rests as the others do."""

    def places(*numbers):
        return [(place["others_built"], place["core_offset"]) for place in places_of(*numbers)]

    assert places(3, 2, 2) == [(1, 0), (1, 1), (0, 0)]
    assert places(4, 3, 3) == [(2, 0), (2, 1), (2, 2), (0, 0)]
    assert places(3, 1, 2) == [(0, 0), (0, 1), (0, 0)], "they end at once, and begin one after the other"
    assert places(2, 1, None) == [(0, None)] * 2


@pytest.mark.parametrize(
    ("changes", "device", "cores"),
    [
        (PAIR, "cpu", 1),
        (({}, {"devices": 2, "strategy": "ddp"}), "cpu", 2),
        (({}, {"levers": (ALL_CORES,)}), "cpu", None),
        (({}, {"pipeline": "threads", "workers": 2, "augment": True}), "cpu", None),
        (PAIR, "gpu", None),
    ],
)
def test_others_count_on_the_cores_that_any_arm_of_the_block_runs_on(changes, device, cores):
    """The same for all arms: a neighbour on the core of a second thread disturbs the round of the first one, too."""
    assert TurnPlan(device=device, turn_s=5.0).cores(group_of(*changes)) == cores
    for ends_at_once in (2, None):
        assert [place["block_cores"] for place in places_of(2, 1, ends_at_once, block_cores=cores)] == [
            cores
        ] * 2
