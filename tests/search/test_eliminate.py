"""What the elimination keeps where two switches get into each other's way."""

import math

import pytest

import search_world
from search_world import START, World, drive, kept, switches
from trainspeed.search.candidates import Candidates
from trainspeed.search.search import Search

LAYOUT, PRECISION, GRAPHS, SMALL = 0, 1, 2, 4
GAINS = {LAYOUT: math.log(1.33), PRECISION: math.log(1.12), GRAPHS: math.log(1.86), SMALL: math.log(1.03)}
COMPILING = dict.fromkeys((GRAPHS, 5), 25.0)


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


@pytest.mark.parametrize("budget_s", [260.0, 330.0])
@pytest.mark.parametrize("seed", range(4))
def test_what_was_fast_alone_is_not_dropped_with_what_gets_into_its_way(seed, budget_s):
    """As channels_last and autocast do on a GPU that waits for its host: a round has the one beside the other.

    One round alone does not tell which pair it is. Both were dropped, and what brings little was all that was kept.
    """
    quiet = {"sd": 0.01, "drift": 0.01, "outliers": 0.0, "crashes": 0.0, "seed": seed}
    world = World(gains=GAINS, together={(LAYOUT, PRECISION): -0.30}, run_s=4.9, more_s=COMPILING, **quiet)

    measured = drive(Search(START, Candidates(switches=switches(6)), slow_blocks=0, budget_s=budget_s), world)

    assert measured.search.elimination.rounds and measured.search.screen is None
    assert LAYOUT in kept(measured.search) and PRECISION not in kept(measured.search)
