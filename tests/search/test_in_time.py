"""What a search does with the time that its worst case left over."""

import math
from dataclasses import replace

import pytest

import search_world
from search_world import START, World, drive, kept, switch, switches
from trainspeed.core.run import Role
from trainspeed.search.candidates import Candidates
from trainspeed.search.confirm import BLOCKS
from trainspeed.search.feasible import looks_had
from trainspeed.search.in_time import TimeLeft
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.search import Search
from trainspeed.search.sizes import Costs

EMPTY = Known(START, switches(6))
COSTS = Costs(plain_s=1.0, more_s={switch(5): 9.0})
SHORT, ALL = switches(5), switches(6)
COMPILER = 5


@pytest.fixture(autouse=True)
def levers(monkeypatch):
    search_world.register(monkeypatch)


def left(budget_s, known=EMPTY):
    return TimeLeft(known=known, costs=COSTS, confirm=BLOCKS, budget_s=budget_s)


@pytest.mark.parametrize(
    ("budget_s", "number"),
    [
        (9 * 8 + 15 * 4, 15),  # the plain trial twice, all that is on, and that without five parts
        (9 * 6 + 15 * 4, 15),  # two of its parts fewer
        (9 * 6 + 7 * 4, 7),
        (9 * 3 + 8 * 4, 8),  # none is left out
        (9 * 3 + 7 * 4 - 1, 7),  # and there are six fresh blocks
        (6 * 3 + 2 * 4, 2),
        (6 * 3 + 2 * 4 - 1, 0),
    ],
)
def test_a_round_has_as_many_blocks_as_leave_time_for_fresh_ones(budget_s, number):
    assert left(1.1 * (budget_s + 0.01)).blocks(SHORT, SHORT, 15, spare=False) == number


def test_what_compiles_in_the_first_run_of_a_set_leaves_fewer_blocks():
    """Three sets of a round and one of the fresh blocks; two of a toggle and one."""
    once = replace(COSTS, once_s={switch(5): 10.0})

    def blocks(budget_s, costs):
        time = replace(left(1.1 * (budget_s + 0.01)), costs=costs)
        return time.blocks(ALL, ALL, 15, spare=False), time.toggle_blocks(SHORT, (switch(5),))

    fresh_s, round_s, both_s = 6 * (2 + 10), 1 + 3 * 10, 1 + 10
    assert blocks(fresh_s + 2 * round_s, COSTS)[0] == blocks(fresh_s + 2 * round_s + 40, once)[0] == 2
    assert blocks(fresh_s + 2 * round_s + 39, once)[0] == 0
    assert blocks(1.05 * fresh_s + 2 * both_s, COSTS)[1] == 2
    assert blocks(1.05 * (fresh_s + 10) + 10 + 2 * both_s, once)[1] == 2
    assert blocks(1.05 * (fresh_s + 10) + 9 + 2 * both_s, once)[1] == 0


@pytest.mark.parametrize(("budget_s", "number"), [(9 * 8 + 3 * 4, 3), (9 * 8 + 4, 0), (9 * 3 - 1, 0)])
def test_a_round_of_time_left_over_takes_none_from_the_fresh_blocks(budget_s, number):
    """What they leave out one by one stays, and there are nine of them."""
    assert left(1.1 * (budget_s + 0.01)).blocks(SHORT, SHORT, 15, spare=True) == number


def test_what_takes_long_is_not_in_a_round_where_it_leaves_few_blocks():
    """The runs before tell of it."""
    assert left(1.1 * (9 * 12 + 8 * 4 + 0.01)).round(ALL, ALL, 15, spare=False) == (SHORT, 8)
    assert left(10_000.0).round(ALL, ALL, 15, spare=False) == (ALL, 15)


LONG = switches(6)[5:]
FRESH_S = 6 * 1.05 * 12  # the plain trial twice, and all that is promising


@pytest.mark.parametrize(("blocks", "number"), [(1, 0), (2, 2), (9, 9), (20, 15)])
def test_what_takes_long_is_beside_the_rest_as_often_as_its_fresh_blocks_leave_time(blocks, number):
    """A block has an arm without, and one with it."""
    assert left(1.1 * (FRESH_S + 11 * blocks + 0.01)).toggle_blocks(SHORT, LONG) == number


