"""The report of a machine of a fleet whose nodes are only pretended, and lost at every moment."""

from __future__ import annotations

import json

import msgspec
import pytest

from asking_study import part_of
from fleet_world import FACTS, FakeCluster, FakeNode, FakeReport
from trainspeed.conduct.cluster.orders import NodeFacts, Reply, ReportOrder, encode_message
from trainspeed.conduct.schedule import schedule
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, Ledger, append_line
from trainspeed.report.machine_report import MachineReport, check_nodes
from trainspeed.report.request import ReportRequest, read_sessions, session_to_continue

BLOCKS = 4
PLANNED = schedule([part_of(8, blocks=BLOCKS)], seed=0)
SESSION = "20261122T200000Z-0001"


def report_of(out, *nodes, resume=False, notebooks=()) -> MachineReport:
    cluster, order = FakeCluster(a10g=[*nodes]), ReportOrder(arguments=(), notebooks=notebooks)
    return MachineReport("a10g", [*nodes], out, order, cluster, resume=resume)


def two_nodes(lost_at=None) -> list[FakeNode]:
    return [
        FakeNode(name, FakeReport(name, PLANNED), {"report": lost_at} if lost_at and name == "a10g-1" else {})
        for name in ("a10g-1", "a10g-2")
    ]


@pytest.mark.parametrize("line", range(BLOCKS + 2))
def test_where_the_first_node_is_lost_the_next_one_goes_on(tmp_path, capsys, line):
    first, second = two_nodes((0, line))
    report = report_of(tmp_path, first, second)
    report.run()

    runs, doubts = Ledger(tmp_path).read()
    assert report.code == 0 and not doubts
    assert [run.block for run in runs] == [*range(BLOCKS)], "what was finished is measured once"
    measured = max(0, line - 1)  # the first line says what is measured
    assert [run.node for run in runs] == ["a10g-1"] * measured + ["a10g-2"] * (BLOCKS - measured)
    assert len(read_sessions(tmp_path)) == 1
    (order,) = second.answer.orders
    assert ("--resume" in order.arguments) is (line > 0)
    assert len(order.files.get(RUNS_FILE, "").splitlines()) == measured
    assert "a10g-1 was lost" in capsys.readouterr().out


def test_what_is_left_of_a_lost_nodes_report_is_ended_before_the_next_one_is_called(tmp_path):
    """Else the next one, which may follow a run whose rank 0 is gone, would answer when its limit is over."""
    nodes = [FakeNode(f"a10g-{n}", FakeReport("x", PLANNED)) for n in (1, 2, 3)]
    nodes[0].lost_at = {"report": (0, 2)}
    report = report_of(tmp_path, *nodes)
    called = []
    report.cluster.renewed = lambda left: called.append([[*node.calls] for node in left]) or left[1:]
    report.run()

    assert called == [[[], []]]
    assert (nodes[1].calls, nodes[2].calls, report.code) == ([], ["report"], 0), "the second one is lost, too"


def test_where_no_node_is_left_resume_goes_on(tmp_path, capsys):
    first, second = two_nodes((0, 3))
    second.lost_at = {"report": (0, 1)}
    report = report_of(tmp_path, first, second)
    report.run()

    assert report.code == 1 and report.measured
    assert "a10g: no node is left; RESUME=1 goes on with what was measured" in capsys.readouterr().out
    (third,) = two_nodes()[:1]
    again = report_of(tmp_path, third, resume=True)
    again.run()
    runs = Ledger(tmp_path).read()[0]
    assert again.code == 0 and [run.block for run in runs] == [*range(BLOCKS)]


