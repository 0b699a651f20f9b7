"""Designs tell of every switch: balanced, folded, and near to all that are on."""

from collections import Counter
from itertools import combinations, product

import pytest

from search_world import switch, switches
from trainspeed.search.design import (
    COLUMNS,
    covers,
    hadamard,
    leave_out_blocks,
    mirror_pairs,
    without_switches,
)
from trainspeed.search.switch import Switch

COMPILE = Switch(lever="compile", value="on", fields=(("compile", True),))
MODE = Switch(lever="mode", value="max", fields=(("compile", True),), settings=(("mode", "max"),))


@pytest.mark.parametrize("order", [1, 2, *COLUMNS])
def test_rows_of_a_hadamard_matrix_are_orthogonal(order):
    rows = hadamard(order)
    products = {sum(a * b for a, b in zip(*two, strict=True)) for two in combinations(rows, 2)}
    assert len(rows) == order and {len(row) for row in rows} == {order}
    assert products <= {0}
    assert set(rows[0]) == {1} and {row[0] for row in rows} == {1}


@pytest.mark.parametrize("order", [0, 10, 28])
def test_there_is_no_hadamard_matrix_of_other_orders(order):
    with pytest.raises(ValueError, match="power of 2, such as 16, or one of 12, 20, 24"):
        hadamard(order)


def test_the_first_pair_is_all_and_none():
    assert mirror_pairs(switches(5), 8)[0] == (switches(5), ())


def test_mirror_pairs_switch_every_lever_within_each_pair():
    for row, mirror in mirror_pairs(switches(14), 16):
        assert sorted((*row, *mirror), key=lambda one: one.lever) == list(switches(14))


@pytest.mark.parametrize("columns", [8, 12, 16, 20])
def test_any_three_switches_have_all_their_combinations_equally_often(columns):
    """Then no main effect holds an interaction of two: resolution IV."""
    arms = [set(arm) for pair in mirror_pairs(switches(columns), columns) for arm in pair]
    for three in combinations(switches(columns), 3):
        seen = Counter(tuple(one in arm for one in three) for arm in arms)
        assert [seen[each] for each in product((True, False), repeat=3)] == [columns / 4] * 8


def test_more_switches_than_columns_are_refused():
    with pytest.raises(ValueError, match=r"columns \(=8\) must be at least as many as the switches: 9"):
        mirror_pairs(switches(9), 8)


@pytest.mark.parametrize(("count", "arms"), [(1, 2), (2, 3), (3, 4), (4, 4), (9, 4)])
def test_each_switch_is_left_out_once_in_every_block(count, arms):
    for block in leave_out_blocks(switches(count), 6, seed=1):
        assert len(block) == arms
        assert sorted((one for off in block for one in off), key=lambda one: one.lever) == list(
            switches(count)
        )


def test_which_switches_are_left_out_together_changes():
    blocks = leave_out_blocks(switches(8), 8, seed=1)
    together = {frozenset(two) for block in blocks for off in block for two in combinations(off, 2)}
    assert len(together) > 12  # of the 28 pairs; a fixed partition has 4


def test_what_brings_a_switch_back_goes_with_it():
    assert covers(MODE, COMPILE)
    assert not covers(COMPILE, MODE)
    assert without_switches((COMPILE, MODE, switch(1)), [COMPILE]) == (switch(1),)
    assert without_switches((COMPILE, MODE, switch(1)), [MODE]) == (COMPILE, switch(1))
