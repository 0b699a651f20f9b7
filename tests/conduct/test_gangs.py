"""Runs that several nodes train together, with nodes and workers that only pretend."""

from __future__ import annotations

import threading
from dataclasses import replace

import msgspec
import pytest

from fake_runner import TRIALS, FakeWorker, runner
from trainspeed.conduct.cluster.gang_twins import TwinGangs
from trainspeed.conduct.cluster.node import NodeLost, Refused
from trainspeed.conduct.cluster.orders import Answer, FollowEnd, FollowOrder, encode
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import Planned
from trainspeed.core.result import Failure
from trainspeed.core.run import Status

SETTINGS = dict(session="s1", study="multi_gpu", device="cpu", timeout_s=9.0, turn_s=0.5)
SETTINGS |= dict(interval_s=1.0)
HERE = "127.0.0.1"
ACROSS = replace(TRIALS[0], framework="torch", strategy="ddp", devices=2, nodes=2)
CRASH = RunOutcome(
    status=Status.CRASHED, reason="Connection closed by peer", failure=Failure(error="RuntimeError")
)


class Twin:
    """A node that follows as it is told to."""

    name = "a-2"

    def __init__(self, *, status="ok", reason=None, problem=None):
        self.orders: list[FollowOrder] = []
        self._ended, self._problem = FollowEnd(status=status, reason=reason), problem
        self.followed = threading.Event()

    def call(self, method, order="{}"):
        if method == "address":
            yield encode(Answer(address="10.77.0.2"))
            return
        self.orders.append(msgspec.json.decode(order, type=FollowOrder))
        self.followed.set()
        if self._problem:
            raise self._problem
        yield encode(Answer(ended=self._ended))


def measured(tmp_path, twin, *outcomes, trial=ACROSS):
    log = []
    one = runner(
        tmp_path,
        log,
        lambda name: FakeWorker(log, name, [*outcomes]),
        gangs=TwinGangs([twin], HERE, SETTINGS),
    )
    run = one.measure(Planned(block=0, label="", trial=trial.in_block(0)))
    return run, [entry for entry in log if not isinstance(entry, tuple)]


def test_the_other_node_forks_its_ranks_of_the_same_run(tmp_path):
    twin = Twin()
    run, (request,) = measured(tmp_path, twin)

    (order,) = twin.orders
    assert run.status is Status.OK
    assert (request.gang.node, order.node) == (0, 1)
    assert order.addresses == request.gang.addresses == (HERE, "10.77.0.2")
    assert order.port == request.gang.port > 0
    assert order.runs[0].planned().trial == request.trial


def test_a_run_on_one_node_needs_nobody(tmp_path):
    twin = Twin()
    run, (request,) = measured(tmp_path, twin, trial=TRIALS[0])
    assert (run.status, request.gang, twin.orders) == (Status.OK, None, [])


@pytest.mark.parametrize(
    ("twin", "status", "reason"),
    [
        (Twin(problem=NodeLost("it no longer answers")), Status.CRASHED, "a node was lost: a-2"),
        (Twin(problem=Refused("no torch")), Status.UNSUPPORTED, "on a-2: no torch"),
        (Twin(status="oom", reason="no memory"), Status.OOM, "on a-2: no memory"),
    ],
)
def test_why_another_node_did_not_follow_is_the_runs_reason(tmp_path, twin, status, reason):
    run, _ = measured(tmp_path, twin, CRASH)
    assert (run.status, run.reason) == (status, reason)


def test_a_lost_node_is_no_end_of_a_trial(tmp_path):
    """Gloo waits for a node whose cable was pulled until the time is over."""
    late = RunOutcome(status=Status.TIMEOUT, reason="not finished", failure=Failure(stage="train"))
    run, _ = measured(tmp_path, Twin(problem=NodeLost("")), late)
    assert (run.status, run.is_final) == (Status.CRASHED, False)


def test_what_had_been_trained_stays_where_a_node_is_lost_afterwards(tmp_path):
    run, _ = measured(tmp_path, Twin(problem=NodeLost("")))
    assert run.status is Status.OK


def test_more_nodes_than_there_are_cannot_begin(tmp_path):
    run, requests = measured(tmp_path, Twin(), trial=replace(ACROSS, devices=3, nodes=3, batch_size=6))
    assert run.status is Status.CRASHED and not requests
    assert run.reason == "it is for 3 nodes, and there are 2"


def test_a_reason_holds_no_address(tmp_path):
    reached = replace(CRASH, reason="Read error [10.77.0.2]:4242")
    run, _ = measured(tmp_path, Twin(status="crashed", reason="closed"), reached)
    assert "10.77.0.2" not in run.reason
