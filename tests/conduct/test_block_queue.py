"""Blocks for several that measure side by side, in made-up time: nothing is measured."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from fleet_world import play
from trainspeed.conduct.block_queue import MOST_LOSSES, BlockQueue
from trainspeed.conduct.timetable import FEWEST, Timetable
from trainspeed.core.errors import UserError


@dataclass(frozen=True)
class Arms:
    name: str
    core: bool = True
    most: int = 9
    cost_s: float = 10.0
    around: bool = False

    @property
    def blocks(self) -> tuple:
        return tuple((self.name, number) for number in range(self.most))

    def place(self, number: int) -> int:
        return sum(map(ord, self.name)) * (number + 1) % 7


groups = some.lists(
    some.builds(
        Arms,
        name=some.text("abcd", min_size=1, max_size=3),
        core=some.booleans(),
        most=some.integers(1, 15),
        cost_s=some.sampled_from([1.0, 4.0, 10.0]),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda group: group.name,
)
hands = some.lists(some.sampled_from([0.5, 1.0, 2.0]), min_size=1, max_size=5)


def table_of(of: list[Arms]) -> Timetable:
    return Timetable(groups=[*of], block_s=lambda group: group.cost_s)


def one_after_the_other(table: Timetable, budget_s: float) -> list:
    """Return (group, number) in the order in which one machine measured before there were fleets."""
    now_s, done = 0.0, []
    while group := table.next(budget_s - now_s) or table.next_of_more(budget_s - now_s):
        done.append((group, table.had(group)))
        now_s += table.block_s(group)
        table.took(group)
    return done


@given(groups, some.sampled_from([math.inf, 30.0, 100.0, 333.0]))
def test_one_hand_measures_in_the_order_of_the_timetable(of, budget_s):
    ended = play(table_of(of), [1.0], budget_s)

    assert [(m.block.group, m.block.number) for m in ended] == one_after_the_other(table_of(of), budget_s)


@given(groups, hands, some.dictionaries(some.integers(1, 4), some.integers(0, 3), max_size=MOST_LOSSES))
def test_without_a_limit_every_block_is_measured_once_whoever_is_lost(of, speeds, lost):
    table = table_of(of)
    ended = play(table, speeds, math.inf, lost=lost)

    times = Counter((m.block.group, m.block.number) for m in ended)
    assert times == {(group, number): 1 for group in of for number in range(group.most)}
    assert {group: table.had(group) for group in of} == {group: group.most for group in of}
    assert all(m.block.planned == m.block.group.blocks[m.block.number] for m in ended), "whole, on one"


@given(groups, hands, some.sampled_from([30.0, 100.0, 333.0]))
@settings(max_examples=200)
def test_the_time_of_all_hands_ends_when_that_of_one_does(of, speeds, budget_s):
    """A hand that is slower than expected begins nothing that it is not expected to end."""
    ended = play(table_of(of), speeds, budget_s)

    late = [m for m in ended if m.begun_s + m.block.group.cost_s > budget_s]
    first_of_all = [m for m in ended if m.begun_s == 0.0]
    if len(speeds) > 1:
        assert all(m in first_of_all for m in late), "but for the first block, which there is in any case"
    assert len({(m.block.group, m.block.number) for m in ended}) == len(ended)


def test_one_hand_that_goes_on_measures_what_each_group_lacks_in_order():
    """Wherever each of them was interrupted."""
    table = table_of([Arms("a", most=4), Arms("b", most=4)])
    for _ in range(3):
        table.took(table.groups[0])
    ended = play(table, [1.0], math.inf)

    found = [(m.block.group.name, m.block.number) for m in ended]
    assert found[:3] == [("b", 0), ("b", 1), ("b", 2)] and {*found[3:]} == {("a", 3), ("b", 3)}


def test_four_hands_measure_four_times_as_much_in_the_same_time():
    one, four = (
        play(table_of([Arms(f"g{n}", most=24) for n in range(4)]), [1.0] * hands, 480.0) for hands in (1, 4)
    )

    assert len(one) == 48 and len(four) == 96


def test_a_slow_hand_does_not_keep_the_others_waiting_for_more_than_its_own_block():
    ended = play(table_of([Arms("a", most=40)]), [1.0, 1.0, 0.25], math.inf)

    ends = sorted(m.ended_s for m in ended)
    others = max(m.ended_s for m in ended if m.hand != 2)
    assert ends[-1] - others <= 40.0
    assert Counter(m.hand for m in ended)[2] < 7


def test_what_is_lost_and_there_is_no_time_for_is_not_counted_as_measured():
    table = table_of([Arms("a", most=6)])
    ended = play(table, [1.0, 1.0], 30.0, lost={1: 2})

    assert table.had(table.groups[0]) == len(ended) == 5


def test_a_block_that_three_nodes_were_lost_with_ends_the_study():
    with pytest.raises(UserError, match=r"^3 nodes were lost while they measured the same block"):
        play(table_of([Arms("a", most=1)]), [1.0] * 4, math.inf, lost={0: 0, 1: 0, 2: 0})


def test_nodes_that_were_lost_before_they_began_are_not_held_against_a_block():
    queue = BlockQueue(
        table=table_of([Arms("a", most=1)]),
        end_s=math.inf,
        left_of=lambda group, number: group.blocks[number],
        begin=lambda groups: None,
    )
    for _ in range(MOST_LOSSES + 3):
        queue.lost(queue.take(), begun=False)

    assert queue.take().losses == 0 and queue.problem is None


def test_what_depends_on_results_waits_for_all_that_are_being_measured():
    """Six blocks decide what is asked for; between the blocks of a level after that, nobody waits."""
    measured, asked_after = [], []
    more = [Arms("more", core=False, most=3)]

    def ask():
        asked_after.append(len(measured))
        return more.pop() and [Arms("more", core=False, most=3)] if more else []

    def left_of(group, number):
        return group.blocks[number]

    table = table_of([Arms("a", most=FEWEST + 6)])
    queue = {"ask": ask, "left_of": left_of, "depends": True}
    by_hand = defaultdict(list)
    for one in play(table, [1.0] * 3, math.inf, begin=lambda groups: None, **queue):
        measured.append(one)
        by_hand[one.hand].append(one.block)

    assert Counter(m.block.group.name for m in measured) == {"a": 12, "more": 3}
    first_more = min(m.begun_s for m in measured if m.block.group.name == "more")
    sixth = sorted(m.ended_s for m in measured if m.block.group.name == "a")[FEWEST - 1]
    assert first_more >= sixth
    assert all(len(blocks) > 1 for blocks in by_hand.values()), "all three help after it, too"


@pytest.mark.parametrize(("asks_first", "begun_after"), [(True, FEWEST), (False, FEWEST + 3)])
def test_what_is_to_be_decided_too_comes_before_a_ninth_block_of_what_is_decided(asks_first, begun_after):
    more = [Arms("more", most=FEWEST)]
    asking = {"ask": lambda: [more.pop()] if more else [], "depends": True, "asks_first": asks_first}
    played = play(
        table_of([Arms("a")]),
        [1.0],
        125.0,
        begin=lambda groups: None,
        left_of=lambda g, n: g.blocks[n],
        **asking,
    )
    names = [one.block.group.name for one in played]

    assert names[:begun_after] == ["a"] * begun_after
    assert names.count("more") == (FEWEST if asks_first else 1)


def test_what_is_around_all_others_is_measured_by_this_machine_before_and_after_them():
    table = table_of([Arms("link", core=False, most=2, around=True), Arms("a", most=6), Arms("b", most=6)])
    ended = play(table, [1.0, 2.0, 2.0], math.inf)

    links = [m for m in ended if m.block.group.around]
    others = [m for m in ended if not m.block.group.around]
    assert [m.hand for m in links] == [0, 0] and len(others) == 12
    assert links[0].begun_s == 0.0 and links[1].begun_s >= max(m.ended_s for m in others)
    assert {m.hand for m in others} == {0, 1, 2}


@pytest.mark.parametrize("hands", [1, 2, 4])
def test_the_last_block_around_all_others_ends_in_time_however_many_share_them(hands):
    """One hand measures it while the others wait: it takes the seconds of all of them."""
    link = Arms("link", core=False, most=2, cost_s=40.0, around=True)
    table = table_of([link, *(Arms(name, most=99) for name in "abcd")])
    ended = play(table, [1.0] * hands, 400.0)

    assert (ended[-1].block.group, ended[-1].block.number) == (link, 1)
    assert 300.0 < ended[-1].ended_s <= 400.0


@pytest.mark.parametrize("speeds", [[1.0, 1.0], [1.0, 0.7], [1.0, 0.9, 1.1, 1.0]])
def test_a_block_of_all_groups_is_measured_by_one_hand_where_that_can_be(speeds):
    """Trials of two groups, such as those of two frameworks, are compared block by block if they are of one node."""
    of = [Arms(name, most=15, cost_s=10.0 + place) for place, name in enumerate("abcde")]
    by = {(m.block.group, m.block.number): m.hand for m in play(table_of(of), speeds, math.inf)}

    for one, other in combinations(of, 2):
        assert sum(by[one, number] == by[other, number] for number in range(15)) >= 12


# Groups of which nothing is left.

MISSING, THERE = Arms("missing", most=15, cost_s=40.0), Arms("there", most=15, cost_s=40.0)


def played(of, budget_s):
    """Measure in made-up time, the missing one until it was tried; return the table and each group's blocks."""
    tried = set()

    def left_of(group, number):
        tried.add(group)
        return group.blocks[number]

    table = table_of(of)
    vain = {"in_vain": lambda group, number: group == MISSING and group in tried}
    ended = play(table, [1.0], budget_s, left_of=left_of, **vain)
    return table, {group.name: [m.block.number for m in ended if m.block.group == group] for group in of}


def test_a_framework_that_is_missing_takes_no_time_from_the_other():
    """It took fifteen blocks of nothing, was decided so, and the other had one block."""
    _, numbers = played([MISSING, THERE], 200.0)

    assert numbers == {"missing": [0], "there": [0, 1, 2, 3]}


def test_what_cannot_be_measured_is_not_waited_for_where_the_time_is_short():
    table, numbers = played([THERE, MISSING], 40.0 + 15 * 40.0)

    assert numbers == {"missing": [0], "there": [*range(15)]}
    assert table.over == {MISSING}


@pytest.mark.parametrize("hands", [1, 3])
def test_no_hand_is_given_what_is_in_vain(hands):
    around = Arms("around", most=2, core=False, around=True)
    of = [around, MISSING, THERE]
    vain = {"in_vain": lambda group, number: group == MISSING or (group == around and number == 1)}
    ended = play(table_of(of), [1.0] * hands, math.inf, **vain)

    found = sorted((m.block.group.name, m.block.number) for m in ended)
    assert found == [("around", 0), *(("there", number) for number in range(15))]
