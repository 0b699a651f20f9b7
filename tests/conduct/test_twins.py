"""A study that shares its blocks with equal nodes, which are only pretended, and lost at every moment."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace

import pytest

from asking_study import part_of
from fleet_world import FakeNode, FakeTwin, Gate
from trainspeed.conduct import study
from trainspeed.conduct.context import Context
from trainspeed.conduct.forecast import read_plan
from trainspeed.conduct.plan import Plan
from trainspeed.core.errors import PlanOnly
from trainspeed.core.ledger import Ledger, as_line
from trainspeed.core.run import Status
from trainspeed.judge.pairs import value_pairs

BLOCKS = 6


@pytest.fixture
def shared(workers, tmp_path, monkeypatch):
    """Return what measures a study beside some nodes: the first waits in its first block until `gate` is open."""
    gate = Gate()
    ends = workers.ends

    def end(request):
        gate.wait()
        return ends(request)

    workers.ends = end

    def measure(*nodes, name="s", **options):
        monkeypatch.setattr(study, "twins_here", lambda: nodes)
        context = Context(id="s1", out=tmp_path, node="a10g-1", in_report=True, **options)
        pair = replace(part_of(8, 4, blocks=BLOCKS), factors=("batch_size",))
        plan = Plan(others=(pair,))
        return study.measure(name, plan, timeout_s=1, interval_s=1, context=context)

    measure.gate = gate
    return measure


def whole_blocks(runs) -> dict[int, set[str]]:
    """Return block -> the nodes that have all of its runs."""
    by = defaultdict(lambda: defaultdict(set))
    for run in runs:
        if run.status is Status.OK:
            by[run.block][run.node].add(run.trial.batch_size)
    return {block: {node for node, sizes in nodes.items() if sizes == {8, 4}} for block, nodes in by.items()}


def test_each_block_is_whole_on_one_node_and_none_is_measured_twice(shared, tmp_path):
    twin = FakeTwin(before=shared.gate.open)
    runs = shared(FakeNode("a10g-2", twin))

    written = Ledger(tmp_path).read()[0]
    assert len(written) == len(runs) == 2 * BLOCKS
    assert sorted(whole_blocks(written)) == [*range(BLOCKS)]
    assert all(len(nodes) == 1 for nodes in whole_blocks(written).values())
    assert {run.node for run in written} == {"a10g-1", "a10g-2"}
    one, other = (runs.where(lambda run, size=size: run.trial.batch_size == size) for size in (8, 4))
    assert len(value_pairs(one, other, lambda run: run)) == BLOCKS


def test_what_a_twin_claims_to_be_is_overwritten(shared, tmp_path):
    runs = shared(FakeNode("a10g-2", FakeTwin(before=shared.gate.open)))

    own = [run for run in runs if run.node == "a10g-2"]
    assert own and {run.session for run in own} == {"s1"}
    assert {run.monitor for run in own} == {"monitor/s1-s-a10g-2.csv"}
    assert (tmp_path / "monitor/s1-s-a10g-2.csv").read_text().startswith("utc,device,")
    assert runs.runs[0].monitor in ("monitor/s1-s-a10g-1.csv", "monitor/s1-s-a10g-2.csv")


@pytest.mark.parametrize(
    ("method", "call", "line"),
    [("start", 0, 0), ("start", 0, 1), *(("measure", call, line) for call in (0, 1) for line in range(5))],
)
def test_a_twin_that_is_lost_at_any_moment_costs_no_block(shared, tmp_path, capsys, method, call, line):
    node = FakeNode("a10g-2", FakeTwin(), {method: (call, line)}, on_lost=shared.gate.open)
    shared(node)

    written = Ledger(tmp_path).read()[0]
    assert sorted(whole_blocks(written)) == [*range(BLOCKS)]
    assert len(written) == 2 * BLOCKS, "no half block is in the ledger"
    assert node.lost and "a10g-2" in capsys.readouterr().out


@pytest.mark.parametrize(
    "wrong",
    [
        lambda lines: lines[:1] * 2,
        lambda lines: ["no line of a ledger"],
        lambda lines: [line.replace('"batch_size": 8', '"batch_size": 16') for line in lines],
        lambda lines: [line.replace('"label": ""', '"label": "A"') for line in lines],
        lambda lines: [*lines, lines[0]],
    ],
)
def test_a_twin_that_answers_with_other_runs_is_out(shared, tmp_path, wrong):
    node = FakeNode("a10g-2", FakeTwin(lines=wrong, before=shared.gate.open))
    shared(node)

    written = Ledger(tmp_path).read()[0]
    assert {run.node for run in written} == {"a10g-1"} and len(written) == 2 * BLOCKS
    assert node.calls.count("measure") == 1


@pytest.mark.parametrize(
    "sick",
    [
        lambda lines: [],
        lambda lines: lines[:1],
        lambda lines: [
            as_line(json.loads(line) | {"status": "unsupported", "versions": {}, "epoch_s": []})
            for line in lines
        ],
    ],
)
def test_a_twin_that_has_given_up_what_this_node_measures_swallows_no_block(shared, tmp_path, capsys, sick):
    node = FakeNode("a10g-2", FakeTwin(lines=sick, before=shared.gate.open))
    shared(node)

    written = Ledger(tmp_path).read()[0]
    assert whole_blocks(written) == {block: {"a10g-1"} for block in range(BLOCKS)}
    assert len(written) == 2 * BLOCKS and node.calls.count("measure") == 1
    assert "a10g-2 was lost" in capsys.readouterr().out


def test_what_checks_this_machine_is_not_shared(shared, tmp_path):
    shared.gate.open()
    node = FakeNode("a10g-2", FakeTwin())
    shared(node, name="check")

    assert node.calls == []


@pytest.mark.parametrize(("name", "is_shared"), [("s", True), ("check", False)])
def test_a_plan_says_whether_nodes_share_the_blocks(shared, tmp_path, name, is_shared):
    with pytest.raises(PlanOnly):
        shared(name=name, plan_to=tmp_path / "plan.json")

    assert read_plan(tmp_path / "plan.json").shared is is_shared


def test_a_fault_of_ours_in_a_twins_thread_ends_the_study(shared, monkeypatch):
    """Nobody waits for ever for the block that it had."""

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trainspeed.conduct.cluster.twins.StudyTwins._checked", full)
    with pytest.raises(OSError, match="No space left"):
        shared(FakeNode("a10g-2", FakeTwin(before=shared.gate.open)))
