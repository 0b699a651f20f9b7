"""What the elimination keeps where two switches get into each other's way."""

import math

import pytest

import search_world
from search_world import START, World, drive, kept, switches
from trainspeed.search.candidates import Candidates
from trainspeed.search.design import PARTS
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


FEW = {0: -0.14, PRECISION: math.log(1.27), 3: math.log(1.05), 4: -0.03}
MANY = {number: math.log(1.2) for number in range(5)}


def in_noise(gains, seed):
    """Return a search of ten minutes where two runs of the same differ by 8 %."""
    world = World(gains=gains, run_s=3.8, more_s={}, sd=0.06, crashes=0.0, seed=seed)
    return drive(Search(START, Candidates(switches=switches(6)), slow_blocks=0, budget_s=600.0), world).search


def test_what_the_first_looks_missed_is_in_the_first_round_where_few_are_promising():
    """TensorFlow's steps of an epoch in one call: 5 % faster, and 1 % slower by the looks and a screen."""
    search = in_noise(FEW, seed=10)
    (slower, precision, _, missed, *_) = switches(6)

    assert search.elimination.begin == (precision,)
    assert missed in search.elimination.rounds[0].ran_with and slower not in search.elimination.first
    assert kept(search) == {PRECISION, 3}


def test_rounds_of_many_promising_ones_are_of_these_alone():
    elimination = in_noise(MANY, seed=0).elimination
    assert elimination.first == elimination.begin and len(elimination.begin) >= PARTS
