"""Equal nodes that share the blocks of a study with this one: each measures a block whole, beside the others."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

from trainspeed.conduct.block_queue import Block, BlockQueue
from trainspeed.conduct.cluster.node import Node, NodeLost, Refused
from trainspeed.conduct.cluster.orders import BlockOrder, PlannedRun, Reply, answer_of, encode_message
from trainspeed.conduct.context import TWINS_VARIABLE
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.turns import ROUNDS
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.files import append_text
from trainspeed.core.ledger import RUNS_FILE, Ledger, parsed
from trainspeed.core.monitor_csv import csv_lines, monitor_file
from trainspeed.core.run import Run, Status
from trainspeed.core.user_model import find_model, is_user_model

Record = Callable[[Block, Sequence[Run], float], None]
MOST_LETTERS = 2**27  # of what a node may answer for a block: its lines, and what the monitor saw meanwhile


class LostInBlock(NodeLost):
    """A node was lost after it had begun a block, so that the block may be why."""


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
        interval_s: Seconds between two samples of the monitor.
        first: Trials whose frameworks are imported before anything is measured.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        runner: Runner,
        ledger: Ledger,
        interval_s: float,
        first: Sequence[AnyTrial],
    ) -> None:
        self.nodes, self._runner, self._ledger, self._first = nodes, runner, ledger, first
        self._interval_s = interval_s

    def start(self, node: Node) -> None:
        """Have a twin import what the first runs need.

        Raises:
            NodeLost, Refused: See `Node.call`.
        """
        runs = tuple(PlannedRun(block=0, label="", trial=trial.as_dict()) for trial in self._first)
        self._taken(node, node.call("start", encode_message(self._order(runs))))

    def measure(self, node: Node, block: Block) -> list[Run]:
        """Have a twin measure a block, and write its runs into the ledger when it has all of them.

        Raises:
            NodeLost: It is gone, did not answer with the runs of that block, or can no longer measure all of them.
            LostInBlock: It was lost when it had begun.
            Refused: It cannot do that.
        """
        order = self._order(tuple(map(PlannedRun.of, block.planned)), block.group.rounds)
        answers = node.call("measure", encode_message(order))
        if next(answers, None) is None:
            raise NodeLost("it answered nothing")
        try:
            lines = self._taken(node, answers)
            runs = self._checked(lines, node, block)
        except NodeLost as problem:
            raise LostInBlock(str(problem)) from None
        self._check_measures(runs, block)  # the twin is why, not the block
        self._ledger.append(*runs)
        return runs

    def end(self, node: Node) -> None:
        """Have a twin end what it keeps for this study, and write down what its monitor saw last."""
        self._taken(node, node.call("end"))

    def _taken(self, node: Node, answers: Iterator[str]) -> str:
        """Return the lines of runs among a twin's answers, and keep those of its monitor.

        Raises:
            NodeLost: It answered with something else.
        """
        monitor = monitor_file(self._runner.session, self._runner.study, node.name)
        text, letters = "", 0
        for line in answers:
            answer, letters = _answer(line), letters + len(line)
            if letters > MOST_LETTERS:
                raise NodeLost("it answered without end")
            if answer.file == RUNS_FILE:
                text += answer.text
            elif answer.file == monitor and (rows := csv_lines(answer.text)):
                append_text(self._ledger.folder / monitor, "\n".join(rows))
        return text

    def _checked(self, text: str, node: Node, block: Block) -> list[Run]:
        """Return the runs of a block as a twin measured them, named as they were asked for.

        Raises:
            NodeLost: They are others, or none.
        """
        left = {planned.key: planned for planned in block.planned}
        runs = []
        for _, run in parsed(enumerate(text.encode().splitlines(), 1)):
            planned = left.pop(run.key, None) if isinstance(run, Run) else None
            if planned is None or run.group not in (None, planned.group):
                raise NodeLost("it answered with something else than the runs of its block")
            runs.append(
                replace(
                    run,
                    session=self._runner.session,
                    study=self._runner.study,
                    node=node.name,
                    monitor=monitor_file(self._runner.session, self._runner.study, node.name),
                )
            )
        return runs

    def _check_measures(self, runs: Sequence[Run], block: Block) -> None:
        """Raise NodeLost where a twin lacks what this node has, or has given up what this one has not.

        It would answer every block at once and without these runs, and each would count as measured.
        """
        for run in runs:
            framework = run.trial.framework
            started = run.versions or framework in self._runner.missing
            if run.status is Status.UNSUPPORTED and not started:
                raise NodeLost(f"{framework} cannot be started there")
        come = {run.key for run in runs}
        if any(one.key not in come and not self._runner.given_up.holds(one) for one in block.planned):
            raise NodeLost("it no longer measures what it was asked for")

    def _order(self, runs: tuple[PlannedRun, ...], rounds: int = ROUNDS) -> BlockOrder:
        runner = self._runner
        return BlockOrder(
            session=runner.session,
            study=runner.study,
            device=runner.device,
            timeout_s=runner.timeout_s,
            turn_s=runner.turn_s,
            interval_s=self._interval_s,
            accuracy_blocks=runner.accuracy_blocks,
            rounds=rounds,
            runs=runs,
            sources=sources_of([str(run.trial.get("model", "")) for run in runs]),
        )


def sources_of(models: Iterable[str]) -> dict[str, str]:
    """Return the path of each file of a user's model, as a trial names it -> its text."""
    own = sorted({model for model in models if is_user_model(model)})
    return {model.rpartition(":")[0]: find_model(model).read_text(encoding="utf-8") for model in own}


def _answer(line: str) -> Reply:
    try:
        return answer_of(line)
    except (ValueError, RecursionError):  # msgspec's are ValueErrors
        raise NodeLost("it answered with something that is no answer") from None


@contextmanager
def helped_by(twins: StudyTwins | None, queue: BlockQueue, record: Record) -> Iterator[None]:
    """Have each twin measure blocks of a queue, in a thread of its own, until there are no more.

    A twin counts as a hand once it has imported what it needs. One that is lost gives its block back, and is out until
    the study's end.

    Raises:
        Exception: What ended the queue before its time: see `BlockQueue.problem`.
    """
    threads = [
        threading.Thread(target=_help, args=(twins, node, queue, record), name=node.name, daemon=True)
        for node in (twins.nodes if twins else ())
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    except BaseException:
        queue.end()  # the twins end their blocks by themselves: nobody waits for them after Ctrl-C
        raise
    queue.end()
    for thread in threads:
        thread.join()
    if queue.problem:
        raise queue.problem


def _help(twins: StudyTwins, node: Node, queue: BlockQueue, record: Record) -> None:
    try:
        twins.start(node)
    except (NodeLost, Refused) as problem:
        print(f"{node.name} does not help: {problem}", flush=True)
        return
    except Exception as problem:
        queue.fail(problem)
        return
    queue.joined()
    block = None
    try:
        while block := queue.take(node.name):
            begun_s = time.monotonic()
            runs = twins.measure(node, block)
            with queue.lock:
                record(block, runs, time.monotonic() - begun_s)
            queue.finished(block)
        with contextlib.suppress(NodeLost, Refused):
            twins.end(node)
    except (NodeLost, Refused) as problem:
        print(f"{node.name} was lost: {problem}", flush=True)
        if block:
            queue.lost(block, begun=isinstance(problem, LostInBlock))
    except Exception as problem:  # a fault of ours, or a full disk: nobody may wait for this block for ever
        queue.fail(problem)
        if block:
            queue.lost(block)
    finally:
        queue.left()
