import dataclasses
import itertools
from collections import Counter

import pytest

from study_data import make_run, make_trial, no_use_after
from trainspeed.conduct.plan import Plan, TrialSet, one_per_framework, planner, still_to_do
from trainspeed.conduct.schedule import schedule
from trainspeed.core.errors import UserError
from trainspeed.core.run import Role, Status
from trainspeed.core.trial import FRAMEWORKS, LAYOUTS, grid

CORE = grid(
    framework=list(FRAMEWORKS),
    model="cnn10",
    layout=list(LAYOUTS),
    batch_size=[32, 64],
    images_per_epoch=128,
    epochs=3,
)
SURVEY = grid(
    framework="torch", model="wrn28_2", layout=list(LAYOUTS), batch_size=8, images_per_epoch=64, epochs=3
)


def blocks_of(plan):
    """Return block -> [(label, trial without seed)] in order."""
    kinds = {}
    for planned in plan:
        kinds.setdefault(planned.block, []).append(planned.kind)
    return kinds


# The plan.


def test_every_block_runs_every_trial_once_block_after_block():
    plan = schedule([TrialSet(trials=CORE, blocks=6)], seed=0)
    assert [planned.block for planned in plan] == sorted(planned.block for planned in plan)
    for kinds in blocks_of(plan).values():
        assert Counter(kinds) == Counter(("", trial) for trial in CORE)
    assert len(blocks_of(plan)) == 6


def test_the_order_is_another_in_every_block():
    orders = {
        tuple(kinds) for kinds in blocks_of(schedule([TrialSet(trials=CORE, blocks=6)], seed=0)).values()
    }
    assert len(orders) == 6


def test_the_arms_of_a_comparison_are_neighbours_in_random_order():
    """A machine that slows down for minutes then affects both arms of a pair, and of the control."""
    part = TrialSet(trials=CORE, blocks=6, factors=("layout",), controls=one_per_framework(CORE, ["torch"]))
    orders = set()
    for kinds in blocks_of(schedule([part], seed=0)).values():
        groups = [dataclasses.replace(trial, layout=LAYOUTS[0]) for _, trial in kinds]
        runs_of_one_group = [
            group for group, before in zip(groups, [None, *groups], strict=False) if group != before
        ]
        assert len(runs_of_one_group) == len(set(groups)) == 6
        orders.add(tuple(trial.layout for _, trial in kinds if trial.framework == "jax"))
    assert len(orders) > 1


def test_the_seed_alone_decides_the_order():
    part = TrialSet(trials=CORE, blocks=3)
    assert schedule([part], seed=4) == schedule([part], seed=4)
    assert schedule([part], seed=4) != schedule([part], seed=5)
    assert set(schedule([part], seed=4)) == set(schedule([part], seed=5))


def test_more_blocks_later_leave_the_order_of_the_first_as_it_was():
    """A study that is continued with more blocks has the same beginning."""
    short, long = (schedule([TrialSet(trials=CORE, blocks=blocks)], seed=0) for blocks in (2, 6))
    assert long[: len(short)] == short


def test_the_place_in_a_block_is_random():
    """Over 200 blocks every trial comes first about equally often: no arm always follows another."""
    first = Counter(
        kinds[0] for kinds in blocks_of(schedule([TrialSet(trials=CORE, blocks=240)], seed=0)).values()
    )
    assert len(first) == len(CORE) == 12
    assert max(first.values()) <= 40  # 20 expected, standard deviation 4.3


