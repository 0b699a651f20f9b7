"""How often a search is right, over made-up machines: `tests/search_at_random.py` looks at more of them."""

import math

import pytest

import search_world
from search_at_random import Score, scored

WORLDS = 30


@pytest.fixture(scope="module")
def score(request) -> Score:
    patch = pytest.MonkeyPatch()
    request.addfinalizer(patch.undo)
    search_world.register(patch)
    return scored(range(1000, 1000 + WORLDS))


def test_finds_the_best_set_or_one_within_two_percent(score):
    assert score.found / WORLDS >= 0.9


def test_keeps_hardly_a_lever_that_does_nothing(score):
    """Of 6 in each machine; at 2 % each, 7 or more of these 180 would be kept in one of 100 tests."""
    assert score.nulls_kept < 7
    assert score.nulls == 6 * WORLDS


def test_claimed_intervals_cover_the_truth(score):
    assert score.claims > 4 * WORLDS
    assert score.covered / score.claims >= 0.93


def test_takes_three_quarters_of_the_runs_of_one_at_a_time(score):
    assert score.runs / score.one_at_a_time <= 0.75


def test_never_keeps_what_was_not_in_effect(score):
    assert score.silent_kept == 0
    assert math.isclose(score.silent, WORLDS)
