"""Switches each of which runs alone, and of which some are refused together."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, drive, kept, random_world, switch, switches
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.schedule import schedule
from trainspeed.core.levers.lever import Lever
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role, Status
from trainspeed.search.candidates import Candidates
from trainspeed.search.findings import Decision
from trainspeed.search.known import Known
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch, combined
from trainspeed.search.together import MOST_ASKS, Together

GAINS = {0: 0.3, 1: 0.2, 2: 0.13, 3: 0.06}
TEN = {number: 0.06 + 0.01 * number for number in range(10)}
LONG = (Role.SCREEN, Role.ELIMINATE)


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def searched(*clashes, without=(), gains=GAINS, count=6, machine=World, **more):
    """Return what a search finds on a quiet machine that refuses these sets of levers.

    Args:
        without: Stages for which there is no time.
    """
    world = machine(gains=gains, clashes=tuple(map(frozenset, clashes)), outliers=0.0, crashes=0.0, **more)
    search = Search(START, Candidates(switches=switches(count)))
    return drive(search, world, fits=lambda one: not one.label.startswith(tuple(without)))


def lost(world, measured):
    """Return by how much the best set is faster than what was kept, as a logarithm."""
    return world.best - world.speed(sorted(kept(measured.search)))


def refused(measured, role):
    return [run for run in measured.runs if run.role is role and run.status is Status.UNSUPPORTED]


@pytest.mark.parametrize("without", [(), (Role.ELIMINATE,), LONG])
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
def test_what_is_fastest_of_what_goes_together_is_kept(clashes, left, without):
    """Without a screen each switch was measured alone, and all together would be refused in every fresh block."""
    found = searched(*clashes, without=without)
    assert kept(found.search) == left
    assert not refused(found, Role.RECIPE)
    gone = {found.search.decisions[switch(number)] for number in GAINS.keys() - left}
    assert gone == {Decision.EXCLUDED}


def test_it_is_told_which_do_not_go_together_and_why():
    (clash,) = searched({0, 1}, without=LONG).search.findings.clashes
    assert (set(clash.switches), clash.reason) == ({switch(0), switch(1)}, "for a test")


def test_a_screen_tells_a_pair_that_is_refused_without_another_run():
    found = searched({0, 1})
    assert refused(found, Role.SCREEN)
    assert not [run for run in found.runs if run.role is Role.TOGETHER]
    assert not refused(found, Role.ELIMINATE)


def test_what_ran_together_in_pairs_is_not_tried_again():
    assert not [run for run in searched().runs if run.role is Role.TOGETHER]


def test_what_never_ran_together_runs_once_before_fresh_blocks():
    runs = [run for run in searched(without=LONG).runs if run.role is Role.TOGETHER]
    assert sorted(len(run.trial.levers) for run in runs) == [0, 4]


class Short(World):
    """A machine on which memory is short: so many levers are too many."""

    most = 9

    def refuses(self, on):
        return len(on) > self.most


class Saver(World):
    """A machine on which levers 0 and 1 run together with 2 on, and not without it."""

    def refuses(self, on):
        return {0, 1} <= set(on) and 2 not in on


class Stalls(World):
    """A machine on which one arm of a stage times out, once."""

    stage, nth = Role.ELIMINATE, 5

    def run(self, planned):
        run = super().run(planned)
        self.nth -= planned.label.startswith(self.stage)
        if self.nth or not planned.label.startswith(self.stage):
            return run
        return replace(run, status=Status.TIMEOUT, epoch_s=(), in_effect={})


class Crashes(World):
    """A machine on which levers 0 and 1 crash together, each time."""

    def run(self, planned):
        run = super().run(planned)
        return replace(run, status=Status.CRASHED) if run.status is Status.UNSUPPORTED else run


def test_where_memory_is_too_short_for_all_as_many_as_run_are_kept():
    found = searched(gains=TEN, count=16, machine=Short)
    assert sum(TEN.values()) - sum(TEN[number] for number in kept(found.search)) < 0.1
    assert len(found.search.together.refusals) < 3, "no pair is to blame"


def test_what_runs_with_one_more_on_is_no_clash():
    assert kept(searched(machine=Saver).search) == set(GAINS)


@pytest.mark.parametrize("stage", LONG)
def test_one_arm_that_times_out_once_costs_no_switch(stage):
    gains = {0: 0.3, 1: 0.2, 2: 0.13, 3: 0.1, 4: 0.08, 5: 0.07, 6: 0.06, 7: 0.05}
    for nth in (1, 6, 11, 14):
        machine = type("Nth", (Stalls,), {"stage": stage, "nth": nth})
        assert kept(searched(gains=gains, count=8, machine=machine).search) == set(gains)


@pytest.mark.parametrize("clashes", [[{0, 1}], [{0, 1}, {2, 3}], [{4, 9}], [{0, 1}, {2, 3}, {4, 5}]])
def test_without_a_screen_many_switches_end_after_a_few_groups(clashes):
    found = searched(*clashes, gains={n: 0.1 - 0.005 * n for n in range(10)}, count=10, without=LONG)
    tries = {run.trial.seed for run in found.runs if run.role is Role.TOGETHER}
    assert len(tries) <= MOST_ASKS
    assert len(kept(found.search)) >= 10 - 2 * len(clashes)
    assert not refused(found, Role.RECIPE)


def test_what_crashes_together_each_time_is_a_clash_after_some_tries():
    found = searched({0, 1}, without=LONG, machine=Crashes)
    assert kept(found.search) == {0, 2, 3}


def test_a_crash_that_did_not_come_again_is_no_clash():
    found = searched(without=LONG)
    (whole,) = (run for run in found.runs if run.role is Role.TOGETHER and run.trial.levers)
    crashed = replace(whole, status=Status.CRASHED, epoch_s=(), in_effect={})
    early = [run for run in found.runs if run.role is Role.FEASIBLE]
    again = drive(found.search, World(gains=GAINS), [*early, crashed])
    assert again.search.together.clashes == {}
    assert kept(again.search) == set(GAINS)


@pytest.mark.parametrize("alone", [True, False])
def test_what_finds_no_time_is_not_asked_for_again_and_again(alone):
    """Nor where only the plain trial beside it does."""

    def fits(one):
        return not one.label.startswith(LONG) and (
            one.label != Role.TOGETHER or (alone and not one.trial.levers)
        )

    world = World(gains=GAINS, outliers=0.0, crashes=0.0)
    found = drive(Search(START, Candidates(switches=switches(6))), world, fits=fits)
    assert kept(found.search) == set(GAINS)


def test_late_switches_that_exclude_each_other_are_no_mistake(monkeypatch):
    """As values of a lever that needs another one, both hardly slower than that alone."""
    monkeypatch.setitem(
        LEVERS, "kid", Lever(name="kid", words="kid", values=("a", "b"), needs={"made_00": ("on",)})
    )
    kids = tuple(
        Switch(lever="kid", value=value, settings=(("kid", value), ("made_00", "on"))) for value in "ab"
    )
    known = Known(START, (*switches(4), *kids))
    assert Together(known, ()).clash_in((switch(0), *kids)) is None
    assert Together(known, ()).groups((switch(0), *kids), (switch(0), *kids))


def test_what_another_switch_brings_along_is_not_blamed_with_it(monkeypatch):
    monkeypatch.setitem(LEVERS, "kid", Lever(name="kid", words="kid", needs={"made_00": ("on",)}))
    kid = Switch(lever="kid", value="on", settings=(("kid", "on"), ("made_00", "on")))
    known = Known(START, (*switches(3), kid))
    arms = ((kid, switch(1)), (kid, switch(1), switch(2)), (switch(2),), ())
    (planned,) = schedule([TrialSet(trials=(START,), blocks=1, label=f"{Role.SCREEN}8")], 0)
    plain = World(outliers=0.0, crashes=0.0).run(planned)
    runs = [replace(plain, trial=combined(START, arm)) for arm in arms]
    runs[:2] = [replace(run, status=Status.UNSUPPORTED, epoch_s=()) for run in runs[:2]]
    own = replace(known, runs=runs)
    assert [set(clash.switches) for clash in Together(own, own.ran).refusals] == [{kid, switch(1)}]


@pytest.mark.parametrize("share", [0.2, 0.4, 0.6, 0.8])
@pytest.mark.parametrize("without", [(), LONG])
def test_a_search_with_a_clash_that_is_resumed_keeps_the_same(share, without):
    whole = searched({0, 1}, {2, 3}, without=without)
    world = World(gains=GAINS, clashes=(frozenset({0, 1}), frozenset({2, 3})), outliers=0.0, crashes=0.0)
    begun = whole.runs[: int(share * len(whole.runs))]
    search = Search(START, Candidates(switches=switches(6)))
    again = drive(search, world, begun, fits=lambda one: not one.label.startswith(tuple(without)))
    assert kept(again.search) == kept(whole.search)


def test_three_that_fail_together_behind_a_pair_that_does_are_found():
    """Each two of what is left ran together in the screen."""
    world, search = random_world(23)
    world.clashes = (frozenset({0, 15}), frozenset({9, 13, 15}))
    found = drive(search, world)
    assert lost(world, found) < 0.05
    assert not refused(found, Role.RECIPE)


@pytest.mark.parametrize("seed", range(12))
def test_on_machines_of_any_kind_one_that_refuses_its_two_best_costs_no_more_than_one_of_these(seed):
    world, search = random_world(seed)
    best = sorted(world.gains, key=world.gains.__getitem__)[-2:]
    world.clashes = (frozenset(best),)
    found = drive(search, world)
    assert not refused(found, Role.RECIPE)
    assert lost(world, found) <= 0.04