@pytest.mark.parametrize("notebooks", [(), ("check",)])
def test_after_a_check_resume_goes_on_with_what_was_asked_for(tmp_path, capsys, notebooks):
    """Head and node choose the session by the same rule: what one goes on with, the other keeps."""
    for session, name in ((SESSION, "layout"), ("20261122T210000Z-0002", "check")):
        request = ReportRequest(session=session, preset="quick", notebooks=(name,))
        append_line(tmp_path / SESSIONS_FILE, msgspec.to_builtins(request))
    chosen = session_to_continue(read_sessions(tmp_path), notebooks or ("layout", "check", "amp"))
    study = (*notebooks, "layout")[0]
    node = FakeNode("a10g-1", FakeReport("a10g-1", PLANNED, session=chosen.session, study=study))
    report = report_of(tmp_path, node, resume=True, notebooks=notebooks)
    report.run()

    assert report.code == 0 and "not kept" not in capsys.readouterr().out
    assert {run.session for run in Ledger(tmp_path).read()[0]} == {chosen.session}
    assert chosen.notebooks == (study,)


def test_what_an_earlier_report_measured_is_none_of_one_that_failed(tmp_path):
    report_of(tmp_path, two_nodes()[0]).run()
    newer = FakeReport("a10g-1", PLANNED, session="20261122T210000Z-0002")
    reports = [
        report_of(tmp_path, FakeNode("a10g-1", newer, {"report": (0, line)}), resume=line > 1)
        for line in (0, 1, 2)
    ]
    for report in reports:
        report.run()

    assert [report.code for report in reports] == [1, 1, 1]
    assert [report.measured for report in reports] == [False, False, True]


def test_lines_that_were_not_kept_are_told_and_are_the_exit_code(tmp_path, capsys):
    another = FakeReport("a10g-1", PLANNED, session="20991231T000000Z-ffff")
    report_of(tmp_path, two_nodes()[0]).run()
    report = report_of(tmp_path, FakeNode("a10g-1", another), resume=True)
    report.run()

    assert report.code == 1
    told = f"a10g: not kept of what its nodes sent, as none of its report: {BLOCKS} lines"
    assert told in capsys.readouterr().out


def test_three_first_nodes_in_a_row_without_a_run_end_it(tmp_path, capsys):
    nodes = [FakeNode(f"a10g-{n}", FakeReport("x", PLANNED), {"report": (0, 0)}) for n in range(1, 6)]
    report_of(tmp_path, *nodes).run()

    assert [node.calls for node in nodes] == [["report"]] * 3 + [[], []]
    assert "a10g: 3 nodes were lost one after the other; RESUME=1" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["no JSON", "{", '{"code": "x"}', "[]", "[" * 100_000])
def test_a_node_that_answers_nonsense_is_lost(tmp_path, text):
    nonsense = FakeNode("a10g-1", lambda method, order: iter([text]))
    second = two_nodes()[1]
    report = report_of(tmp_path, nonsense, second)
    report.run()

    assert report.code == 0 and len(Ledger(tmp_path).read()[0]) == BLOCKS


def test_older_sessions_stay_and_a_new_report_is_a_new_one(tmp_path):
    report_of(tmp_path, two_nodes()[0]).run()
    newer = FakeReport("a10g-1", PLANNED, session="20261122T210000Z-0002")
    report_of(tmp_path, FakeNode("a10g-1", newer)).run()

    (order,) = newer.orders
    assert len(order.files[RUNS_FILE].splitlines()) == BLOCKS, "they tell how long a trial takes"
    assert [request.session for request in read_sessions(tmp_path)] == [SESSION, newer.session]
    assert len(Ledger(tmp_path).read()[0]) == 2 * BLOCKS


# Only equal nodes share.


def node_with(name, **changed) -> FakeNode:
    facts = msgspec.convert(FACTS | changed, NodeFacts)
    return FakeNode(name, lambda method, order: iter([encode_message(Reply(facts=facts))]))


def checked(*nodes):
    check_nodes({"a10g": [*nodes]})


@pytest.fixture(autouse=True)
def _same_code(monkeypatch):
    monkeypatch.setattr("trainspeed.report.machine_report.code_hash", lambda: FACTS["code"])


GPU = {"name": "NVIDIA A10G", "uuid": "a1", "memory_bytes": 24 * 10**9, "power_limit_w": 300.0}


