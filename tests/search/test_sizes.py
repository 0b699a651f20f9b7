"""How large the stages of a search are, where a switch, such as a compiler, makes each of its runs long."""

import math
from dataclasses import replace

import pytest

import search_world
from search_world import FIELDS, START, World, drive, kept, switch, switches
from study_data import make_run
from trainspeed.core.programs import SHARE, again_s
from trainspeed.core.run import Role
from trainspeed.search.candidates import Candidates
from trainspeed.search.feasible import SEEDS_APART, SWITCHES_PER_GROUP, feasible
from trainspeed.search.findings import Decision
from trainspeed.search.known import Known
from trainspeed.search.search import Search
from trainspeed.search.sizes import Costs, Sizes, columns_for, costs_of, long_switches, most_switches
from trainspeed.search.switch import combined, plain_trial

COMPILER = 1
GAINS = {0: math.log(1.35), COMPILER: math.log(1.10)}
RUN_S, COMPILING_S = 5.0, 20.0
EMPTY = Known(START, switches(4))
PLAIN_JAX = plain_trial("jax", "cnn10", **FIELDS)


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def searched(budget_s, *, count=7, seed=0, done=(), **planted):
    """Return what a search of so many seconds did on a quiet machine with a compiler that pays."""
    noise = {"outliers": 0.0, "crashes": 0.0, "sd": 0.01, "seed": seed}
    world = World(**{"gains": GAINS, "run_s": RUN_S, "more_s": {COMPILER: COMPILING_S}} | noise | planted)
    return drive(Search(START, Candidates(switches=switches(count)), budget_s=budget_s), world, done)


def labels(measured):
    return {run.role for run in measured.runs}


def looked_at_again(measured):
    """Return the runs of a switch alone, or of the plain trial, beyond the first one of each."""
    behind = 2 * SEEDS_APART * math.ceil(len(measured.search.candidates.switches) / SWITCHES_PER_GROUP)
    return [r for r in measured.runs if r.role is Role.FEASIBLE and r.trial.seed >= START.seed + behind]


def on_in(measured, runs):
    return frozenset().union(*(measured.search.known.on_in(run.trial) for run in runs))


def spent_s(measured, fresh_blocks):
    """Return the seconds of all runs, and of so many fresh blocks."""
    fresh = [run for run in measured.runs if run.role in (Role.RECIPE, Role.PLAIN_AGAIN)]
    blocks = len({run.trial.seed for run in fresh})
    whole_s = sum(run.busy_s for run in fresh)
    return sum(run.busy_s for run in measured.runs) - whole_s * (1 - fresh_blocks / blocks)


def test_costs_are_those_of_each_switch_alone():
    costs = costs_of(searched(600.0).search.feasible)
    assert costs.plain_s == pytest.approx(RUN_S)
    assert costs.more_s[switch(COMPILER)] == pytest.approx(COMPILING_S)
    assert costs.more_s[switch(0)] == 0.0
    assert costs.of([switch(0), switch(COMPILER)], 1 / 2) == pytest.approx(RUN_S + COMPILING_S / 2)


def test_a_set_compiles_once_whatever_is_on_in_it():
    costs = Costs(plain_s=1.0, more_s={}, once_s={switch(0): 10.0, switch(1): 8.0})
    assert costs.once([switch(0), switch(1), switch(2)]) == 10.0
    assert costs.once([switch(2)]) == costs.once([]) == 0.0


def of_jax(on, first_s):
    """A first run of the plain trial, or of one with a switch, that compiles as it builds and in its first epoch."""
    stages_s = {"build": 6.0, "train": first_s + 2.0}
    more = {"label": str(Role.FEASIBLE), "stages_s": stages_s, "machine": {"device": "cpu"}}
    return make_run(trial=combined(PLAIN_JAX, on), epoch_s=(first_s, 1.0, 1.0), **more)


def test_with_jax_the_plain_trial_compiles_too_and_its_later_runs_count():
    runs = of_jax([], 9.0), of_jax([switch(0)], 11.0)
    found = feasible(switch(0), Known(PLAIN_JAX, switches(1), runs))
    costs = costs_of([found])

    assert costs.plain_s == pytest.approx(again_s(runs[0])) != runs[0].busy_s
    assert costs.more_s[switch(0)] == pytest.approx(2.0 * (1 - SHARE["jax"]))
    assert costs.once_s[switch(0)] == pytest.approx((6.0 + 10.0) * SHARE["jax"])


def test_runs_ahead_are_as_long_as_what_is_on_in_them():
    """Half of the screen's runs compile, all but the plain one of the fresh blocks, and no run of the control."""
    sizes = Sizes(races=0, columns=8, eliminate=2, large=0, confirm=6)
    costs = Costs(plain_s=1.0, more_s={switch(0): 4.0})
    ahead_s = sizes.ahead_s(EMPTY, costs, (), entered=switches(4), long=(), late=(), promising=())
    screen_s, elimination_s, fresh_s, control_s = 16 * 3.0, 2 * 4 * 5.0, 6 * (1.0 + 5.0), 6 * 1.0
    assert ahead_s == pytest.approx(screen_s + elimination_s + fresh_s + control_s)


def test_the_first_run_of_each_set_compiles_anew():
    """Each run of the screen is one, all of a round's four arms in its first block, and the fresh blocks' best."""
    sizes = Sizes(races=0, columns=8, eliminate=2, large=0, confirm=6)
    costs = [Costs(plain_s=1.0, more_s={}, once_s=once_s) for once_s in ({}, {switch(0): 10.0})]
    without_s, ahead_s = (
        sizes.ahead_s(EMPTY, own, (), entered=switches(4), long=(), late=(), promising=()) for own in costs
    )
    assert ahead_s == pytest.approx(without_s + 16 * 10.0 / 2 + 4 * 10.0 + 10.0)


