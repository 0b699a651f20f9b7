"""The commands node and fleet: the same report on every machine of a fleet, side by side."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Sequence
from pathlib import Path

from trainspeed.conduct.cluster.node import Cluster
from trainspeed.conduct.cluster.orders import ReportOrder
from trainspeed.core.errors import UserError
from trainspeed.core.files import FLEET
from trainspeed.core.format import listed
from trainspeed.core.ledger import RUNS_FILE, Ledger
from trainspeed.report.compare import compare_reports
from trainspeed.report.fleet_file import check_together, read_fleet
from trainspeed.report.machine_report import MachineReport, check_nodes
from trainspeed.report.notebooks import INTERRUPTED
from trainspeed.report.output_folder import locked, shown
from trainspeed.report.run import render

PAGE_ENDS = (".html", ".ipynb", ".failed.ipynb")
AGAIN = "`make render` draws what there is: OUT=<folder of a machine>"


def fleet(file: Path, *, out: Path, order: ReportOrder, cluster: Cluster, resume: bool = False) -> int:
    """Run a report on every machine of a fleet, compare them, and draw the pages of each; return the exit code.

    A machine that could not measure now is compared by nothing that it measured before.

    Args:
        file: `fleet.yaml`.
        out: A folder for each machine and the comparison go there.
        order: What is the same for all: see `order_of`.
        cluster: Reaches the nodes.
    Raises:
        UserError: Something is wrong, and nothing has been measured; or the machines have nothing in common, and the
            pages of each are drawn.
    """
    asked = read_fleet(file).machines
    folders = {name: out / name for name in asked}
    reports: list[MachineReport] = []
    try:
        if (
            not resume
        ):  # one that goes on may have lost a node: what needs it says so, and the rest is measured
            check_together(asked, order.together)
        with contextlib.ExitStack() as locks:
            for folder in (out, *folders.values()):
                locks.enter_context(locked(folder))
            after = {name: last_number(folders[name], name) if resume else 0 for name in asked}
            nodes = {n: cluster.nodes(n, machine.nodes, after=after[n]) for n, machine in asked.items()}
            check_nodes(nodes)
            reports += (MachineReport(n, nodes[n], folders[n], order, cluster, resume=resume) for n in asked)
            _run_side_by_side(reports)
    except KeyboardInterrupt:
        for report in reports:
            report.stop()
        if reports:
            print(f"interrupted: RESUME=1 goes on, with the same nodes or others; {AGAIN}", flush=True)
        return INTERRUPTED
    finally:
        cluster.close()
    codes = [report.code for report in reports]
    known = {name: folder for name, folder in folders.items() if (folder / RUNS_FILE).is_file()}
    for end in PAGE_ENDS:  # of an earlier fleet, whose machines may have been others
        (out / f"{FLEET}{end}").unlink(missing_ok=True)
    measured = {report.name: report.folder for report in reports if report.measured}
    if earlier := [name for name in known if name not in measured]:
        print(f"not compared, as this report has no runs of it: {listed(earlier)}", flush=True)
    problem = None
    if len(measured) > 1:  # before each machine's own pages, which take longer
        prices = [asked[name].usd_per_hour for name in measured]
        try:
            codes.append(compare_reports([*measured.values()], prices, out=out, name=FLEET))
        except UserError as raised:
            problem = raised
    for name, folder in known.items():
        print(f"the pages of {name}", flush=True)
        codes.append(render(out=folder))
    if problem:
        raise problem
    if len(measured) > 1:
        print(f"which machine? {shown(out / FLEET)}.html", flush=True)
    elif measured:
        print(f"one machine: {shown(*measured.values())}/index.html is the answer", flush=True)
    return max(codes, default=1)


def last_number(folder: Path, machine: str) -> int:
    """Return the largest number of a node of a machine that a folder has runs of; 0 where it has none.

    Nodes that are started again come in another order: one that had its name anew would pass for the earlier one.
    """
    named = re.compile(re.escape(machine) + r"-(\d{1,9})")
    found = (named.fullmatch(run.node or "") for run in Ledger(folder).read()[0])
    return max((int(match[1]) for match in found if match), default=0)


def _run_side_by_side(reports: Sequence[MachineReport]) -> None:
    threads = [threading.Thread(target=report.run, name=report.name, daemon=True) for report in reports]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
