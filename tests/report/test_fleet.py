"""The command fleet on machines that only pretend: what is asked of them, what is made of their answers."""

import pytest

from pretended_fleet import PretendedCluster, printed
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import RUNS_FILE, Ledger
from trainspeed.report import fleet as fleets
from trainspeed.report.fleet import fleet
from trainspeed.report.fleet_order import order_of
from trainspeed.report.fleet_plan import plan_fleet
from trainspeed.report.output_folder import MARKER, locked

LINE = '{"answer": "kept by the intake, which has tests of its own"}'


@pytest.fixture
def drawn(monkeypatch):
    """The pages that would be drawn."""
    pages = []
    monkeypatch.setattr(fleets, "render", lambda *, out: pages.append(out.name) or 0)

    def compare(sides, prices, *, out, name):
        pages.append((name, [side.name for side in sides], prices))
        return 0

    monkeypatch.setattr(fleets, "compare_reports", compare)
    return pages


def ran(monkeypatch, code=0, failed=()):
    """Have each machine's report write a line and end with a code; those that fail end without a run of their own."""

    def run(report):
        (report.folder / RUNS_FILE).write_text(f"{LINE}\n")
        report.measured = report.name not in failed
        report.code = code if report.measured else 1

    monkeypatch.setattr(fleets.MachineReport, "run", run)


def test_every_machine_gets_its_pages_and_the_last_line_names_the_comparison(
    file, tmp_path, drawn, monkeypatch
):
    ran(monkeypatch)
    cluster = PretendedCluster(a10g=[[]], h100=[[]])
    path = file("machines: {a10g: {usd_per_hour: 1.2}, h100: }")
    monkeypatch.chdir(tmp_path)

    code, lines = printed(fleet, path, out=tmp_path / "out", order=order_of("report"), cluster=cluster)

    assert code == 0 and cluster.closed
    assert drawn == [("fleet", ["a10g", "h100"], [1.2, None]), "a10g", "h100"], (
        "what is quicker to draw first"
    )
    assert lines == ["the pages of a10g", "the pages of h100", "which machine? out/fleet.html"]


def test_machines_with_nothing_in_common_have_their_own_pages_all_the_same(
    file, tmp_path, drawn, monkeypatch
):
    ran(monkeypatch)

    def compare(*_, **__):
        raise UserError("a10g and h100 have no common trials")

    monkeypatch.setattr(fleets, "compare_reports", compare)
    cluster = PretendedCluster(a10g=[[]], h100=[[]])
    with pytest.raises(UserError, match="no common trials"):
        fleet(file("machines: {a10g: , h100: }"), out=tmp_path, order=order_of("report"), cluster=cluster)
    assert drawn == ["a10g", "h100"]


def test_one_machine_is_compared_with_nothing(file, tmp_path, drawn, monkeypatch):
    ran(monkeypatch)
    monkeypatch.chdir(tmp_path)
    cluster = PretendedCluster(a10g=[[]])
    code, lines = printed(
        fleet, file("machines: {a10g: }"), out=tmp_path / "out", order=order_of("report"), cluster=cluster
    )
    assert (code, drawn) == (0, ["a10g"])
    assert lines[-1] == "one machine: out/a10g/index.html is the answer"


def test_a_machine_that_could_not_measure_is_not_compared_by_what_it_measured_before(
    file, tmp_path, drawn, monkeypatch
):
    ran(monkeypatch, failed=("h100",))
    path = file("machines: {a10g: , h100: , l4: {usd_per_hour: 0.8}}")
    cluster = PretendedCluster(a10g=[[]], h100=[[]], l4=[[]])

    code, lines = printed(fleet, path, out=tmp_path / "out", order=order_of("report"), cluster=cluster)

    assert code == 1
    assert drawn == [("fleet", ["a10g", "l4"], [None, 0.8]), "a10g", "h100", "l4"]
    assert "not compared, as this report has no runs of it: h100" in lines


def test_no_comparison_of_an_earlier_fleet_stays(file, tmp_path, drawn, monkeypatch):
    ran(monkeypatch, failed=("h100",))
    (tmp_path / MARKER).touch()
    for end in (".html", ".ipynb", ".failed.ipynb"):
        (tmp_path / f"fleet{end}").write_text("of an earlier one")
    cluster = PretendedCluster(a10g=[[]], h100=[[]])
    printed(
        fleet, file("machines: {a10g: , h100: }"), out=tmp_path, order=order_of("report"), cluster=cluster
    )
    assert [path.name for path in tmp_path.glob("fleet*")] == ["fleet.yaml"]


