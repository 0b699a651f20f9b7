"""Runs that several nodes train together, with nodes and workers that only pretend."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import msgspec
import pytest

from fake_runner import TRIALS, FakeWorker, runner
from trainspeed.conduct.cluster import gang_twins
from trainspeed.conduct.cluster.gang_twins import TwinGangs, gangs_here
from trainspeed.conduct.cluster.node import NodeLost, Refused
from trainspeed.conduct.cluster.orders import FollowEnd, FollowOrder, Reply, encode_message
from trainspeed.conduct.context import TWINS_VARIABLE, Context
from trainspeed.conduct.crashes import NODE_LOST
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.gangs import judged
from trainspeed.conduct.machine import nodes_here
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.turns import MORE_ROUNDS, MOST_ROUNDS
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status
from trainspeed.core.user_model import FOLDER_VARIABLE
from trainspeed.studies.multi_gpu.scaling import node_counts
from trainspeed.worker.gang import Gang
from trainspeed.worker.request import Request

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
            yield encode_message(Reply(address="10.77.0.2"))
            return
        self.orders.append(msgspec.json.decode(order, type=FollowOrder))
        self.followed.set()
        if self._problem:
            raise self._problem
        yield encode_message(Reply(ended=self._ended))


class LateFork:
    """A run here that cannot be ended before it has forked."""

    def __init__(self):
        self.outcome, self.kills = None, 0

    def kill(self):
        self.kills += 1
        self.outcome = CRASH if self.kills > 2 else None


class AtOnce:
    """A thread that is over when it has started."""

    def __init__(self, *, target, args, **_):
        self.start = lambda: target(*args)


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
        (Twin(status="oom", reason="no memory"), Status.OOM, "on a-2: no memory"),
    ],
)
def test_why_another_node_did_not_follow_is_the_runs_reason(tmp_path, twin, status, reason):
    run, _ = measured(tmp_path, twin, CRASH)
    assert (run.status, run.reason) == (status, reason)


def test_a_node_that_refuses_to_follow_is_no_end_of_a_trial(tmp_path):
    """Another report measures there, or its disk is full: the next block may find it otherwise."""
    killed = RunOutcome(status=Status.CRASHED, reason="killed", failure=Failure(error="SIGKILL"))
    run, _ = measured(tmp_path, Twin(problem=Refused("another report is measuring")), killed)
    assert (run.status, run.reason) == (Status.CRASHED, "on a-2: another report is measuring")
    assert not run.is_final


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
    assert run.failure.error == NODE_LOST


def test_a_reason_holds_no_address(tmp_path):
    reached = replace(CRASH, reason="Read error [10.77.0.2]:4242")
    run, _ = measured(tmp_path, Twin(status="crashed", reason="closed"), reached)
    assert "10.77.0.2" not in run.reason


def test_a_node_that_fails_before_the_run_here_has_forked_ends_it(monkeypatch):
    monkeypatch.setattr(gang_twins.threading, "Thread", AtOnce)
    monkeypatch.setattr(gang_twins, "FORKED_S", 0.0)
    gangs, run = TwinGangs([Twin(problem=NodeLost(""))], HERE, SETTINGS), LateFork()
    gangs.begin(Request(trial=ACROSS, device="cpu", requested_at=0.0), 9.0).follow(run)

    assert run.outcome is CRASH


def test_where_this_one_waited_for_a_follower_that_had_failed_its_failure_is_the_runs():
    late = RunOutcome(status=Status.TIMEOUT, reason="not finished", failure=Failure(stage="train"))
    followed = replace(CRASH, reason="on a-2: closed")
    assert judged(late, None, followed).reason == "on a-2: closed"
    assert judged(late, None, None) is late


def test_a_run_of_several_nodes_without_another_one_is_a_lost_node(tmp_path):
    log = []
    one = runner(tmp_path, log, lambda name: FakeWorker(log, name))
    runs = [one.measure(Planned(block=n, label="", trial=ACROSS.in_block(n))) for n in range(4)]

    assert {(run.status, run.is_final, run.failure.error) for run in runs} == {
        (Status.CRASHED, False, NODE_LOST)
    }
    assert runs[0].reason == "it is for 2 nodes, and there is no other"


def test_a_users_model_goes_to_the_nodes_that_train_it(tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text("def build(): ...\n")
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    twin = Twin()
    measured(tmp_path, twin, trial=replace(ACROSS, model="net.py:build"))

    assert twin.orders[0].sources == {"net.py": "def build(): ...\n"}


def test_nodes_of_a_fleet_in_ipv6_train_together(monkeypatch):
    asked = []
    monkeypatch.setenv(TWINS_VARIABLE, json.dumps({"address": "[fd00::1]:6379", "names": ["a-2"]}))
    monkeypatch.setattr(gang_twins, "address_towards", lambda peer: asked.append(peer))

    assert gangs_here((Twin(),), **SETTINGS).addresses == ("fd00::1",)
    assert asked == ["fd00::1"]


def test_a_resumed_session_keeps_to_the_nodes_that_it_was_begun_with(tmp_path, monkeypatch):
    monkeypatch.delenv(TWINS_VARIABLE, raising=False)
    measured(tmp_path, Twin())
    begun = Context(id="s1", out=tmp_path, resume=True)

    assert nodes_here("layout", begun) == 2
    assert node_counts([2], nodes_here("layout", begun)) == [1, 2]
    with pytest.raises(UserError, match="more than there are"):
        node_counts([2], nodes_here("layout", replace(begun, id="s2")))
    assert nodes_here("layout", replace(begun, resume=False)) == 1


def test_a_node_follows_as_long_as_all_arms_of_a_block_may_take(tmp_path):
    """Turns of `article` may take 12 hours each: a fixed limit ended such runs, whatever `timeout_s` said."""
    twin, log = Twin(), []
    one = runner(
        tmp_path, log, lambda name: FakeWorker(log, name), gangs=TwinGangs([twin], HERE, SETTINGS), rounds=4
    )
    arms = [ACROSS, TRIALS[0]]
    one.measure_group([Planned(block=0, label="", trial=trial.in_block(0)) for trial in arms])
    one.measure(Planned(block=0, label="", trial=ACROSS.in_block(0)))

    in_turns, alone = 2 * (MOST_ROUNDS + MORE_ROUNDS) * one.timeout_s, 2 * one.timeout_s
    together, by_itself = (order.limit_s for order in twin.orders)
    assert in_turns <= together < 2 * in_turns
    assert alone <= by_itself < 2 * alone


def test_a_node_that_follows_ends_the_run_after_the_limit_that_it_was_told(tmp_path):
    limits = []

    class Limited(FakeWorker):
        def run(self, request, timeout_s):
            limits.append(timeout_s)
            return super().run(request, timeout_s)

    gang = Gang(addresses=(HERE, HERE), port=1, node=1)
    runner(tmp_path, [], lambda name: Limited([], name)).follow(ACROSS, gang, 7 * 86_400.0)
    assert limits == [7 * 86_400.0]


@pytest.mark.parametrize("module", ["torch_ranks.REST_S", "jax_nodes.REST_MS"])
def test_ranks_may_rest_for_days(module):
    """Read as text: the modules import their frameworks. A rest is as long as two turns of every other arm."""
    name, constant = module.split(".")
    text = (ROOT / f"lib/trainspeed/worker/backends/{name}.py").read_text()
    (line,) = [line for line in text.splitlines() if line.startswith(f"{constant} = ")]
    value = eval(line.partition("=")[2].partition("#")[0], {"__builtins__": {}})
    article_s, arms = 43_200, 8
    scale = 1000 if constant.endswith("_MS") else 1
    assert 2 * arms * article_s * scale <= value
    assert value / scale * 1000 < 2**31, "milliseconds, as libraries keep them"


def test_the_energy_of_one_node_is_not_that_of_the_run(tmp_path):
    metered = RunResult(epoch_s=(2.0, 1.0), images_per_epoch=16, energy_j=100.0, metered_s=2.0)
    both, _ = measured(tmp_path, Twin(), RunOutcome(status=Status.OK, result=metered))
    alone, _ = measured(tmp_path, Twin(), RunOutcome(status=Status.OK, result=metered), trial=TRIALS[0])
    assert (both.epoch_s, both.energy_j, both.power_w) == ((2.0, 1.0), None, None)
    assert alone.energy_j == 100.0