@pytest.mark.parametrize("seed", [0, 1, 7])
@pytest.mark.parametrize("blocks", [6, 12])
def test_in_each_pair_of_a_comparison_either_comes_first_in_half_of_the_blocks(seed, blocks):
    """Those that do not fit into memory together run one after the other: the second on a device that is warm."""
    survey = TrialSet(trials=SURVEY, blocks=3, factors=("layout",))
    part = TrialSet(trials=CORE, blocks=blocks, factors=("layout",), controls=one_per_framework(CORE))
    before = Counter()
    for kinds in blocks_of(schedule([part, survey], seed=seed)).values():
        for one, other in itertools.combinations([kind for kind in kinds if kind[1] in CORE], 2):
            before[one, other] += 1
            before[other, one] += 0
    assert set(before.values()) == {blocks // 2}


def test_an_odd_number_of_blocks_is_out_of_balance_by_one():
    first = Counter(
        kinds[0][1].layout
        for kinds in blocks_of(schedule([TrialSet(trials=SURVEY, blocks=9)], seed=0)).values()
    )
    assert sorted(first.values()) == [4, 5]


def test_the_training_seed_is_the_trials_plus_the_block_equal_in_all_arms():
    part = TrialSet(trials=tuple(make_trial(layout=layout, seed=10) for layout in LAYOUTS), blocks=3)
    seeds = {(planned.block, planned.trial.seed) for planned in schedule([part], seed=0)}
    assert seeds == {(0, 10), (1, 11), (2, 12)}


def test_a_control_runs_twice_in_every_block_under_two_labels():
    plan = schedule([TrialSet(trials=CORE, blocks=3, controls=(CORE[0],))], seed=0)
    for kinds in blocks_of(plan).values():
        assert Counter(label for label, trial in kinds if trial == CORE[0]) == {
            Role.CONTROL: 1,
            Role.CONTROL_AGAIN: 1,
        }
        assert all(label == "" for label, trial in kinds if trial != CORE[0])
        assert len(kinds) == len(CORE) + 1


def test_both_runs_of_a_control_have_the_same_seed():
    plan = schedule([TrialSet(trials=CORE, blocks=2, controls=(CORE[0],))], seed=0)
    pairs = {planned.block: set() for planned in plan}
    for planned in plan:
        if planned.label:
            pairs[planned.block].add(planned.trial)
    assert all(len(trials) == 1 for trials in pairs.values())


def test_a_survey_runs_only_in_its_own_blocks():
    plan = schedule([TrialSet(trials=CORE, blocks=6), TrialSet(trials=SURVEY, blocks=2)], seed=0)
    blocks = blocks_of(plan)
    assert [len(kinds) for kinds in blocks.values()] == [len(CORE) + len(SURVEY)] * 2 + [len(CORE)] * 4


def test_a_trial_that_two_parts_name_runs_once_by_the_first():
    plan = schedule(
        [TrialSet(trials=CORE, blocks=3, controls=CORE[:1]), TrialSet(trials=CORE[:2], blocks=1)], seed=0
    )
    assert plan == schedule([TrialSet(trials=CORE, blocks=3, controls=CORE[:1])], seed=0)


def test_a_trial_named_twice_in_one_part_runs_once():
    assert len(schedule([TrialSet(trials=(CORE[0], CORE[0]), blocks=1)], seed=0)) == 1


def test_a_part_with_a_label_of_its_own_runs_beside_the_same_trial():
    parts = [TrialSet(trials=CORE, blocks=2), TrialSet(trials=CORE[:1], blocks=1, label=Role.ALLOCATION)]
    kinds = [planned.kind for planned in schedule(parts, seed=0)]
    assert kinds.count((Role.ALLOCATION, CORE[0])) == 1
    assert kinds.count(("", CORE[0])) == 2


LEFT_OUT = TrialSet(trials=CORE, blocks=0, parameter="survey_blocks")


@pytest.mark.parametrize("parts", [[], [TrialSet(trials=(), blocks=6)], [LEFT_OUT]])
def test_nothing_asked_for_is_nothing_planned(parts):
    assert schedule(parts, seed=0) == ()


@pytest.mark.parametrize(
    ("parameter", "blocks", "message"),
    [
        ("blocks", 0, r"^blocks \(=0\) must be a whole number from 1 to 1000: 6 or more give an interval\.$"),
        ("blocks", -1, r"^blocks \(=-1\)"),
        ("blocks", 2.5, r"^blocks \(=2.5\)"),
        ("blocks", True, r"^blocks \(=True\)"),
        ("blocks", 100_000_000, r"^blocks \(=100000000\)"),
        ("survey_blocks", -1, r"^survey_blocks \(=-1\) must be a whole number from 0 to 1000: 0 leaves it"),
        ("pipeline_blocks", 1001, r"^pipeline_blocks \(=1001\)"),
    ],
)
def test_blocks_that_make_no_study_are_refused_by_the_name_of_their_parameter(parameter, blocks, message):
    with pytest.raises(UserError, match=message):
        TrialSet(trials=CORE, blocks=blocks, parameter=parameter)


@pytest.mark.parametrize("parameter", ["frameworks", "layout"])
def test_an_empty_list_is_named_as_the_parameter(parameter):
    @planner
    def plan(*, frameworks, layout):
        return Plan(others=(TrialSet(trials=grid(framework=frameworks, layout=layout), blocks=1),))

    with pytest.raises(UserError, match=f"^{parameter} is an empty list: name at least one"):
        plan(**{"frameworks": ["torch"], "layout": ["channels_last"], parameter: []})


def test_one_trial_per_framework_is_measured_twice_the_last_layout_of_its_first():
    chosen = one_per_framework(CORE)
    assert [(t.framework, t.layout, t.batch_size) for t in chosen] == [
        (framework, "channels_last", 32) for framework in FRAMEWORKS
    ]
    assert set(chosen) <= set(CORE)
    assert one_per_framework(()) == ()


# What a resumed report has left.


def run_of(planned, status):
    return make_run(trial=planned.trial, block=planned.block, label=planned.label, status=status)


def left_of(plan, done, *missing):
    return still_to_do(plan, done, no_use_after(done, *missing))


def plan_of_two_trials():
    return schedule([TrialSet(trials=CORE[:2], blocks=3, controls=CORE[:1])], seed=0)


def test_a_fresh_session_has_everything_to_do():
    plan = plan_of_two_trials()
    assert left_of(plan, []) == plan


def test_what_ended_well_is_not_done_again():
    plan = plan_of_two_trials()
    first_block = [p for p in plan if p.block == 0]
    assert left_of(plan, [run_of(p, Status.OK) for p in first_block]) == plan[len(first_block) :]
    assert left_of(plan, [run_of(p, Status.OK) for p in plan]) == ()


def test_what_crashed_is_done_again():
    plan = plan_of_two_trials()
    assert left_of(plan, [run_of(plan[0], Status.CRASHED)]) == plan


def test_a_run_that_crashed_and_then_went_well_is_done():
    plan = plan_of_two_trials()
    (alone,) = (p for p in plan if p.block == 0 and not p.label)
    again = [run_of(alone, Status.CRASHED), run_of(alone, Status.OK)]
    assert left_of(plan, again) == tuple(p for p in plan if p != alone)


@pytest.mark.parametrize("status", [Status.OOM, Status.TIMEOUT, Status.UNSUPPORTED, Status.INVALID])
def test_what_would_end_the_same_is_not_tried_again_in_any_block(status):
    plan = plan_of_two_trials()
    left = left_of(plan, [run_of(plan[0], status)])
    assert left == tuple(p for p in plan if p.kind != plan[0].kind)
    assert len(left) == len(plan) - 3


def test_a_framework_that_was_not_installed_is_tried_again():
    """It may be installed by now; its row has no versions."""
    plan = plan_of_two_trials()
    missing = dataclasses.replace(run_of(plan[0], Status.UNSUPPORTED), versions={})
    assert left_of(plan, [missing]) == plan


def test_a_control_of_which_half_was_measured_is_measured_anew():
    """Its halves are compared: they must not be of two starts, on two days."""
    plan = plan_of_two_trials()
    halves = [p for p in plan if p.block == 0 and p.label in (Role.CONTROL, Role.CONTROL_AGAIN)]
    assert len({p.group for p in halves}) == 1

    assert left_of(plan, [run_of(halves[0], Status.OK)]) == plan
    assert left_of(plan, [run_of(p, Status.OK) for p in halves]) == tuple(p for p in plan if p not in halves)


def test_a_comparison_counts_when_it_is_whole_on_one_node():
    """Of a node that was lost in mid-block the half stays, and the block is measured whole on another."""
    plan = plan_of_two_trials()
    here, there = [
        [dataclasses.replace(run_of(p, Status.OK), node=node) for p in plan if p.block == 0 and p.label]
        for node in ("a-1", "a-2")
    ]
    alone = next(p for p in plan if p.block == 0 and not p.label)

    assert left_of(plan, [here[0], there[1]]) == plan
    left = tuple(p for p in plan if p.block or p == alone)
    assert left_of(plan, [here[0], *there]) == left


def test_a_framework_that_is_still_missing_makes_nobody_begin_anew():
    plan = plan_of_two_trials()
    without = {p.trial.framework for p in plan[:1]}
    missing = [
        dataclasses.replace(run_of(p, Status.UNSUPPORTED), versions={})
        for p in plan
        if p.trial.framework in without
    ]
    done = [*missing, *(run_of(p, Status.OK) for p in plan if p.trial.framework not in without)]

    assert left_of(plan, done, *without) == ()
    assert left_of(plan, done) == tuple(p for p in plan if p.trial.framework in without)


def test_another_batch_size_is_another_trial_to_do():
    plan = plan_of_two_trials()
    assert left_of(plan, [make_run(batch_size=16)]) == plan
