"""The commands node and fleet: the same report on every machine of a fleet, side by side."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainspeed.conduct.cluster.node import Cluster, Node, NodeLost, Refused
from trainspeed.conduct.cluster.orders import ReportOrder, answer_of, encode
from trainspeed.core.coverage import COVERAGE_FILE
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE
from trainspeed.report.fleet_file import Fleet, read_fleet
from trainspeed.report.intake import Intake
from trainspeed.report.run import render

FILES = (SESSIONS_FILE, RUNS_FILE, COVERAGE_FILE)


def fleet(file: Path, *, out: Path, arguments: Sequence[str], cluster: Cluster, resume: bool = False) -> int:
    """Run a report on every machine of a fleet, and draw the pages of each; return the exit code.

    Args:
        file: `fleet.yaml`.
        arguments: Of the report on each machine.
        cluster: Reaches the nodes.
    Raises:
        UserError: Something is wrong, and nothing has been measured.
    """
    asked = read_fleet(file)
    try:
        nodes = _nodes(asked, cluster)
        reports = [
            MachineReport(name, nodes[name], out / name, tuple(arguments), cluster, resume=resume)
            for name in asked.machines
        ]
        threads = [threading.Thread(target=report.run, name=report.name, daemon=True) for report in reports]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        cluster.close()
    codes = [report.code for report in reports]
    for report in reports:
        if (report.folder / RUNS_FILE).is_file():
            codes.append(render(out=report.folder))
    return max(codes, default=1)


def _nodes(asked: Fleet, cluster: Cluster) -> dict[str, list[Node]]:
    nodes = {}
    for name, machine in asked.machines.items():
        found = cluster.nodes(name)
        if len(found) < machine.nodes:
            raise UserError(
                f"fleet.yaml asks for {machine.nodes} of {name!r} and {len(found)} have come: "
                f"`make node AS={name} HEAD=…` on each of them."
            )
        nodes[name] = found[: machine.nodes]
    return nodes


@dataclass
class MachineReport:
    """The report of a machine: it runs on one of its nodes, and on the next one where that is lost."""

    name: str
    nodes: list[Node]
    folder: Path
    arguments: tuple[str, ...]
    cluster: Cluster
    resume: bool = False
    code: int = field(default=1, init=False)

    def run(self) -> None:
        """Run it to its end, or until no node is left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        intake, resume = Intake(self.folder), self.resume
        while self.nodes:
            node = self.nodes[0]
            try:
                self._run_on(node, intake, resume)
                return
            except Refused as problem:
                print(f"{node.name}: {problem}", flush=True)
                return
            except NodeLost as problem:
                print(f"{node.name} was lost: {problem}", flush=True)
                self.nodes.pop(0)
                resume = True
        print(f"{self.name}: no node is left; RESUME=1 goes on with what was measured", flush=True)

    def _run_on(self, node: Node, intake: Intake, resume: bool) -> None:
        files = {name: (self.folder / name).read_text() for name in FILES if (self.folder / name).is_file()}
        order = ReportOrder(
            arguments=(*self.arguments, *(("--resume",) if resume else ())),
            files=files,
            twins=self.cluster.told(self.nodes[1:]),
        )
        for line in node.call("report", encode(order)):
            answer = answer_of(line)
            if answer.file:
                intake.take(answer.file, answer.text)
            if answer.said:
                print(
                    "".join(f"{node.name}: {said}\n" for said in answer.said.splitlines()), end="", flush=True
                )
            if answer.code is not None:
                self.code = answer.code