def test_a_report_that_fails_on_one_machine_is_the_exit_code(file, tmp_path, drawn, monkeypatch):
    ran(monkeypatch, code=1)
    cluster = PretendedCluster(a10g=[[]])
    assert (
        printed(fleet, file("machines: {a10g: }"), out=tmp_path, order=order_of("report"), cluster=cluster)[0]
        == 1
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("machines: {a10g: {nodes: 3}}", "fleet.yaml asks for 3 nodes of 'a10g', and 2 came"),
        ("machines: {a10q: }", "unknown machine in fleet.yaml 'a10q': did you mean 'a10g'?"),
    ],
)
def test_nodes_that_did_not_come_are_told_before_anything_is_measured(file, tmp_path, drawn, text, told):
    cluster = PretendedCluster(a10g=[[], []])
    with pytest.raises(UserError, match=told):
        fleet(file(text), out=tmp_path / "out", order=order_of("report"), cluster=cluster)
    assert cluster.closed and not drawn
    assert not cluster.pretended["a10g"][0].asked


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("machines: {a10g: {nodes: 2}, h100: }", r"fleet.yaml gives h100: say `h100: \{nodes: 2\}` there"),
        ("machines: {a10g: , h100: }", r"gives a10g and h100: .*, or leave them out, or lower NODES"),
    ],
)
def test_nodes_that_are_to_train_together_and_are_not_in_the_file_are_told_before_a_node_is_asked(
    file, tmp_path, drawn, text, told
):
    path = file(text)
    for call, command in ((fleet, "report"), (plan_fleet, "plan")):
        cluster = PretendedCluster(a10g=[[], []], h100=[[]])
        with pytest.raises(UserError, match=r"NODES \(=2\) is more nodes than .*" + told):
            call(path, out=tmp_path / "out", order=order_of(command, nodes="2"), cluster=cluster)
        assert cluster.closed and not drawn and not cluster.after, "no node has been reserved"


def test_nodes_that_train_together_are_enough_where_each_machine_has_them_or_a_report_goes_on(
    file, tmp_path, drawn, monkeypatch
):
    ran(monkeypatch)
    order = order_of("report", nodes="2")
    for text, resume in (("machines: {a10g: {nodes: 2}}", False), ("machines: {a10g: }", True)):
        cluster = PretendedCluster(a10g=[[], []])
        assert printed(fleet, file(text), out=tmp_path, order=order, cluster=cluster, resume=resume)[0] == 0


def test_a_folder_that_a_report_is_writing_to_is_refused(file, tmp_path, drawn):
    cluster = PretendedCluster(a10g=[[]])
    with locked(tmp_path / "out/a10g"), pytest.raises(UserError, match="another report is writing to"):
        fleet(file("machines: {a10g: }"), out=tmp_path / "out", order=order_of("report"), cluster=cluster)
    assert cluster.closed


def test_nodes_of_a_fleet_that_goes_on_have_names_that_no_earlier_one_had(file, tmp_path, drawn, monkeypatch):
    """Nodes that are started again come in another order: a10g-1 may be another machine."""
    monkeypatch.setattr(fleets.MachineReport, "run", lambda report: None)
    nodes = ("a10g-2", "a10g-11", "a10g-x-99", "h100-40", None)
    Ledger(tmp_path / "a10g").append(*(make_run(node=node, block=n) for n, node in enumerate(nodes)))
    path = file("machines: {a10g: , h100: }")
    after = []
    for resume in (False, True):
        cluster = PretendedCluster(a10g=[[]], h100=[[]])
        printed(fleet, path, out=tmp_path, order=order_of("report"), cluster=cluster, resume=resume)
        after.append(cluster.after)

    assert after == [{"a10g": 0, "h100": 0}, {"a10g": 11, "h100": 0}]


def test_ctrl_c_lets_go_of_the_nodes_and_says_how_to_go_on(file, tmp_path, drawn, monkeypatch):
    begun = []

    def interrupted(reports):
        begun.extend(reports)
        raise KeyboardInterrupt

    monkeypatch.setattr(fleets, "_run_side_by_side", interrupted)
    cluster = PretendedCluster(a10g=[[]])
    code, lines = printed(
        fleet, file("machines: {a10g: }"), out=tmp_path, order=order_of("report"), cluster=cluster
    )
    assert code == 130 and cluster.closed and not drawn
    assert "RESUME=1 goes on" in lines[-1]
    assert [report._stopped for report in begun] == [True], "nodes that were let go of are no losses"
