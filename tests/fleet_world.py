"""A fleet that is only pretended: nodes in this process that answer at once, and can be lost at any call or line."""

from __future__ import annotations

import heapq
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from unittest import mock

import msgspec

from trainspeed.conduct import block_queue
from trainspeed.conduct.block_queue import Block, BlockQueue
from trainspeed.conduct.cluster.node import NodeLost
from trainspeed.conduct.cluster.orders import BlockOrder, NodeFacts, Reply, ReportOrder, encode_message
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, as_line
from trainspeed.core.monitor_csv import MONITOR_COLUMNS, monitor_file
from trainspeed.core.run import Run
from trainspeed.report.request import ReportRequest

MACHINE = {"device": "cpu", "cpu": "Example CPU", "cores": {"physical": 2, "logical": 2, "quota": None}}
MACHINE |= {"gpus": [], "driver": None, "memory_bytes": 16_000_000_000}
FACTS = {"machine": MACHINE, "versions": {"torch": {"torch": "2.15"}}, "code": "abc"}


def line_of(
    session: str,
    study: str,
    planned,
    *,
    node: str | None,
    seconds: float = 1.0,
    claimed: Mapping = MappingProxyType({}),
) -> str:
    """Return the line of a run that went well."""
    run = Run(
        session=session,
        study=study,
        trial=planned.trial,
        block=planned.block,
        label=planned.label,
        node=node,
        machine=MACHINE,
        versions={"torch": "2.15"},
        epoch_s=(seconds, seconds, seconds),
        stages_s={"train": 3 * seconds},
        images_per_epoch=planned.trial.images_per_epoch,
        started_at="2026-11-22T20:00:00.000+00:00",
    )
    return as_line(run.as_dict() | dict(claimed))


@dataclass
class FakeNode:
    """A node whose `Site` is a function, or a table of answers for each method.

    Attributes:
        answer: Called with method and order; yields lines.
        lost_at: (number of the call of a method, number of its line) at which it is lost, for each method; it is
            gone from then on.
    """

    name: str
    answer: Callable[[str, str], Iterator[str]]
    lost_at: dict[str, tuple[int, int]] = field(default_factory=dict)
    lost: bool = False
    on_lost: Callable[[], None] = lambda: None
    calls: list[str] = field(default_factory=list)

    def call(self, method: str, order: str = "{}") -> Iterator[str]:
        number = self.calls.count(method)
        self.calls.append(method)
        if self.lost:
            raise NodeLost("it no longer answers")
        call, line = self.lost_at.get(method, (-1, -1))
        answers = self.answer(method, order)
        for place in itertools.count():
            if (call, line) == (number, place):
                self.lost = True
                self.on_lost()
                raise NodeLost("it no longer answers")
            if (text := next(answers, None)) is None:
                return
            yield text


@dataclass
class FakeTwin:
    """What a twin answers: it measures each block in no time, and claims things that it may not."""

    measured: list[BlockOrder] = field(default_factory=list)
    changed: dict = field(default_factory=dict)
    before: Callable[[], None] = lambda: None
    node: str = "elsewhere-9"
    at: str = "a10g-2"
    lines: Callable[[list[str]], list[str]] = lambda lines: lines

    def __call__(self, method: str, order: str) -> Iterator[str]:
        if method != "measure":
            yield encode_message(Reply())
            return
        asked = msgspec.json.decode(order, type=BlockOrder)
        yield encode_message(Reply())
        self.before()
        self.measured.append(asked)
        planned = [run.planned() for run in asked.runs]
        claimed = {"session": "another", "monitor": "../elsewhere.csv", **self.changed}
        lines = [line_of("x", asked.study, one, node=self.node, claimed=claimed) for one in planned]
        rows = ",".join(MONITOR_COLUMNS) + "\n"
        yield encode_message(Reply(file=monitor_file(asked.session, asked.study, self.at), text=rows))
        for line in self.lines(lines):
            yield encode_message(Reply(file=RUNS_FILE, text=line + "\n"))


