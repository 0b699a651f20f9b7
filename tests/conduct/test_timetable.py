"""Which blocks fit into a time: by arithmetic, nothing is measured."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as some

from timetable_data import CORE_S, OTHER_S, FakeGroup, block_s, cores, counts, others, spend
from trainspeed.conduct.timetable import FEWEST, GRACE, STEADY, STEP, Timetable
from trainspeed.judge import next_step
from trainspeed.judge.verdict import MIN_BLOCKS


def test_six_blocks_are_what_a_verdict_needs():
    assert FEWEST == MIN_BLOCKS and STEADY == next_step.STEADY


def test_without_a_limit_everything_is_measured_as_often_as_asked():
    groups = [*cores(2), FakeGroup("short", most=3), *others(2), *others(1, most=8)]

    table, done, _ = spend(groups, math.inf)

    assert all(table.had(group) == group.most for group in groups)
    assert len(set(done)) == len(done) == sum(group.most for group in groups)


def test_the_core_comes_first_then_the_rest_once_then_more_of_the_core_by_threes():
    time_s = 6 * 2 * CORE_S + 3 * OTHER_S + 3 * 2 * CORE_S

    table, done, spent_s = spend([*cores(2), *others(3)], time_s)

    assert counts(table) == {"core 0": 9, "core 1": 9, "other 0": 1, "other 1": 1, "other 2": 1}
    assert spent_s == time_s
    assert [group.core for group, _ in done] == [True] * 12 + [False] * 3 + [True] * 6


def test_block_after_block_every_core_group_has_its_turn():
    _, done, _ = spend(cores(3), math.inf)

    assert [number for _, number in done] == [number for number in range(15) for _ in range(3)]


def test_time_for_two_more_blocks_is_not_used():
    table, _, _ = spend(cores(1), 8 * CORE_S)

    assert counts(table) == {"core 0": 6}


def test_what_does_not_fit_is_left_out_from_the_end_and_the_core_last():
    table, _, _ = spend([*cores(3), *others(2)], 6 * 2 * CORE_S + 1)

    assert counts(table) == {"core 0": 6, "core 1": 6, "core 2": 0, "other 0": 0, "other 1": 0}


def test_one_that_is_too_large_does_not_keep_out_smaller_ones_after_it():
    huge = FakeGroup("huge", core=False, most=1, cost_s=1000.0)

    table, _, _ = spend([*cores(1), huge, *others(1)], 6 * CORE_S + 2 * OTHER_S)

    assert counts(table) == {"core 0": 6, "huge": 0, "other 0": 1}


def test_where_not_even_one_group_can_have_six_it_has_as_many_as_fit():
    table, _, _ = spend(cores(2), 3 * CORE_S + 1)

    assert counts(table) == {"core 0": 3, "core 1": 0}


def test_what_was_given_up_comes_back_where_the_first_was_quicker_than_expected():
    """Before anything has a seventh block; then the first has time for nine."""
    groups = [FakeGroup("first"), FakeGroup("second")]
    cost_s = {"first": 20.0, "second": CORE_S}
    table = Timetable(groups=groups, block_s=lambda group: cost_s[group.name])
    time_s, order = 15 * CORE_S, []
    for pick in (table.next, table.next_of_more):
        while (group := pick(time_s)) is not None:
            order.append(group.name)
            table.took(group)
            time_s -= CORE_S
            if len(order) == 2:
                assert order == ["first", "first"], "as both together seemed to take 180 s"
                cost_s["first"] = CORE_S

    assert order == ["first"] * 6 + ["second"] * 6 + ["first"] * 3
    assert counts(table) == {"first": 9, "second": 6}


def test_time_that_nothing_else_can_use_shows_what_was_left_out_once():
    table, _, spent_s = spend(cores(3), 8 * CORE_S)

    assert counts(table) == {"core 0": 6, "core 1": 1, "core 2": 1}
    assert spent_s == 8 * CORE_S


def test_time_that_other_notebooks_can_use_is_left_to_them_where_it_decides_nothing_more():
    table, _, spent_s = spend([*cores(3), *others(1)], 8 * CORE_S, yields=True)

    assert counts(table) == {"core 0": 6, "core 1": 0, "core 2": 0, "other 0": 1}
    assert spent_s == 6 * CORE_S + OTHER_S


def test_one_that_turns_out_too_slow_goes_no_further_where_another_is_decided():
    """The recorded case: 6.5 s were expected of a block that took 17 s."""
    slow = FakeGroup("slow", cost_s=17.0)
    expected_s = {slow: 6.5}
    table = Timetable(groups=[*cores(1), slow], block_s=lambda group: expected_s.get(group, group.cost_s))
    left_s = 6 * CORE_S + 40.0
    while group := table.next(left_s):
        expected_s.pop(group, None)
        table.took(group)
        left_s -= group.cost_s

    assert counts(table) == {"core 0": 6, "slow": 1}


@pytest.mark.parametrize(("late_s", "second"), [(9.0, 6), (11.0, 0)])
def test_what_was_given_up_may_end_a_little_late_rather_than_leave_its_time_to_less(late_s, second):
    table, _, _ = spend([*cores(2), *others(3)], 2 * 6 * CORE_S - late_s, grace_s=40.0)

    assert counts(table)["core 1"] == second


def test_one_block_that_gives_no_interval_does_not_end_late():
    look = FakeGroup("look", most=1)
    table, _, _ = spend([*cores(1), look], 7 * CORE_S - 9.0, grace_s=40.0)

    assert counts(table) == {"core 0": 6, "look": 0}


@pytest.mark.parametrize(("time_s", "blocks"), [(60.0, 6), (57.5, 6), (55.0, 5)])
def test_what_is_begun_though_its_six_blocks_do_not_fit_ends_no_more_than_a_little_late(time_s, blocks):
    """The grace is for what turns out slower than expected: a plan would promise a time that it does not keep to."""
    table, _, now_s = spend(cores(1), time_s, grace_s=GRACE * time_s, yields=True)

    assert table.had(table.groups[0]) == blocks and now_s <= 1.05 * time_s


def test_a_study_is_never_empty():
    table, _, _ = spend([*cores(2), *others(1)], 0.1)

    assert counts(table) == {"core 0": 1, "core 1": 0, "other 0": 0}


def test_the_core_has_nine_blocks_before_the_rest_has_six_and_all_have_six_before_anything_has_twelve():
    table, done, _ = spend([*cores(1), *others(2, most=15)], math.inf)

    assert [group.core for group, _ in done[:22]] == [True] * 6 + [False] * 2 + [True] * 3 + [False] * 10 + [
        False
    ]
    twelfth = next(index for index, (_, number) in enumerate(done) if number == FEWEST + STEP)
    assert all(number < FEWEST + STEP for _, number in done[:twelfth])
    assert set(counts(table).values()) == {15}


def test_of_the_core_the_last_do_without_nine_blocks_where_the_time_is_not_enough_for_all():
    table, _, _ = spend([*cores(3), *others(1, most=15)], 6 * 3 * CORE_S + OTHER_S + 3 * 2 * CORE_S + 1)

    assert counts(table) == {"core 0": 9, "core 1": 9, "core 2": 6, "other 0": 1}


def test_a_machine_that_gets_slower_loses_groups_and_not_the_time():
    time_s = 6 * 4 * CORE_S
    table, _, spent_s = spend(cores(4), time_s, slower_after_s=time_s / 4, factor=3.0)

    assert spent_s <= time_s + 3 * CORE_S
    assert counts(table)["core 0"] >= counts(table)["core 3"]


def test_what_was_begun_of_the_core_ends_its_six_blocks_within_the_grace():
    time_s = 6 * 2 * CORE_S
    slower = {"slower_after_s": 2 * CORE_S, "factor": 1.15}
    groups = [*cores(2), *others(1)]

    without, _, _ = spend(groups, time_s, **slower)
    table, _, spent_s = spend(groups, time_s, **slower, grace_s=0.2 * time_s)

    assert sorted(counts(without).values())[:2] != [6, 6]
    assert counts(table) == {"core 0": 6, "core 1": 6, "other 0": 0}
    assert time_s < spent_s <= 1.2 * time_s


def test_a_grace_begins_nothing_and_does_not_pay_for_blocks_without_an_interval():
    assert counts(spend(cores(2), 6 * CORE_S, grace_s=3 * CORE_S)[0]) == {"core 0": 6, "core 1": 0}
    _, _, spent_s = spend(cores(1), 4 * CORE_S, grace_s=CORE_S)
    assert spent_s == 4 * CORE_S


def test_a_forecast_changes_nothing_and_is_what_comes_true():
    groups = [*cores(2), *others(3)]
    table = Timetable(groups=groups, block_s=block_s)

    end = table.forecast(200.0)

    assert counts(table) == dict.fromkeys(counts(table), 0)
    really, _, spent_s = spend(groups, 200.0)
    assert counts(end) == counts(really)
    assert end.forecast_s == spent_s


@given(
    time_s=some.floats(1, 2000),
    core_s=some.lists(some.floats(0.5, 60), min_size=1, max_size=6),
    other_s=some.lists(some.tuples(some.floats(0.5, 60), some.sampled_from([1, 2, 6, 15])), max_size=8),
)
def test_no_time_is_exceeded_and_none_is_wasted(time_s, core_s, other_s):
    groups = [FakeGroup(f"core {n}", cost_s=seconds) for n, seconds in enumerate(core_s)]
    groups += [
        FakeGroup(f"other {n}", core=False, cost_s=seconds, most=most)
        for n, (seconds, most) in enumerate(other_s)
    ]

    table, _, spent_s = spend(groups, time_s)

    had = [table.had(group) for group in groups if group.core]
    assert spent_s <= max(time_s, core_s[0])
    assert all(blocks in (0, 1, *range(2, FEWEST), *range(FEWEST, 16, STEP)) for blocks in had)
    rest_s = time_s - spent_s
    untouched = [g for g in groups if not g.core and not table.had(g)]
    if had[0] >= FEWEST:
        assert all(block_s(group) > rest_s for group in untouched)
        grown = [g for g in groups if FEWEST <= table.had(g) < g.most]
        assert all(min(STEP, g.most - table.had(g)) * block_s(g) > rest_s for g in grown)


def around(cost_s: float = 3.0) -> FakeGroup:
    return FakeGroup("link", core=False, around=True, most=2, cost_s=cost_s)


def test_a_group_around_all_others_is_measured_first_and_last():
    table, done, now_s = spend([*cores(2), *others(2), around()], 300.0)
    names = [group.name for group, _ in done]
    assert (names[0], names[-1], names.count("link")) == ("link", "link", 2)
    assert now_s <= 300.0
    assert counts(table)["core 0"] > FEWEST


def test_a_group_around_all_others_has_its_last_block_however_short_the_time_is():
    """The first block of the core comes in any case as well."""
    _, done, _ = spend([*cores(1), around()], 1.0)
    assert [group.name for group, _ in done] == ["link", "core 0", "link"]


def test_its_time_is_kept_and_given_to_nobody_afterwards():
    group = around(cost_s=100.0)
    table, _, now_s = spend([*cores(1), *others(1), group], 400.0)
    assert now_s <= 400.0
    assert table.next(400.0 - now_s) is table.next_of_more(400.0 - now_s) is None


def test_what_is_left_when_a_session_goes_on_comes_before_the_last_block():
    """It had its first block and none of the core's."""
    group = around()
    table = Timetable(groups=[*cores(1), group], block_s=block_s, counts={group: 1})
    assert table.next(math.inf).name == "core 0"


def test_a_forecast_of_several_hands_counts_the_time_in_which_all_wait_for_one():
    groups = [*cores(2, most=6), around(cost_s=30.0)]
    end = Timetable(groups=groups, block_s=block_s, hands=3).forecast()
    assert end.forecast_s == 2 * 6 * CORE_S + 3 * 2 * 30.0
    assert Timetable(groups=groups, block_s=block_s, hands=3).forecast(end.forecast_s).counts == end.counts


def test_each_hand_compiles_anew_in_its_first_block():
    for hands, seconds in ((1, 30 + 5 * 8), (3, 3 * 30 + 3 * 8), (9, 6 * 30)):
        costs = {"block_s": lambda _: 8.0, "first_s": lambda _: 30.0}
        table = Timetable(groups=cores(1, most=6), hands=hands, **costs)
        assert [table.forecast(left_s).forecast_s for left_s in (math.inf, seconds)] == [seconds] * 2
