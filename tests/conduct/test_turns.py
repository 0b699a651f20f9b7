"""Arms that take turns: their order, their length, and real workers whose arms wait for each other."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise
from pathlib import Path

import psutil
import pytest

from fake_conv2d import Buggy, behaving
from fake_runs import FakeRun
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.turn_plan import places_of
from trainspeed.conduct.turns import ROUNDS, Turns, measure_in_turns, orders, turn_of_calls
from trainspeed.conduct.worker_process import WorkerProcess
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.worker.events import TakeTurn
from trainspeed.worker.request import Request

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_every_arm_comes_before_every_other_one_equally_often(arms):
    rounds = list(orders(arms, ROUNDS, "seed"))

    assert len(rounds) == ROUNDS
    for one, other in combinations(range(arms), 2):
        assert sum(order.index(one) < order.index(other) for order in rounds) == ROUNDS / 2


def test_a_steady_drift_favours_no_arm():
    """Its mean place is the same for all."""
    rounds = list(orders(4, ROUNDS, "seed"))

    assert len({sum(order.index(arm) for order in rounds) for arm in range(4)}) == 1


def test_the_order_comes_from_the_seed():
    assert list(orders(5, ROUNDS, "a")) == list(orders(5, ROUNDS, "a")) != list(orders(5, ROUNDS, "b"))


@pytest.mark.parametrize(("asked", "calls"), [(3, 1), (4, 1), (5, 2), (100, 25)])
def test_a_run_makes_all_calls_that_were_asked_for_and_as_many_as_fit_into_its_turns(asked, calls):
    assert turn_of_calls(0.2, asked) == TakeTurn(calls=calls, seconds=0.2)


LAYOUTS = "channels_first", "channels_last"


def request(behaviour: str | None = None, **changes) -> Request:
    fields = {"layout": "channels_first", "batch_size": 8, "images_per_epoch": 16, "epochs": 3, **changes}
    trial = Trial(
        framework="torch", model="cnn10", dataset="digits", weights=behaviour, image_size=8, **fields
    )
    return Request(trial=trial, device="cpu", requested_at=time.monotonic(), turns=True)


@pytest.fixture
def no_more_rounds(monkeypatch):
    """What else runs on this machine would add rounds where a turn of a made-up epoch takes a tenth of a second."""
    monkeypatch.setattr("trainspeed.conduct.turns.MORE_ROUNDS", 0)


@pytest.fixture
def worker(no_more_rounds):
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])
    with closing(WorkerProcess(sys.executable, "fake_backend", environment={"PYTHONPATH": path})) as process:
        yield process


def begin(worker, *requests, timeout_s=60):
    return [partial(worker.begin, one, timeout_s) for one in requests]


def measure(worker, *requests, **options):
    return measure_in_turns(
        begin(worker, *requests, **options), "seed", lambda epoch_s: Turns(each=TakeTurn(epochs=3))
    )


def test_each_arm_has_a_turn_in_every_round(worker):
    outcomes = measure(worker, request(), request(layout="channels_last"))
    turns = [outcome.result.turns for outcome in outcomes]

    assert [outcome.status for outcome in outcomes] == [Status.OK] * 2
    assert [[turn.round for turn in taken] for taken in turns] == [[*range(ROUNDS)]] * 2
    assert all({one.place, other.place} == {0, 1} for one, other in zip(*turns, strict=True))
    assert [taken[0].epoch_s for taken in turns] == [(0.1,) * 3, (0.05,) * 3]
    for outcome, taken in zip(outcomes, turns, strict=True):
        assert outcome.result.epoch_s[2:] == tuple(s for turn in taken for s in turn.epoch_s)


@pytest.mark.parametrize(("at_once", "paced"), [(1, False), (2, False), (2, True)])
def test_arms_that_may_begin_at_once_train_a_second_epoch_one_by_one_when_all_have_come(
    worker, at_once, paced
):
    """Beside another one it would take longer, and tell a wrong pace; where that is known there is none."""
    places = places_of(2, at_once=at_once, ends_at_once=2, paced=paced)
    requests = [
        replace(request(layout=layout), **place) for layout, place in zip(LAYOUTS, places, strict=True)
    ]
    begun = []

    def start(one):
        begun.append(worker.begin(one, 60))
        return begun[-1]

    def turn(epoch_s):
        assert paced or epoch_s == [0.1, 0.05], "not of the first ones"
        return Turns(each=TakeTurn(epochs=3))

    starts = [partial(start, one) for one in requests]
    outcomes = measure_in_turns(starts, "seed", turn, at_once=at_once, ends_at_once=2, paced=paced)

    for result in (outcome.result for outcome in outcomes):
        assert [len(turn.epoch_s) for turn in result.turns] == [3] * ROUNDS
        assert len(result.epoch_s) == (1 if paced else 2) + 3 * ROUNDS
        assert result.built_beside == at_once - 1


def test_arms_end_at_once_also_where_they_begin_one_after_the_other():
    """What comes after the turns is not timed."""
    said = []

    class Told(FakeRun):
        def finish(self):
            said.append("finish")
            super().finish()

        def end(self):
            said.append("end")
            return super().end()

    arms = [partial(Told, RunOutcome(status=Status.OK)) for _ in range(3)]
    for ends_at_once in (None, 2):
        measure_in_turns(
            arms, "seed", lambda epoch_s: Turns(each=TakeTurn(epochs=1)), ends_at_once=ends_at_once
        )

    assert said == [*["finish", "end"] * 3, *["finish", "finish", "end", "end", "finish", "end"]]


def test_turns_follow_each_other_and_no_two_overlap(worker):
    requests = request(), request()
    outcomes = measure(worker, *requests)
    starts = sorted(
        (one.requested_at + turn.start_s, turn.round, turn.place)
        for one, outcome in zip(requests, outcomes, strict=True)
        for turn in outcome.result.turns
    )

    assert [(turn_round, place) for _, turn_round, place in starts] == [
        (turn_round, place) for turn_round in range(ROUNDS) for place in (0, 1)
    ]


def test_an_arm_that_fails_leaves_and_the_others_go_on(worker):
    outcomes = measure(worker, request(), request("die"), request("bug"))

    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.CRASHED, Status.CRASHED]
    assert len(outcomes[0].result.turns) == ROUNDS


def test_an_arm_that_overruns_its_time_ends_alone(worker):
    outcomes = measure(worker, request(), request("hang"), timeout_s=3)

    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.TIMEOUT]
    assert worker.alive


def test_arms_that_are_too_slow_for_their_time_end_before_their_turns_and_the_worker_goes_on(worker):
    late = RunOutcome(status=Status.TIMEOUT, reason="too slow", failure=Failure(needs_s=9.0))
    ways = {
        "turns": lambda epoch_s: pytest.fail("none"),
        "too_slow": lambda s: late if sum(s) > 0.1 else None,
    }
    arms = begin(worker, request("bug"), request(), request(), request())
    outcomes = measure_in_turns(arms, "seed", **ways)

    assert [outcome.status for outcome in outcomes] == [Status.CRASHED, *[Status.TIMEOUT] * 3]
    assert {outcome.failure for outcome in outcomes[1:]} == {late.failure}
    assert outcomes[1].result.stages_s["wait"] > 0 and outcomes[3] is late, "it never began"
    assert [outcome.status for outcome in measure(worker, request())] == [Status.OK]


@pytest.mark.parametrize("behaviour", ["out of memory", "busy device"])
def test_arms_that_do_not_fit_together_end_at_once_and_the_worker_goes_on(worker, behaviour):
    """Nothing of them is kept: they are measured again in smaller groups. Some GPUs serve one process at a time."""
    assert measure(worker, request(), request(), request(behaviour)) is None
    assert [outcome.status for outcome in measure(worker, request())] == [Status.OK]


def test_an_arm_that_is_still_being_built_ends_with_one_that_does_not_fit_beside_it(worker):
    """Nobody has read of its process yet; it would train beside the turns of the others."""
    requests = [
        replace(one, **place)
        for one, place in zip(
            [request("out of memory"), request("hang")], places_of(2, at_once=2, ends_at_once=2), strict=True
        )
    ]
    begun = []

    def start(one):
        begun.append(worker.begin(one, 60))
        return begun[-1]

    starts, both = [partial(start, one) for one in requests], {"at_once": 2, "ends_at_once": 2}
    assert measure_in_turns(starts, "seed", lambda epoch_s: Turns(each=TakeTurn(epochs=1)), **both) is None
    assert begun[1]._pid is None, "it has ended"


def test_an_arm_that_is_out_of_memory_before_another_is_there_leaves_and_the_others_go_on(worker):
    outcomes = measure(worker, request("out of memory"), request())

    assert [outcome.status for outcome in outcomes] == [Status.OOM, Status.OK]


def test_an_arm_that_is_killed_at_rest_ends_alone(worker):
    runs = [start() for start in begin(worker, request(), request())]
    assert all(run.rests() for run in runs)
    psutil.Process(runs[0]._pid).kill()

    assert runs[0].take_turn(TakeTurn(round=0, place=0, epochs=1)) is None
    assert "killed by SIGKILL in stage 'train'" in runs[0].outcome.reason
    assert runs[1].take_turn(TakeTurn(round=0, place=1, epochs=2)).epoch_s == (0.1, 0.1)
    runs[1].finish()
    assert runs[1].end().status == Status.OK


# Convolutions.


@pytest.fixture
def convolver(no_more_rounds):
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "lib")])
    with closing(WorkerProcess(sys.executable, "fake_conv2d", environment={"PYTHONPATH": path})) as process:
        yield process


def test_calls_take_turns_too_and_what_fails_in_its_first_call_leaves(convolver):
    """Each rests after its first call and a warm-up; the turns follow each other, and hold all of its calls."""
    requests = [
        Request(trial=trial, device="cpu", requested_at=time.monotonic(), turns=True)
        for trial in (behaving(), behaving(Buggy), behaving(devices=2))
    ]
    outcomes = measure_in_turns(
        begin(convolver, *requests), "seed", lambda epoch_s: Turns(each=turn_of_calls(1e-6, calls=8))
    )

    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.CRASHED, Status.OK]
    spans = []
    for one, outcome in zip(requests, outcomes, strict=True):
        result = outcome.result
        assert [len(turn.call_s) for turn in result.turns] == [2] * len(result.turns)
        assert result.call_s == tuple(s for turn in result.turns for s in turn.call_s)
        assert result.resident_s == tuple(s for turn in result.turns for s in turn.resident_s)
        spans += [
            (one.requested_at + t.start_s, one.requested_at + t.end_s, (t.round, t.place))
            for t in result.turns
        ]
    spans.sort()
    assert [which for *_, which in spans] == [(number, place) for number in range(ROUNDS) for place in (0, 1)]
    assert all(ended <= begun for (_, ended, _), (begun, *_) in pairwise(spans))
    assert outcomes[0].result.stages_s["wait"] > 0


@pytest.mark.parametrize(
    ("planned", "disturbed", "rounds"),
    [
        (4, (), 4),
        (4, (1, 2), 4),  # two are left
        (4, (0, 1, 2), 6),
        (4, (0, 1, 2, 4, 5), 6),  # no more than that, in the time of which others are measured
        (4, (0, 1, 2, 3), 4),  # whoever runs all the time would do so in further rounds, too
        (12, range(8), 12),  # a third is left
        (12, range(9), 14),
        (12, range(11), 12),  # two more would not be enough
        (2, (0,), 2),  # where nothing is to be decided
    ],
)
def test_where_others_disturb_rounds_there_are_more_in_pairs(planned, disturbed, rounds):
    """In a pair every arm comes once before and once after every other one."""
    arms = [FakeRun(RunOutcome(status=Status.OK), which) for which in (disturbed, ())]

    turns = Turns(rounds=planned, each=TakeTurn(epochs=1))

    measure_in_turns([lambda run=run: run for run in arms], "seed", lambda epoch_s: turns)

    assert [run.rounds for run in arms] == [[*range(rounds)]] * 2
