"""Races: what excludes another one, or needs it, is measured first."""

import pytest

import search_world
from search_world import START, World, drive, switch
from trainspeed.search.candidates import Candidates
from trainspeed.search.search import Search
from trainspeed.search.switch import Switch

BASE = switch(0)
MODE, SCOPE = (
    Switch(lever=name, value="on", settings=((name, "on"), *BASE.settings)) for name in ("made_20", "made_21")
)


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def entered(*switches, **gains):
    """Return what a race leaves, where each brings so much on top of the base."""
    planted = {0: 0.3, 20: gains["mode"], 21: gains["scope"]}
    world = World(gains=planted, outliers=0.0, crashes=0.0, sd=0.004)
    (race,) = drive(Search(START, Candidates(switches=switches)), world).search.races
    return race.entered


def test_two_that_slow_down_what_both_come_with_do_not_win_by_counting_it_twice():
    assert entered(BASE, MODE, SCOPE, mode=-0.1, scope=-0.1) == (BASE,)


def test_two_that_pay_on_top_of_what_both_come_with_win_together():
    assert entered(BASE, MODE, SCOPE, mode=0.1, scope=0.05) == (MODE, SCOPE)


def test_of_two_of_which_one_slows_the_base_down_the_other_one_wins():
    assert entered(BASE, MODE, SCOPE, mode=-0.1, scope=0.05) == (SCOPE,)
