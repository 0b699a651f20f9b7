"""A search that goes on with another idea of its time: what has begun stays as it began."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, drive, switch, switches
from trainspeed.conduct.schedule import schedule
from trainspeed.core.levers.lever import Lever
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role
from trainspeed.search.candidates import Candidates
from trainspeed.search.confirm import plan_confirmation
from trainspeed.search.screen import screen_groups
from trainspeed.search.search import Search

WORLD = World(gains={0: 0.2, 1: 0.15, 2: 0.1, 3: 0.08, 4: -0.1}, outliers=0.0, crashes=0.0)
SEARCH = Search(START, Candidates(switches=switches(5)))


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def begun_short(large):
    """Return the runs of a search whose fresh blocks began when there was time for so many large ones, and these."""
    found = drive(SEARCH, WORLD, fits=lambda one: one.label not in (Role.RECIPE, Role.PLAIN_AGAIN))
    estimates, on = found.search.elimination.estimates, found.search.promising
    small = plan_confirmation(found.search.known, on, estimates, 9, large)
    planned = schedule([small.trial_set(START)], 0)
    return [*found.runs, *(WORLD.run(one) for one in planned if one.block < 2)], small


@pytest.mark.parametrize("large", [0, 2])
def test_fresh_blocks_go_on_with_the_arms_that_they_began_with(large):
    """A larger search fits by now: its arms would not be paired with those that there are."""
    begun, small = begun_short(large)
    found = drive(SEARCH, WORLD, begun)
    fresh = [run for run in found.runs if run.role is Role.RECIPE]
    assert {run.trial for run in fresh if run.trial.seed == small.seed} == set(small.trials(START))
    assert len(fresh) == 9 * len(small.arms)


def test_fresh_blocks_whose_plan_is_forgotten_go_on_with_their_arms():
    begun, _ = begun_short(0)
    (wanted,) = replace(SEARCH, runs=[run for run in begun if run.role is Role.RECIPE]).wanted()
    assert wanted.label == Role.RECIPE
    assert {t.levers for t in wanted.trials} == {(), tuple((f"made_{n:02}", "on") for n in range(4))}


def test_nothing_that_fresh_blocks_stand_on_is_measured_once_they_have_begun():
    """A round of the elimination that found time only now would promise something else."""
    begun, _ = begun_short(0)
    early = [run for run in begun if run.role is not Role.ELIMINATE]
    assert {sets.label for sets in replace(SEARCH, runs=early).wanted()} == {Role.RECIPE}


def test_no_race_begins_once_a_screen_has_begun(monkeypatch):
    """It would sort out another value than the one that the screen has on."""
    monkeypatch.setitem(LEVERS, "made_00", Lever(name="made_00", words="lever 0", values=("on", "more")))
    both = Search(START, Candidates(switches=(switch(0), switch(0, "more"), *switches(4)[1:])))
    found = drive(both, WORLD, fits=lambda one: one.label == Role.FEASIBLE or ":" in one.label)
    late = [run for run in found.runs if run.role in (Role.FEASIBLE, Role.SCREEN)][:-1]
    assert any(run.role is Role.SCREEN for run in late)
    assert all(Role.of(sets.label) is Role.SCREEN for sets in replace(both, runs=late).wanted())


def test_a_screen_that_left_no_column_empty_goes_on_with_all_its_switches():
    """As older searches of 16 switches had it."""
    full = Search(START, Candidates(switches=switches(16)))
    looks = drive(full, WORLD, fits=lambda one: one.label == Role.FEASIBLE)
    groups = screen_groups(looks.search.known, switches(16), 16)
    planned = schedule([group.trial_set(START) for group in groups], 0)
    begun = replace(full, runs=[*looks.runs, *(WORLD.run(one) for one in planned[:6])])
    assert {one.label for one in begun.wanted()} == {"screen: 16"}
    whole = replace(full, runs=[*looks.runs, *(WORLD.run(one) for one in planned)])
    assert len(whole.screen.estimates) == 16 and not whole.screen.empty
