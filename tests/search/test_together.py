"""Switches each of which runs alone, and of which some are refused together."""

import pytest

import search_world
from search_world import START, World, drive, kept, random_world, switch, switches
from trainspeed.core.run import Role, Status
from trainspeed.search.findings import Decision
from trainspeed.search.search import Search
from trainspeed.search.switch import Candidates

GAINS = {0: 0.3, 1: 0.2, 2: 0.13, 3: 0.06}
SCREENED = (Role.SCREEN, Role.ELIMINATE)


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def searched(*clashes, screen=True, gains=GAINS, count=6, **machine):
    """Return what a search finds on a quiet machine that refuses these sets of levers."""
    world = World(gains=gains, clashes=tuple(map(frozenset, clashes)), outliers=0.0, crashes=0.0, **machine)
    search = Search(START, Candidates(switches=switches(count)))
    return drive(search, world, fits=lambda one: screen or not one.label.startswith(SCREENED))


def refused(measured, role):
    return [run for run in measured.runs if run.role is role and run.status is Status.UNSUPPORTED]


@pytest.mark.parametrize("screen", [True, False])
@pytest.mark.parametrize(
    ("clashes", "left"),
    [
        ([{0, 1}], {0, 2, 3}),
        ([{2, 3}], {0, 1, 2}),
        ([{0, 1, 2}], {0, 1, 3}),
        ([{0, 1}, {2, 3}], {0, 2}),
        ([{0, 1}, {0, 2}, {0, 3}], {1, 2, 3}),
    ],
)
def test_what_is_fastest_of_what_goes_together_is_kept(clashes, left, screen):
    """Without a screen each switch was measured alone, and all together would be refused in every fresh block."""
    found = searched(*clashes, screen=screen)
    assert kept(found.search) == left
    assert not refused(found, Role.RECIPE)
    gone = {switch(number) for number in GAINS.keys() - left}
    assert {found.search.decisions[one] for one in gone} <= {Decision.EXCLUDED, Decision.NOT_FASTER}


def test_it_is_told_which_do_not_go_together_and_why():
    (clash,) = searched({0, 1}, screen=False).search.findings.clashes
    assert (set(clash.switches), clash.reason) == ({switch(0), switch(1)}, "for a test")


def test_a_screen_tells_a_pair_that_is_refused_without_another_run():
    found = searched({0, 1})
    assert refused(found, Role.SCREEN)
    assert not [run for run in found.runs if run.role is Role.TOGETHER]
    assert not refused(found, Role.ELIMINATE)


def test_what_ran_together_in_pairs_is_not_tried_again():
    assert not [run for run in searched().runs if run.role is Role.TOGETHER]


def test_what_never_ran_together_runs_once_before_fresh_blocks():
    runs = [run for run in searched(screen=False).runs if run.role is Role.TOGETHER]
    assert sorted(len(run.trial.levers) for run in runs) == [0, 4]


def test_a_crash_that_would_not_come_again_is_no_clash():
    found = searched(screen=False, seed=3)
    crashed = [
        run.__class__(**run.__dict__ | {"status": Status.CRASHED, "epoch_s": (), "in_effect": {}})
        if run.role is Role.TOGETHER
        else run
        for run in found.runs
    ]
    search = Search(START, found.search.candidates, runs=crashed)
    assert search.together.clashes == {}
    assert {one.lever for one in search.promising} == {f"made_0{number}" for number in GAINS}


@pytest.mark.parametrize("seed", range(12))
def test_on_machines_of_any_kind_one_that_refuses_its_two_best_costs_no_more_than_one_of_these(seed):
    world, search = random_world(seed)
    best = sorted(world.gains, key=world.gains.__getitem__)[-2:]
    world.clashes = (frozenset(best),)
    found = drive(search, world)
    assert not refused(found, Role.RECIPE)
    assert world.best - world.speed(sorted(kept(found.search))) <= 0.02 + 0.02
