"""What a search does with the time that its worst case left over."""

import math

import pytest

import search_world
from search_world import START, World, drive, kept, switch, switches
from trainspeed.core.run import Role
from trainspeed.search.confirm import BLOCKS
from trainspeed.search.in_time import blocks_in_time, large_in_time, round_in_time
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.search import Search
from trainspeed.search.sizes import Costs
from trainspeed.search.switch import Candidates

EMPTY = Known(START, switches(6))
COSTS = Costs(plain_s=1.0, more_s={switch(5): 9.0})
SHORT, ALL = switches(5), switches(6)
COMPILER = 5


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def blocks(budget_s, on=SHORT, **others):
    asked = {"most": 15, "confirm": BLOCKS, "spare": False} | others
    return blocks_in_time(EMPTY, COSTS, on, SHORT, budget_s=1.1 * budget_s, **asked)


@pytest.mark.parametrize(
    ("budget_s", "number"),
    [
        (9 * 8 + 15 * 4, 15),  # the plain trial twice, all that is on, and that without five parts
        (9 * 8 + 15 * 4 - 1, 15),  # two of its parts fewer
        (9 * 6 + 7 * 4, 7),
        (9 * 6 + 7 * 4 - 1, 15),  # then none is left out, and there are six fresh blocks
        (6 * 3 + 2 * 4, 2),
        (6 * 3 + 2 * 4 - 1, 0),
    ],
)
def test_a_round_has_as_many_blocks_as_leave_time_for_fresh_ones(budget_s, number):
    assert blocks(budget_s + 0.01) == number


def test_a_round_of_time_left_over_takes_none_from_the_fresh_blocks():
    """What they leave out one by one stays, and there are nine of them."""
    assert blocks(9 * 8 + 3 * 4 + 0.01, spare=True) == 3
    assert blocks(9 * 8 + 1 * 4 + 0.01, spare=True) == 0
    assert blocks(9 * 3 - 1, spare=True) == 0


def test_what_takes_long_is_not_in_a_round_where_it_leaves_few_blocks():
    """The runs before tell of it."""
    asked = {"most": 15, "confirm": BLOCKS, "spare": False}
    long_s, short_s = 6 * 12 + 2 * 4 * 7.75, 6 * 12 + 15 * 4
    tight = round_in_time(EMPTY, COSTS, ALL, ALL, budget_s=1.1 * min(long_s, short_s) + 0.1, **asked)
    wide = round_in_time(EMPTY, COSTS, ALL, ALL, budget_s=10_000.0, **asked)

    assert tight[0] == SHORT and tight[1] > 2
    assert wide == (ALL, 15)


def test_fresh_blocks_have_the_most_arms_that_there_is_time_for():
    few, more = ((), ALL), ((), ALL, SHORT, ALL[1:])
    planned = [ArmGroup(label=Role.RECIPE, seed=1, arms=arms, blocks=30) for arms in (few, more)]
    few_s, more_s = BLOCKS * (1 + 1 + 10), BLOCKS * (1 + 1 + 10 + 1 + 10)

    assert large_in_time(planned, EMPTY, COSTS, 1.05 * more_s + 0.1).arms == more
    assert large_in_time(planned, EMPTY, COSTS, 1.05 * few_s + 0.1).arms == few
    assert large_in_time(planned, EMPTY, COSTS, 1.0) is planned[0]
    assert large_in_time([None], EMPTY, COSTS, 1.0) is None


def searched(seed, budget_s):
    gains = {0: math.log(1.4), 1: math.log(1.06), 2: math.log(1.025), COMPILER: -math.log(1.02)}
    world = World(gains=gains, run_s=2.3, more_s={COMPILER: 24.0}, sd=0.02, seed=seed, crashes=0.0)
    return world, drive(Search(START, Candidates(switches=switches(7)), budget_s=budget_s), world)


def test_time_left_over_finds_what_is_small():
    """A search of ten minutes with a compiler stopped after seven, and left out 2.5 % in half of the cases."""
    found = 0
    for seed in range(8):
        world, measured = searched(seed, 600.0)
        found += world.best - world.speed(sorted(kept(measured.search))) < 0.02
        assert sum(run.busy_s for run in measured.runs if run.role is not Role.RECIPE) <= 600.0
        assert measured.search.findings.rounds
    assert found >= 7


def test_a_search_that_is_drawn_again_without_its_time_found_the_same():
    measured = searched(3, 600.0)[1]
    again = Search(START, measured.search.candidates, runs=tuple(measured.runs))
    assert again.findings == measured.search.findings
