"""The command plan for a fleet, on machines that only pretend: what it asks of them, what it prints."""

import pytest

from pretended_fleet import PretendedCluster, printed
from trainspeed.conduct.cluster.node import NodeLost, Refused
from trainspeed.conduct.cluster.orders import Reply
from trainspeed.conduct.forecast import PlanSums
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import RUNS_FILE
from trainspeed.report.fleet_file import MachineOfFleet
from trainspeed.report.fleet_order import order_of
from trainspeed.report.fleet_plan import lines_of, plan_fleet

SUMS = PlanSums(seconds=1800.0, runs=120, fewest=6, most=12)
LINE = '{"answer": "kept by the intake, which has tests of its own"}'


def test_a_plan_is_a_line_for_each_machine_with_its_price(file, tmp_path):
    cluster = PretendedCluster(a10g=[[Reply(code=0, plan=SUMS)]] * 2, box=[[Reply(code=0, plan=SUMS)]])
    path = file("machines: {a10g: {nodes: 2, usd_per_hour: 1.2}, box: }")
    (tmp_path / "out/a10g").mkdir(parents=True)
    (tmp_path / "out/a10g" / RUNS_FILE).write_text(f"{LINE}\n")

    code, lines = printed(plan_fleet, path, out=tmp_path / "out", order=order_of("plan"), cluster=cluster)

    assert code == 0 and cluster.closed
    assert lines == [
        "a10g, 2 nodes: 120 runs in 6 to 12 blocks, about 30 min 00 s, $1.20",
        "box, 1 node: 120 runs in 6 to 12 blocks, about 30 min 00 s",
        "All of it, side by side: about 30 min 00 s, $1.20 and what box cost.",
    ]
    (method, asked) = cluster.pretended["a10g"][0].asked[0]
    assert (method, asked.command, asked.arguments[-2:]) == ("report", "plan", ("--hands", "2"))
    assert asked.files == {RUNS_FILE: f"{LINE}\n"}, "earlier runs tell how long a trial takes"
    late = PretendedCluster(a10g=[[]], box=[[]])
    with pytest.raises(UserError, match="asks for 2 nodes of 'a10g', and 1 came"):
        plan_fleet(path, out=tmp_path, order=order_of("plan"), cluster=late)
    assert late.closed


def test_the_price_of_all_is_the_sum_of_what_is_shown():
    """Half an hour at 0.028 dollars: 1.4 cents, which are shown as one."""
    machines = {name: MachineOfFleet(usd_per_hour=0.028) for name in "ab"}
    *lines, whole = lines_of(machines, dict.fromkeys(machines, SUMS))
    assert [line.rpartition(", ")[2] for line in lines] == ["$0.01", "$0.01"]
    assert whole.endswith(", $0.02.")
    assert lines_of({"a": MachineOfFleet()}, {"a": SUMS})[-1] == "All of it, side by side: about 30 min 00 s."


def test_a_machine_without_a_plan_says_why_and_the_others_are_planned(file, tmp_path):
    refused = [Reply(said="layout: began\ntrainspeed: BUDGET (1 s) is too short\n"), Reply(code=2)]
    cluster = PretendedCluster(
        a=[refused], b=[[Refused("it has GPUs")]], c=[[NodeLost("gone")]], d=[[Reply(code=0, plan=SUMS)]]
    )
    path = file("machines: {a: , b: , c: , d: }")

    code, lines = printed(plan_fleet, path, out=tmp_path, order=order_of("plan"), cluster=cluster)

    assert code == 1
    assert lines[:3] == ["a: trainspeed: BUDGET (1 s) is too short", "b: it has GPUs", "c: gone"]
    assert lines[3].startswith("d, 1 node: 120 runs")


def test_nodes_that_a_report_would_refuse_have_no_plan(file, tmp_path):
    """One with other code than the head's; it is asked for nothing else."""
    cluster = PretendedCluster(a10g=[[Reply(code=0, plan=SUMS)]] * 2)
    cluster.pretended["a10g"][1].code = "of an earlier version"
    with pytest.raises(UserError, match=r"^a10g-2 has another version of Trainspeed than the head"):
        plan_fleet(
            file("machines: {a10g: {nodes: 2}}"), out=tmp_path, order=order_of("plan"), cluster=cluster
        )
    assert cluster.closed and not cluster.pretended["a10g"][0].asked


def test_a_machine_whose_nodes_are_lost_meanwhile_has_no_plan_and_says_so(file, tmp_path):
    cluster = PretendedCluster(a=[[Reply(code=0, plan=SUMS)]], b=[[Reply(code=0, plan=SUMS)]])
    cluster.pretended["a"][0].code = None
    code, lines = printed(
        plan_fleet, file("machines: {a: , b: }"), out=tmp_path, order=order_of("plan"), cluster=cluster
    )
    assert code == 1
    assert lines[:2] == ["a-1 was lost: it no longer answers", "a: its nodes are lost"]
    assert lines[2].startswith("b, 1 node: 120 runs")
