"""What became of each switch of a search that had no time for all of its stages."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, drive, switch, switches
from study_data import make_run, make_trial
from trainspeed.core.levers.lever import Lever
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.run import Role
from trainspeed.search.candidates import Candidates
from trainspeed.search.feasible import feasible
from trainspeed.search.findings import Decision
from trainspeed.search.known import Known
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch

SLOW = 4  # the lever that makes a step longer


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def decided(own, fits=lambda one: True, **limits):
    """Return what became of each of these switches on a quiet machine, and the search."""
    world = World(gains={0: 0.3, 1: 0.2, SLOW: -0.3}, outliers=0.0, crashes=0.0)
    search = drive(Search(START, Candidates(switches=own), **limits), world, fits=fits).search
    return search.decisions, search


def test_what_looked_slower_alone_is_told_from_what_found_no_time_alone():
    """The first group of the feasibility is all that there was time for."""
    decisions, _ = decided(switches(12), budget_s=20.0)
    assert decisions[switch(11)] is Decision.OPEN
    assert Decision.UNDECIDED in decisions.values(), "what does nothing, and looked faster"
    assert decisions[switch(SLOW)] is Decision.SLOWER_ALONE


def test_values_that_had_no_time_to_race_are_not_said_to_have_raced(monkeypatch):
    monkeypatch.setitem(LEVERS, "made_00", Lever(name="made_00", words="lever 0", values=("on", "more")))
    both = (switch(0), switch(0, "more"))
    decisions, search = decided((*both, *switches(4)[1:]), fits=lambda one: one.label == Role.FEASIBLE)
    (race,) = search.races
    assert race.blocks == 0 and len(race.entered) == 1
    lost = next(one for one in both if one not in race.entered)
    slower = next(one.alone.speedup for one in search.feasible if one.switch == lost) < 1
    assert decisions[lost] is (Decision.SLOWER_ALONE if slower else Decision.LOST_ALONE)


def test_the_first_epochs_of_a_switch_and_of_plain_are_of_the_same_blocks():
    """Those that were built side by side have none: without a block of both there is nothing to compare with."""
    bf16 = Switch(lever="precision", value="bf16", fields=(("precision", "bf16"),))

    def first_epochs(plain_in, own_in):
        runs = [
            replace(
                make_run(trial=make_trial(precision=name, seed=block), block=block, label=Role.FEASIBLE),
                epoch_s=(first_s + block, 1.0, 1.0),
                built_beside=0 if block in alone_in else 1,
            )
            for name, first_s, alone_in in (("default", 2.0, plain_in), ("bf16", 3.0, own_in))
            for block in range(3)
        ]
        found = feasible(bf16, Known(make_trial(), (bf16,), runs))
        return found.plain_first_epoch_s, found.first_epoch_s

    assert first_epochs({1}, {0, 1, 2}) == (3.0, 4.0)
    assert first_epochs({1}, {0, 2}) == (None, 4.0)


def test_the_plain_and_the_best_trial_name_the_data_set_that_was_used():
    """Verdicts name these trials, and whoever joins them with the runs looks for both sides there."""
    measured = drive(Search(START, Candidates(switches=switches(3))), search_world.world_of())
    asked = Search(replace(START, dataset="auto"), Candidates(switches=switches(3)), runs=measured.runs)
    found = asked.findings

    assert found.kept
    assert {found.start.spec, found.best.spec} <= {run.trial.spec for run in measured.runs}
    assert replace(asked, runs=()).findings.start.dataset == "auto"
