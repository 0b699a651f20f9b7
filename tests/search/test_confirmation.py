"""What fresh blocks make of each switch that is in them."""

from dataclasses import replace

import pytest

import search_world
from search_world import START, World, drive, kept, switch, switches
from trainspeed.core.run import Role
from trainspeed.judge.verdict import Outcome
from trainspeed.search.findings import Decision
from trainspeed.search.search import Search
from trainspeed.search.switch import Candidates

SEARCH = Search(START, Candidates(switches=switches(5)))


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def searched(**planted):
    """Return a search on a quiet machine."""
    return drive(SEARCH, World(**{"outliers": 0.0, "crashes": 0.0, **planted})).search


def not_in_effect(search, *numbers):
    """Return a search beside whose fresh blocks some levers were not in effect."""
    seen = {f"made_{number:02}": ("off", "planted") for number in numbers}
    fresh = lambda run: run.role is Role.RECIPE  # noqa: E731
    runs = [replace(run, in_effect=run.in_effect | seen) if fresh(run) else run for run in search.runs]
    return replace(search, runs=runs)


def test_what_is_left_without_one_that_was_thrown_out_is_kept_where_it_was_measured():
    found = not_in_effect(searched(gains={0: 0.2, 1: 0.1, 2: 0.08}), 1)
    assert found.decisions[switch(1)] is Decision.NOT_IN_EFFECT
    assert kept(found) == {0, 2}


def test_what_is_left_and_was_never_measured_by_itself_is_not_confirmed():
    """Of three each was left out once: no fresh block had one of them alone."""
    found = not_in_effect(searched(gains={0: 0.2, 1: 0.1, 2: 0.08}), 1, 2)
    assert found.decisions[switch(0)] is Decision.UNCONFIRMED
    assert found.kept == ()


def test_what_is_left_and_is_no_faster_than_the_plain_trial_is_not_confirmed():
    """The two pay only together, and one of them is not to be had."""
    found = not_in_effect(searched(together={(0, 1): 0.2}), 1)
    assert found.confirmation.total.outcome is Outcome.FASTER
    assert found.decisions[switch(0)] is Decision.UNCONFIRMED
