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


@pytest.mark.parametrize(("had", "next_one"), [(1, "core 1"), (FEWEST, None)])
def test_another_one_is_shown_in_the_rest_of_the_time_only_where_nothing_is_decided(had, next_one):
    first, second = cores(2)
    table = Timetable(groups=[first, second], block_s=block_s, counts={first: had}, yields=True)
    table.let_go({first})

    found = table.next(2 * CORE_S)
    assert (found and found.name) == next_one