class FakeCluster:
    """Nodes by machine."""

    def __init__(self, **machines: list[FakeNode]) -> None:
        self.machines, self.closed = machines, 0

    def nodes(self, machine: str, most: int | None = None, *, after: int = 0) -> list[FakeNode]:
        return [*self.machines.get(machine, [])][:most]

    def connection(self, nodes) -> str:
        return json.dumps([node.name for node in nodes]) if nodes else ""

    def renewed(self, nodes) -> list[FakeNode]:
        return [node for node in nodes if not node.lost]

    def close(self) -> None:
        self.closed += 1


class FakeReport:
    """The report of a node: it measures what its order's ledger lacks of some planned runs, block by block."""

    def __init__(self, node: str, planned, *, session: str = "20261122T200000Z-0001", study: str = "layout"):
        self.node, self.planned, self.session, self.study = node, planned, session, study
        self.orders: list[ReportOrder] = []

    def __call__(self, method: str, order: str) -> Iterator[str]:
        if method == "facts":
            yield encode_message(Reply(facts=msgspec.convert(FACTS, NodeFacts)))
            return
        asked = msgspec.json.decode(order, type=ReportOrder)
        self.orders.append(asked)
        resumed = "--resume" in asked.arguments
        done = {
            run["block"]
            for run in map(json.loads, asked.files.get(RUNS_FILE, "").splitlines())
            if run["session"] == self.session
        }
        if not resumed:
            request = ReportRequest(session=self.session, preset="quick", notebooks=(self.study,))
            yield encode_message(Reply(file=SESSIONS_FILE, text=as_line(msgspec.to_builtins(request)) + "\n"))
        for one in self.planned:
            if one.block not in done:
                line = line_of(self.session, self.study, one, node=None)
                yield encode_message(Reply(file=RUNS_FILE, text=line + "\n", said=f"block {one.block}\n"))
        yield encode_message(Reply(code=0))


@dataclass(frozen=True)
class Measured:
    """A block that was measured to its end."""

    hand: int
    block: Block
    begun_s: float
    ended_s: float


def play(
    table: Timetable, speeds: list[float], budget_s: float, *, lost: dict[int, int] | None = None, **options
) -> list[Measured]:
    """Have hands measure the blocks of a table in made-up time; return what they ended, in that order.

    Args:
        speeds: Of each hand; a block takes what the table expects, divided by it.
        lost: Hand -> the number of its block in which it is lost; never the first hand.
    """
    now_s, lost, ended = 0.0, lost or {}, []
    with mock.patch.object(block_queue, "time", SimpleNamespace(monotonic=lambda: now_s)):
        settings = {
            "ask": lambda left_s: [],
            "left_of": lambda g, n: g.blocks[n],
            "begin": lambda groups: None,
        }
        queue = BlockQueue(table=table, end_s=budget_s, **settings | options)
        queue.hands = len(speeds)
        free, busy, taken, order = [*range(len(speeds))], [], [0] * len(speeds), itertools.count()
        while free or busy:
            for hand in [*free]:
                if block := queue.take(f"twin {hand}" if hand else "", wait=False):
                    free.remove(hand)
                    takes_s = table.takes_s(block.group, block.number) / speeds[hand]
                    is_lost = lost.get(hand) == taken[hand]
                    taken[hand] += 1
                    at_s = now_s + takes_s * (0.5 if is_lost else 1)
                    heapq.heappush(busy, (at_s, next(order), hand, block, now_s, is_lost))
            if not busy:
                break
            now_s, _, hand, block, begun_s, is_lost = heapq.heappop(busy)
            if is_lost:
                queue.left()
                queue.lost(block)
            else:
                queue.finished(block)
                free.append(hand)
                free.sort()
                ended.append(Measured(hand, block, begun_s, now_s))
        if queue.problem:
            raise queue.problem
    return ended


class Gate:
    """Lets one side of two threads go on when the other has come by."""

    def __init__(self) -> None:
        self._passed = threading.Event()

    def open(self) -> None:
        self._passed.set()

    def wait(self) -> None:
        assert self._passed.wait(30), "nobody opened it"
