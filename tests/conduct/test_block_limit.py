"""Blocks that take longer than anybody expected end before their turns; the clock is made up."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from fake_runs import FakeRun
from study_data import make_run, make_trial
from trainspeed.conduct import block_limit, study
from trainspeed.conduct.block_limit import FIRST_S, BlockLimit, limit_of
from trainspeed.conduct.context import Context
from trainspeed.conduct.groups import Pace, groups_of
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.core.trial import LAYOUTS
from trainspeed.show.coverage import coverage_sentences
from trainspeed.worker.events import TurnEnded

PAIR, OTHER = (
    TrialSet(
        trials=tuple(make_trial(dataset="digits", layout=layout, batch_size=size) for layout in LAYOUTS),
        blocks=6,
        factors=("layout",),
    )
    for size in (32, 16)
)


@pytest.fixture
def clock(fake_clock, monkeypatch):
    monkeypatch.setattr(block_limit, "time", SimpleNamespace(monotonic=fake_clock))
    return fake_clock


@pytest.mark.parametrize(
    ("number", "budget_s", "runs", "more_s"),
    [
        (0, 100.0, [make_run()], 20.0),
        (0, 100.0, [make_run(status=Status.CRASHED)], FIRST_S),
        (1, 100.0, [make_run()], math.inf),
        (0, None, [], math.inf),
    ],
)
def test_the_first_block_of_a_group_may_take_what_is_left(clock, number, budget_s, runs, more_s):
    queue = SimpleNamespace(end_s=clock() + 50.0, table=SimpleNamespace(after_s=5.0, grace_s=20.0))
    limit = limit_of(SimpleNamespace(number=number), queue, runs, budget_s)

    assert limit.left_s == 45.0 + more_s


def test_arms_whose_turns_alone_take_longer_than_is_left_end_with_what_a_block_needs(clock):
    limit, asked = BlockLimit(until_s=clock() + 60.0), []

    def least_s(epoch_s):
        asked.append(epoch_s)
        return 4 * sum(epoch_s)

    assert limit.ending(least_s, 3, [9.0]) is None
    clock.advance(20.0)
    ending = limit.ending(least_s, 3, [9.0, 1.0])
    assert (ending.status, ending.failure.needs_s) == (Status.TIMEOUT, 20.0 + 40.0 * 3 / 2)
    assert "takes 1 min 20 s or more, and there were 1 min 00 s for it" in ending.reason
    assert asked == [[9.0], [9.0, 1.0]]
    clock.advance(40.0)
    assert limit.ending(lambda epoch_s: 0.0, 3, []).failure.needs_s == 60.0


def test_what_a_block_would_have_taken_tells_how_long_others_take():
    late, other = groups_of([PAIR, OTHER], ["", ""], [True, True], seed=0)
    pace = Pace((), "cpu")
    before_s = pace.block_s(other)
    pace.learn(late, 5.0, [make_run(status=Status.TIMEOUT, failure=Failure(needs_s=500.0))])

    assert pace.block_s(late) == 500.0
    assert pace.block_s(other) > 2 * before_s


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
    assert (late.blocks, late.failed, other.blocks) == (0, False, 0)
    assert "No time for 2 of 2 groups" in coverage_sentences(runs.coverage)[-1]
