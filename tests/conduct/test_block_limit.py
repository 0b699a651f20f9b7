"""Blocks that take longer than anybody expected end before their turns; the clock is made up."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace

import pytest

from fake_runs import FakeRun
from study_data import make_run, make_trial
from trainspeed.conduct import block_limit, study
from trainspeed.conduct.block_limit import LONG_S, MORE_S, START_S, BlockLimit, limit_of
from trainspeed.conduct.context import Context
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.conduct.turns import Turns, measure_in_turns
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.core.trial import LAYOUTS
from trainspeed.judge.knee import knees
from trainspeed.show.coverage import coverage_sentences
from trainspeed.studies.across import common
from trainspeed.worker.events import TakeTurn, TurnEnded

PAIR, OTHER, THIRD = (
    TrialSet(
        trials=tuple(
            make_trial(dataset="digits", layout=layout, batch_size=size, model=model) for layout in LAYOUTS
        ),
        blocks=6,
        factors=("layout",),
    )
    for size, model in ((32, "cnn10"), (16, "cnn10"), (16, "wrn28_1"))
)


@pytest.fixture
def clock(fake_clock, monkeypatch):
    monkeypatch.setattr(block_limit, "time", SimpleNamespace(monotonic=fake_clock))
    return fake_clock


@pytest.mark.parametrize(
    ("changed", "left_s"),
    [
        ({}, 45.0 + MORE_S),
        ({"grace_s": 40.0}, 45.0 + 40.0),
        ({"end_s": -50.0}, MORE_S),
        ({"number": 1}, math.inf),
        ({"number": 1, "around": True}, 45.0 + MORE_S),
        ({"nodes": 2}, math.inf),
        ({"budget_s": None}, math.inf),
    ],
)
def test_the_first_block_of_a_group_may_take_what_is_left_and_a_little_more(clock, changed, left_s):
    given = {
        "number": 0,
        "around": False,
        "nodes": 1,
        "grace_s": 20.0,
        "end_s": 50.0,
        "budget_s": 100.0,
    } | changed
    table = SimpleNamespace(after_s=5.0, grace_s=given["grace_s"])
    queue = SimpleNamespace(end_s=clock() + given["end_s"], table=table)
    planned = [SimpleNamespace(trial=SimpleNamespace(nodes=given["nodes"]))]
    group = SimpleNamespace(around=given["around"])
    block = SimpleNamespace(number=given["number"], group=group, planned=planned)

    assert limit_of(block, queue, given["budget_s"]).until_s - clock() == left_s


def test_arms_whose_turns_alone_take_longer_than_is_left_end_with_what_a_block_needs(clock):
    limit = BlockLimit(until_s=clock() + 60.0)

    def least_s(epoch_s):
        return 4 * sum(epoch_s)

    assert limit.ending(least_s, 3, [9.0]) is None
    clock.advance(20.0)
    ending = limit.ending(least_s, 3, [9.0, 2.0])
    assert (ending.status, ending.failure.needs_s) == (Status.TIMEOUT, 20.0 + 4 * (9.0 + 2.0 + 2.0))
    assert "takes 1 min 12 s or more, and there were 1 min 00 s for it" in ending.reason
    assert not make_run(status=ending.status, failure=ending.failure).is_final


def test_what_took_long_to_begin_has_its_turns_all_the_same_unless_it_took_far_too_long(clock):
    limit = BlockLimit(until_s=clock() + 60.0)
    clock.advance(60.0 + START_S - 1.0)
    assert limit.ending(sum, 2, [1.0, LONG_S - 1.0]) is None
    clock.advance(1.0)
    assert limit.ending(sum, 2, []).failure.needs_s == 60.0 + START_S


def test_what_a_block_would_have_taken_tells_how_long_others_of_its_model_take():
    late, other, third = groups_of([PAIR, OTHER, THIRD], [""] * 3, [True] * 3, seed=0)
    pace = Pace((), "cpu")
    before_s = [pace.block_s(group) for group in (other, third)]
    pace.learn(late, 5.0, [make_run(status=Status.TIMEOUT, failure=Failure(needs_s=500.0))])

    assert pace.block_s(late) == 500.0
    assert pace.block_s(other) > 2 * before_s[0]
    assert pace.block_s(third) == before_s[1]


def test_a_slow_model_keeps_to_the_time_and_is_said_to_need_more(clocked, fake_clock, monkeypatch, tmp_path):
    """A block of it would take 10 s for each arm to begin, and 8 minutes of turns."""
    monkeypatch.setattr(FakeRun, "warm_up", lambda run: None if run.outcome else TurnEnded(epoch_s=(60.0,)))
    begun_s = fake_clock()
    plan, context = Plan(others=(PAIR, OTHER)), Context(id="s1", out=tmp_path)
    runs = study.measure("s", plan, timeout_s=600, interval_s=1, budget_s=100.0, context=context)

    assert [run.status for run in runs.runs] == [Status.TIMEOUT, Status.TIMEOUT]
    assert fake_clock() - begun_s == 20.0, "after the first arm's second epoch"
    assert {run.failure.needs_s for run in runs.runs} == {20.0 + 2 * 4 * 60.0}
    late, other = runs.coverage.groups
    assert (late.blocks, late.failed, late.needs_s, other.blocks) == (0, False, 500.0, 0)
    assert runs.coverage.ampler_minutes(6) == 6 * 500 / 60
    assert "No time for 2 of 2 groups" in coverage_sentences(runs.coverage)[-1]


@pytest.mark.parametrize("ends_at_once", [None, 2])
def test_a_first_epoch_which_holds_compiling_makes_no_arm_too_slow_whose_pace_is_known(ends_at_once):
    seen = []
    arms = [partial(FakeRun, RunOutcome(status=Status.OK)) for _ in range(2)]
    ways = {"ends_at_once": ends_at_once, "too_slow": lambda epoch_s: seen.append([*epoch_s])}
    for paced in (False, True):
        measure_in_turns(arms, "seed", lambda _: Turns(each=TakeTurn(epochs=1)), paced=paced, **ways)
        assert any(seen) != paced
        seen.clear()


def test_what_there_was_no_time_for_is_no_failure_of_its_trial():
    ended = {"status": Status.TIMEOUT, "failure": Failure(needs_s=5.0)}
    late, other = (
        make_run(trial=make_trial(batch_size=64), **ended),
        make_run(trial=make_trial(batch_size=32)),
    )

    assert common.failed([late]) == []
    assert knees([other, late]) == [], "one rung is no ladder"