@pytest.mark.parametrize(
    ("machine", "named"),
    [
        ({"cpu": "Other CPU"}, "CPU (Example CPU on a10g-1, Other CPU on a10g-2)"),
        ({"cores": {"physical": 2, "logical": 2, "quota": 1.0}}, "cores ("),
        ({"memory_bytes": 32_000_000_000}, "memory (16 GB on a10g-1, 32 GB on a10g-2)"),
        ({"driver": "580.65"}, "NVIDIA driver (not known on a10g-1, 580.65 on a10g-2)"),
        ({"governor": "powersave"}, "clock governor (not known on a10g-1, powersave on a10g-2)"),
        ({"os": "Linux 6.1"}, "system (not known on a10g-1, Linux 6.1 on a10g-2)"),
        ({"gpus": [GPU]}, "GPUs (none on a10g-1, 1 × NVIDIA A10G"),
    ],
)
def test_nodes_that_differ_are_refused_with_what_differs_and_both_values(machine, named):
    other = node_with("a10g-2", machine={**FACTS["machine"], **machine})
    with pytest.raises(UserError) as problem:
        checked(node_with("a10g-1"), other)

    assert str(problem.value).startswith("a10g-1 and a10g-2 are not equal, ") and named in str(problem.value)


@pytest.mark.parametrize(
    ("versions", "named"),
    [
        ({"torch": {"torch": "2.16"}}, "PyTorch: torch (2.15 on a10g-1, 2.16 on a10g-2)"),
        (
            {"torch": {"torch": "2.15", "numpy": "2.5"}},
            "PyTorch: numpy (not installed on a10g-1, 2.5 on a10g-2)",
        ),
        ({}, "PyTorch (installed on a10g-1, not installed on a10g-2)"),
    ],
)
def test_versions_that_differ_are_named(versions, named):
    with pytest.raises(UserError) as problem:
        checked(node_with("a10g-1"), node_with("a10g-2", versions=versions))

    assert named in str(problem.value)


def test_each_node_has_gpus_of_its_own_and_a_little_more_or_less_memory():
    machines = [
        {**FACTS["machine"], "gpus": [GPU | {"uuid": uuid}], "memory_bytes": size}
        for uuid, size in (("a1", 16_000_000_000), ("b2", 16_010_000_000))
    ]
    checked(*(node_with(f"a10g-{n}", machine=machine) for n, machine in enumerate(machines, 1)))


def test_a_node_with_other_code_than_the_head_is_refused():
    with pytest.raises(UserError, match="a10g-2 has another version of Trainspeed than the head"):
        checked(node_with("a10g-1"), node_with("a10g-2", code="def"))


def test_a_node_that_is_lost_before_it_says_what_it_is_is_left_out(capsys):
    nodes = {"a10g": [node_with("a10g-1"), FakeNode("a10g-2", FakeReport("x", PLANNED), {"facts": (0, 0)})]}
    check_nodes(nodes)

    assert [node.name for node in nodes["a10g"]] == ["a10g-1"]
    assert "a10g-2 was lost" in capsys.readouterr().out


def test_what_a_node_prints_is_text_without_orders_to_the_terminal(tmp_path, capsys):
    lines = [encode_message(Reply(said="\x1b[2Jgone\n\x07")), encode_message(Reply(code=0))]
    report_of(tmp_path, FakeNode("a10g-1", lambda method, order: iter(lines))).run()

    assert "\x1b" not in (said := capsys.readouterr().out) and "[2Jgone" in said


@pytest.mark.parametrize(
    "facts", [{}, {"machine": {"gpus": 5}, "versions": {}, "code": "abc"}, {"machine": []}]
)
def test_facts_that_are_none_are_no_facts(facts, capsys):
    nonsense = FakeNode("a10g-2", lambda method, order: iter([json.dumps({"facts": facts})]))
    nodes = {"a10g": [node_with("a10g-1"), nonsense]}
    check_nodes(nodes)

    assert [node.name for node in nodes["a10g"]] == [
        "a10g-1"
    ] and "a10g-2 was lost" in capsys.readouterr().out
