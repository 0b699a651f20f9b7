"""What a time is used for at its end, and where trials fail for good. Nothing is measured."""

from __future__ import annotations

import pytest

from timetable_data import CORE_S, FakeGroup, block_s, cores, counts, spend
from trainspeed.conduct.timetable import FEWEST, STEP, Timetable


@pytest.mark.parametrize(("yields", "last"), [(False, [FEWEST + STEP] * 2 + [FEWEST]), (True, [FEWEST] * 3)])
def test_time_that_is_too_short_for_a_further_level_of_all_is_for_the_first_where_nobody_else_has_use_for_it(
    yields, last
):
    """After nine blocks of all. That the core has nine where it can is another rule."""
    steady_s, rest_s = 3 * (FEWEST + STEP) * CORE_S, 2 * STEP * CORE_S
    table, _, spent_s = spend(cores(3), steady_s + rest_s + 1, yields=yields)

    assert [count - STEP for count in counts(table).values()] == last
    assert spent_s == steady_s + (0 if yields else rest_s)


def test_the_last_of_the_time_is_spent_on_one_step_after_the_other():
    _, done, _ = spend(cores(3), (3 * (FEWEST + STEP) + 2 * STEP) * CORE_S)

    assert [(group.name, number) for group, number in done[-2 * STEP :]] == [
        (f"core {one}", FEWEST + STEP + number) for one in range(2) for number in range(STEP)
    ]


def test_a_machine_that_gets_slower_leaves_nothing_between_two_steps():
    """Ten blocks may have a wider interval than nine."""
    table, _, _ = spend(cores(3), 331.0, slower_after_s=275.0, factor=1.2)

    assert sorted(counts(table).values()) == [FEWEST + STEP] * 2 + [FEWEST + 2 * STEP]


@pytest.mark.parametrize(("took_s", "tried"), [(300.0, 1), (30.0, 2), (100.0, 2)])
def test_where_all_of_the_core_fails_for_good_another_is_tried_only_as_long_as_there_is_time(took_s, tried):
    """A run that ends by its own limit may take longer than the whole time."""
    groups, left_s = cores(3), 110.0
    table = Timetable(groups=groups, block_s=block_s)
    failed = set()
    while len(failed) < tried and (group := table.next(left_s)):
        table.took(group)
        failed.add(group)
        table.let_go(set(failed))
        left_s -= took_s

    assert len(failed) == tried
    assert (table.next(left_s) is None) == (left_s < CORE_S)


def test_what_fails_around_the_core_takes_no_first_block_from_it():
    link = FakeGroup("link", core=False, around=True, most=2)
    table = Timetable(groups=[*cores(1), link], block_s=block_s, counts={link: 1})
    table.let_go({link})

    assert table.next(-2.0).name == "core 0"


@pytest.mark.parametrize(("left_s", "next_one"), [(2 * CORE_S, "core 1"), (CORE_S - 1, None)])
@pytest.mark.parametrize("had", [0, 1, FEWEST])
def test_another_one_is_shown_in_the_rest_of_the_time_where_the_first_failed(had, left_s, next_one):
    """However many blocks were given out: none in a session that goes on, several where there are several hands."""
    first, second = cores(2)
    table = Timetable(groups=[first, second], block_s=block_s, counts={first: had}, yields=True)
    table.let_go({first})

    found = table.next(left_s)
    assert (found and found.name) == next_one


def test_several_hands_take_the_blocks_of_a_step_at_once():
    groups = cores(3)
    table = Timetable(groups=groups, block_s=block_s, hands=3, counts=dict.fromkeys(groups, FEWEST + STEP))
    table._level = FEWEST + STEP
    taken, in_level = [], []
    while group := table.next_of_more(3 * CORE_S + 1 - CORE_S * len(taken)):
        taken.append(group.name)
        table.took(group)
        in_level.append(table.is_in_level)

    assert taken == ["core 0"] * STEP
    assert in_level == [True, True, False]


def test_a_begun_step_goes_on_as_far_as_the_time_of_a_slower_machine_goes():
    groups = cores(3)
    cost_s = dict.fromkeys(groups, CORE_S)
    table = Timetable(groups=groups, block_s=cost_s.get, counts=dict.fromkeys(groups, FEWEST + STEP))
    table._level = FEWEST + STEP
    table.took(table.next_of_more(35.0))
    cost_s.update(dict.fromkeys(groups, 14.0))

    assert table.next_of_more(25.0) is groups[0]
    table.took(groups[0])
    assert table.next_of_more(11.0) is None


def test_a_slow_first_comparison_keeps_no_quicker_one_from_nine_blocks():
    slow, quick = FakeGroup("slow", cost_s=100.0), FakeGroup("quick")
    counted = dict.fromkeys((slow, quick), FEWEST)
    table = Timetable(groups=[slow, quick], block_s=block_s, counts=counted, yields=True)

    assert table.next(200.0) is quick
