"""The report of one machine of a fleet: it runs on one of its nodes, and on the next one where that is lost.

What the nodes send is data; the head's folder is what a report goes on with.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from trainspeed.conduct.cluster.facts import code_hash
from trainspeed.conduct.cluster.likeness import check_code, check_equal
from trainspeed.conduct.cluster.node import Cluster, Node, NodeLost, Refused
from trainspeed.conduct.cluster.orders import NodeFacts, ReportOrder, answer_of, encode_message
from trainspeed.core.errors import UserError
from trainspeed.core.format import counted
from trainspeed.core.markdown import visible
from trainspeed.report.intake import Intake
from trainspeed.report.notebooks import FAILED

MOST_ASKED = 64  # nodes at once
MOST_LOSSES = 2  # of first nodes in a row, without a run between them


@dataclass
class MachineReport:
    """The report of a machine: it runs on one of its nodes, and on the next one where that is lost.

    Attributes:
        order: What is the same for all machines.
        code: Its exit code: see `trainspeed.report.run.report`.
        measured: Whether there are runs of it, at its end.
    """

    name: str
    nodes: list[Node]
    folder: Path
    order: ReportOrder
    cluster: Cluster
    resume: bool = False
    code: int = field(default=1, init=False)
    measured: bool = field(default=False, init=False)
    _stopped: bool = field(default=False, init=False)

    def stop(self) -> None:
        """Go on with no other node."""
        self._stopped = True

    def run(self) -> None:
        """Run it to its end, or until no node is left to go on."""
        self.folder.mkdir(parents=True, exist_ok=True)
        intake = Intake(self.folder, resume=self.resume, notebooks=self.order.notebooks)
        try:
            self._run(intake)
        finally:
            self.measured = intake.has_runs
            if intake.refused:
                lines = counted(intake.refused, "line")
                said(f"{self.name}: not kept of what its nodes sent, as none of its report: {lines}")
                self.code = max(self.code, FAILED)

    def _run(self, intake: Intake) -> None:
        resume, losses = self.resume, 0
        while self.nodes and losses <= MOST_LOSSES:
            node, taken = self.nodes[0], intake.taken
            try:
                self._run_on(node, intake, resume)
                return
            except Refused as problem:
                said(f"{node.name}: {problem}")
                return
            except NodeLost as problem:
                if self._stopped:
                    return
                said(f"{node.name} was lost: {problem}")
            del self.nodes[0]
            self.nodes[:] = self.cluster.renewed(self.nodes)
            resume = intake.begun
            # What nodes are lost with again and again, before anything is measured, may be why.
            losses = 1 if intake.taken > taken else losses + 1
        why = f"{losses} nodes were lost one after the other" if self.nodes else "no node is left"
        said(f"{self.name}: {why}; RESUME=1 goes on with what was measured")

    def _run_on(self, node: Node, intake: Intake, resume: bool) -> None:
        """Run the report on a node.

        Raises:
            NodeLost: Before its end, or it answered with something that is no answer.
            Refused: It cannot run it.
        """
        order = msgspec.structs.replace(
            self.order,
            arguments=(*self.order.arguments, *(("--resume",) if resume else ())),
            files=intake.of_session(),
            twins=self.cluster.connection(self.nodes[1:]),
        )
        names = [one.name for one in self.nodes]
        for line in node.call("report", encode_message(order)):
            try:
                answer = answer_of(line)
            except (ValueError, RecursionError):
                raise NodeLost("it answered with something that is no answer") from None
            if answer.file:
                intake.take(answer.file, answer.text, node.name, names)
            for text in (answer.said or "").splitlines():
                said(f"{node.name}: {text}")
            if answer.code is not None:
                self.code = answer.code
                return
        raise NodeLost("its report ended without a word")


def check_nodes(nodes: Mapping[str, list[Node]]) -> None:
    """Ask all nodes what they are, side by side, and take out those that are lost meanwhile.

    Raises:
        UserError: One has other code than the head, or differs from another one of its machine.
    """
    known: dict[str, NodeFacts] = {}
    problems: list[UserError] = []
    every = [node for of_machine in nodes.values() for node in of_machine]
    with ThreadPoolExecutor(MOST_ASKED) as asked:
        for node, facts in zip(every, asked.map(_facts, every), strict=True):
            if isinstance(facts, Refused):
                problems.append(UserError(f"{node.name}: {facts}"))
            elif isinstance(facts, NodeLost):
                said(f"{node.name} was lost: {facts}")
            else:
                known[node.name] = facts
    if problems:
        raise problems[0]
    check_code(known, code_hash())
    for of_machine in nodes.values():
        of_machine[:] = [node for node in of_machine if node.name in known]
        if of_machine:
            check_equal({node.name: known[node.name] for node in of_machine})


def _facts(node: Node) -> NodeFacts | NodeLost | Refused:
    """Return what a node is, or why it does not say it."""
    try:
        answers = [answer_of(line) for line in node.call("facts")]
    except (NodeLost, Refused) as problem:
        return problem
    except (ValueError, RecursionError):
        return NodeLost("it answered with something that is no answer")
    return next((answer.facts for answer in answers if answer.facts), NodeLost("it does not say what it is"))


def said(text: str) -> None:
    """Print a line in one go: the reports of several machines speak at once. What a node says is only text."""
    print(f"{visible(text)}\n", end="", flush=True)
