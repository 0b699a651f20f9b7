"""What a time is used for at its end, and where trials fail for good. Nothing is measured."""

from __future__ import annotations

import pytest

from timetable_data import CORE_S, block_s, cores, counts, spend
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


def test_the_last_of_the_time_is_spent_on_whole_steps_block_after_block():
    _, done, _ = spend(cores(3), (3 * (FEWEST + STEP) + 2 * STEP) * CORE_S)

    assert [group.name for group, _ in done[-2 * STEP :]].count("core 2") == 0
    assert [number for _, number in done[-2 * STEP :]] == [9, 9, 10, 10, 11, 11]


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
    assert (table.next(left_s) is None) == (left_s <= 0)
