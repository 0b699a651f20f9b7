"""What a search says that it had no time for, on a made-up machine."""

import pytest

import search_world
from search_world import START, drive, kept, search_of, switch, switches, world_of
from trainspeed.core.run import Role
from trainspeed.search.candidates import Candidates
from trainspeed.search.findings import Stage
from trainspeed.search.search import Search


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def test_a_search_with_nothing_to_screen_lacks_no_screen():
    assert drive(search_of(2), world_of(silent=frozenset({0, 1}))).search.findings.left_out == ()


def test_what_found_no_time_alone_or_the_other_way_is_lacking():
    search = Search(START, Candidates(switches=switches(7), already_on=(switch(7), switch(8))))
    found = drive(
        search, world_of(), fits=lambda one: one.label == Role.FEASIBLE and one.trial.seed < 1000
    ).search
    missing = {one.stage: (one.had, one.planned) for one in found.findings.left_out}

    assert missing[Stage.FEASIBLE] == (5, 7) and missing[Stage.SLOW_WAYS] == (0, 2)


def test_goes_on_without_what_found_no_time():
    """The screen never ran: what was seen of each alone leads to fresh blocks."""
    found = drive(search_of(), world_of(), fits=lambda one: not one.label.startswith(Role.SCREEN))
    missing = {one.stage: one.had for one in found.search.findings.left_out}
    assert missing[Stage.SCREEN] == 0
    assert 0 in kept(found.search)


def test_what_was_not_left_out_in_fresh_blocks_is_no_lack_of_these():
    """Without time to leave out one by one, all blocks of plain against all together are there."""
    found = drive(search_of(12, budget_s=120.0), world_of(seed=1)).search
    missing = {one.stage: (one.had, one.planned) for one in found.findings.left_out}
    assert found.confirmation.blocks == 9 and not found.confirmation.left_out
    assert Stage.CONFIRM not in missing and missing[Stage.LEAVE_OUT] == (0, 18)
