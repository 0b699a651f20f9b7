"""Equal nodes that share the blocks of a study with this one: each measures a block whole, beside the others."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from trainspeed.conduct.block_queue import Block, BlockQueue
from trainspeed.conduct.cluster.node import TWINS_VARIABLE, Node, NodeLost
from trainspeed.conduct.cluster.orders import BlockOrder, PlannedRun, answer_of, encode
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.turns import ROUNDS
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.ledger import Ledger, parsed
from trainspeed.core.run import Run

Record = Callable[[Block, Sequence[Run], float], None]


@cache
def twins_here() -> tuple[Node, ...]:
    """Return the nodes that share the blocks of this report, as its environment says; none outside a fleet."""
    told = os.environ.get(TWINS_VARIABLE)
    if not told:
        return ()
    from trainspeed.conduct.cluster.ray_cluster import nodes_of

    return nodes_of(json.loads(told))


class StudyTwins:
    """The twins of a study.

    Args:
        runner: This node's, whose settings hold for them, too.
        first: Trials whose frameworks are imported before anything is measured.
    """

    def __init__(
        self, nodes: Sequence[Node], runner: Runner, ledger: Ledger, first: Sequence[AnyTrial]
    ) -> None:
        self.nodes, self._runner, self._ledger, self._first = nodes, runner, ledger, first

    def start(self, node: Node) -> None:
        """Have a twin import what the first runs need."""
        runs = tuple(PlannedRun(block=0, label="", trial=trial.as_dict()) for trial in self._first)
        for _ in node.call("start", encode(self._order(runs))):
            pass

    def measure(self, node: Node, block: Block) -> list[Run]:
        """Have a twin measure a block, and write its runs into the ledger.

        Raises:
            NodeLost: It is gone, or did not answer with the runs of that block.
        """
        order = self._order(tuple(map(PlannedRun.of, block.planned)), block.group.rounds)
        text = "".join(answer_of(line).text for line in node.call("measure", encode(order)))
        lines = enumerate(text.encode().splitlines(), 1)
        runs = [self._checked(run, block) for _, run in parsed(lines)]
        self._ledger.append(*runs)
        return runs

    def _checked(self, run: Run | Exception, block: Block) -> Run:
        """Return a run that is one of the block's.

        Raises:
            NodeLost: It is another one, or none.
        """
        keys = {planned.key for planned in block.planned}
        if not isinstance(run, Run) or run.key not in keys:
            raise NodeLost("it answered with something else than the runs of its block")
        return run

    def _order(self, runs: tuple[PlannedRun, ...], rounds: int = ROUNDS) -> BlockOrder:
        runner = self._runner
        return BlockOrder(
            session=runner.session,
            study=runner.study,
            device=runner.device,
            timeout_s=runner.timeout_s,
            turn_s=runner.turn_s,
            interval_s=1.0,
            accuracy_blocks=runner.accuracy_blocks,
            rounds=rounds,
            runs=runs,
        )


@contextmanager
def helped_by(twins: StudyTwins | None, queue: BlockQueue, record: Record) -> Iterator[None]:
    """Have each twin measure blocks of a queue, in a thread of its own, until there are no more.

    A twin that is lost gives its block back, and is out until the study's end.
    """
    if not twins:
        yield
        return
    threads = [
        threading.Thread(target=_help, args=(twins, node, queue, record), name=node.name, daemon=True)
        for node in twins.nodes
    ]
    queue.hands += len(threads)
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        queue.end()
        for thread in threads:
            thread.join()


def _help(twins: StudyTwins, node: Node, queue: BlockQueue, record: Record) -> None:
    block = None
    try:
        twins.start(node)
        while block := queue.take():
            begun_s = time.monotonic()
            runs = twins.measure(node, block)
            with queue.lock:
                record(block, runs, time.monotonic() - begun_s)
            queue.finished()
            block = None
    except NodeLost as problem:
        print(f"{node.name} was lost: {problem}", flush=True)
        if block:
            queue.lost(block)