def test_what_is_too_long_for_a_screen_runs_beside_the_others_some_times_or_once():
    sizes = Sizes(races=0, columns=8, looks=2, eliminate=0, large=0, confirm=6)
    costs = Costs(plain_s=1.0, more_s={switch(0): 4.0})
    long = (switch(0),)
    ahead_s = sizes.ahead_s(
        EMPTY, costs, (), entered=switches(4)[1:], long=long, late=long, promising=switches(2)
    )
    once_s = replace(sizes, looks=0).ahead_s(
        EMPTY, costs, (), entered=switches(4)[1:], long=long, late=long, promising=switches(2)
    )
    screen_s, beside_s, together_s, fresh_s, control_s = (
        16 * 1.0,
        2 * (1.0 + 5.0),
        1.0 + 5.0,
        6 * 6.0,
        6 * 1.0,
    )
    assert ahead_s == pytest.approx(screen_s + beside_s + fresh_s + control_s)
    assert once_s == pytest.approx(screen_s + together_s + fresh_s + control_s)
    assert long_switches(costs, switches(4)) == long
    assert long_switches(Costs(plain_s=4.0, more_s=costs.more_s), switches(4)) == ()


@pytest.mark.parametrize(
    ("count", "columns"), [(1, 8), (6, 8), (7, 12), (11, 12), (15, 16), (16, 20), (31, 32), (40, 32)]
)
def test_a_screen_has_the_fewest_columns_of_which_one_stays_empty(count, columns):
    assert columns_for(count) == columns
    assert most_switches(columns) < columns and most_switches(0) == 0


def test_a_screen_is_reckoned_with_half_of_the_switches_on():
    """Reckoned with all of them on, a search of ten minutes had none, and kept what it had by one look."""
    measured = searched(600.0)
    assert Role.SCREEN in labels(measured)
    assert {0, COMPILER} <= kept(measured.search)
    assert 0.7 * 600 <= spent_s(measured, fresh_blocks=6) <= 600


def test_where_a_screen_with_a_compiler_has_no_time_it_is_one_without():
    """And the compiler is on and off beside what is promising, which tells that it pays."""
    measured = searched(560.0, gains=GAINS | {COMPILER: math.log(1.05)})
    screened = [run for run in measured.runs if run.role is Role.SCREEN]
    beside = [run for run in measured.runs if run.role is Role.TOGGLE]
    assert screened and switch(COMPILER) not in on_in(measured, screened)
    assert {switch(0), switch(COMPILER)} <= on_in(measured, beside) and not looked_at_again(measured)
    assert measured.search.findings.screen.planned == 8
    assert {0, COMPILER} <= kept(measured.search)
    assert spent_s(measured, fresh_blocks=6) <= 560
    assert replace(measured.search, budget_s=None).findings == measured.search.findings


def test_what_was_too_long_for_the_screen_and_did_not_look_quick_enough_is_undecided():
    """It was in no run with others: that it is not faster in combination, nobody knows."""
    measured = searched(450.0, gains={0: math.log(1.35)}, seed=3)
    assert switch(COMPILER) not in on_in(measured, [r for r in measured.runs if r.role is Role.SCREEN])
    assert measured.search.decisions[switch(COMPILER)] in (Decision.UNDECIDED, Decision.NOT_FASTER_ALONE)


def test_where_no_screen_has_time_what_looked_quick_is_looked_at_again():
    measured = searched(800.0, more_s=dict.fromkeys(range(7), COMPILING_S))
    again = looked_at_again(measured)
    assert Role.SCREEN not in labels(measured)
    assert switch(0) in on_in(measured, again)
    assert len(again) == len({(run.trial.seed, run.trial.levers) for run in again})


def test_what_looked_quick_by_luck_is_dropped_by_further_looks():
    """A lever that does nothing was lucky once: without more looks it would be kept."""
    measured = searched(450.0)
    first = [run for run in measured.runs if run.role is Role.FEASIBLE and run.trial.seed < 4 * SEEDS_APART]
    lucky = [
        replace(run, epoch_s=tuple(s / 1.06 for s in run.epoch_s))
        if "made_05" in dict(run.trial.levers)
        else run
        for run in first
    ]
    alone = Search(START, Candidates(switches=switches(7)), runs=lucky)
    assert switch(5) in alone.elimination.left
    assert switch(5) not in searched(540.0, done=lucky).search.promising


def test_what_has_no_time_for_fresh_blocks_costs_the_others_none():
    """Nor a round: of these it is planned, of which fresh blocks have time."""
    measured = searched(260.0)
    assert kept(measured.search) >= {0} and COMPILER not in kept(measured.search)
    assert measured.search.decisions[switch(COMPILER)] is Decision.UNCONFIRMED
    assert measured.search.elimination.rounds
    assert spent_s(measured, fresh_blocks=6) <= 260
    drawn_again = replace(measured.search, budget_s=None)
    assert drawn_again.findings == measured.search.findings


def test_what_has_time_for_its_fresh_blocks_alone_is_not_tried_before():
    """On a GPU a try took half a minute: what brought most was confirmed no more, and the rest was not eliminated."""
    measured = searched(300.0)
    assert kept(measured.search) == {0, COMPILER}
    assert labels(measured) == {Role.FEASIBLE, Role.RECIPE, Role.PLAIN_AGAIN}
    assert spent_s(measured, fresh_blocks=6) <= 300