def test_a_round_leaves_time_for_what_takes_long_beside_the_rest():
    """For four blocks of it, and for what it adds to the fresh ones; a round of time left over has no less either."""
    time = left(1.1 * (4 * 11 + 6 * 9 + 6 * 3 + 2 * 4 + 0.01))
    assert time.round(SHORT, SHORT, 15, spare=False) == (SHORT, 15)
    assert time.round(SHORT, SHORT, 15, spare=False, open_=LONG) == (SHORT, 2)
    assert time.round(SHORT, SHORT, 15, spare=True, open_=LONG) == (SHORT, 0)
    scarce = left(1.1 * (FRESH_S + 11))  # too little for two of its blocks: the others have it
    assert scarce.round(SHORT, SHORT, 15, spare=False, open_=LONG) == scarce.round(
        SHORT, SHORT, 15, spare=False
    )


@pytest.mark.parametrize(("more_s", "tries"), [(-0.1, True), (0.1, False), (11.4, False), (11.6, True)])
def test_a_try_is_left_out_where_it_takes_the_time_of_the_fresh_blocks(more_s, tries):
    assert left(FRESH_S + more_s).takes_a_try(ALL) == tries


def test_fresh_blocks_have_the_most_arms_that_there_is_time_for():
    few, more = ((), ALL), ((), ALL, SHORT, ALL[1:])
    planned = [ArmGroup(label=Role.RECIPE, seed=1, arms=arms, blocks=30) for arms in (few, more)]
    few_s, more_s = BLOCKS * (1 + 1 + 10), BLOCKS * (1 + 1 + 10 + 1 + 10)

    assert left(1.05 * more_s + 0.1).fresh(planned).arms == more
    assert left(1.05 * few_s + 0.1).fresh(planned).arms == few
    assert left(1.0).fresh(planned) is planned[0]
    assert left(1.0).fresh([None]) is None


FRESH_OF_ALL_S, FRESH_OF_SHORT_S = (6 * 1.05 * (3 * 5.0 + more_s) for more_s in (14.0, 2.0))


@pytest.mark.parametrize(
    ("budget_s", "gains", "kept_on"),
    [
        (
            FRESH_OF_ALL_S + 1.0,
            {},
            {0, 1, 2},
        ),  # of fresh blocks: the plain trial twice, and one that compiles
        (FRESH_OF_ALL_S - 1.0, {0: 0.01, 1: 0.1, 2: 0.1}, {0, 2}),
        (FRESH_OF_ALL_S - 1.0, {0: 0.01, 1: 0.1, 2: 0.001}, {0, 1}),  # 2 s for next to nothing
        (FRESH_OF_ALL_S - 1.0, {}, {0, 2}),  # of nothing is known what it brings: the longest
        (FRESH_OF_SHORT_S - 1.0, {0: 0.01, 1: 0.1, 2: 0.1}, {0}),
        (1.0, {0: 0.01, 1: 0.1, 2: 0.1}, {0}),  # what adds nothing is no shorter without it
    ],
)
def test_what_brings_least_for_the_seconds_that_it_adds_goes_first(budget_s, gains, kept_on):
    costs = Costs(plain_s=5.0, more_s={switch(1): 12.0, switch(2): 2.0})
    time = TimeLeft(known=EMPTY, costs=costs, confirm=BLOCKS, budget_s=budget_s)
    found = time.confirmed(switches(3), {switch(number): log for number, log in gains.items()})
    assert found == tuple(switch(number) for number in sorted(kept_on))


def test_what_went_first_comes_back_where_what_went_last_freed_enough():
    """Four that add a second each, and a compiler that adds six and brings more a second: 5.5 seconds are missing."""
    costs = Costs(plain_s=5.0, more_s={switch(0): 6.0} | {switch(number): 1.0 for number in range(1, 5)})
    budget_s = 6 * 1.05 * (15.0 + 4.5)
    time = TimeLeft(known=EMPTY, costs=costs, confirm=BLOCKS, budget_s=budget_s)
    gains = {switch(0): 0.6} | {switch(number): 0.05 for number in range(1, 5)}

    assert time.confirmed(switches(5), gains) == switches(5)[1:]


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


@pytest.mark.parametrize(("gain", "looks"), [(-0.01, 1), (-0.5, 0)])
def test_where_nothing_looked_quick_all_that_was_not_clearly_slower_is_looked_at_again(gain, looks):
    gains = dict.fromkeys(range(4), gain)
    world = World(gains=gains, run_s=5.0, crashes=0.0, outliers=0.0)
    known = drive(Search(START, Candidates(switches=switches(4)), budget_s=180.0), world).search.known
    assert looks_had(known) == looks


@pytest.mark.parametrize(("budget_s", "limit_s"), [(None, None), (100.0, 60.0), (3600.0, 360.0)])
def test_a_first_look_may_take_a_tenth_of_the_time(budget_s, limit_s):
    """A compiler that measures kernels for minutes leaves none for what pays."""
    search = Search(START, Candidates(switches=switches(5)), budget_s=budget_s)
    assert {one.limit_s for one in search.wanted()} == {limit_s}
