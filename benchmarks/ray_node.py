"""One machine against itself: measured alone, and as the node of a fleet, by Ray. Is a node as fast as its machine?

Within a block a runner of this process measures a trial twice, while everything of the fleet is stopped, and the node
once, by the road of a report that shares its blocks; in random order. Neither has a monitor beside it.
"""

from __future__ import annotations

import importlib.util
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil

from bounds import met
from programs import NO_GPU
from protocol import CALIBRATION, Settings, Study, apart
from trainspeed.conduct.cluster.orders import BlockOrder, PlannedRun, answer_of, encode_message
from trainspeed.conduct.cluster.ray_node import ANOTHER_CLUSTER, engine_variables
from trainspeed.conduct.machine import DEVICE_VARIABLE, find_interpreter
from trainspeed.conduct.plan import Planned
from trainspeed.core.ledger import RUNS_FILE, parsed
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run, Status
from trainspeed.judge.verdict import Judgement, judge

NAME, FRAMEWORK, MACHINE = "ray node", "torch", "box"
ADDRESS, HEAD = "127.0.0.1", "127.0.0.1:6379"
BLOCKS = 100
AT_LEAST, AT_MOST = 0.99, 1.01
ALONE, AGAIN, ON_NODE = "alone", "alone again", "on a node"  # labels
NO_MONITOR_S = 86_400.0  # between two of its samples: the first is taken as the node's first block begins
SETTLE_S = 0.5  # after all have gone on: what has fallen due meanwhile
STARTS_S, ENDS_S = 90.0, 40.0
READY = "ready"


class OwnNode:
    """A head that measures, on this machine, and a process that passes orders to it: they are stopped together.

    Args:
        folder: Stands for the user's own, token included; its path is short, as those of sockets have to be.
    """

    def __init__(self, folder: Path) -> None:
        self._log = folder / "log"
        kept = {name: text for name, text in os.environ.items() if name != ANOTHER_CLUSTER}
        kept |= NO_GPU | {"HOME": str(folder), "RAY_TMPDIR": str(folder), DEVICE_VARIABLE: "cpu"}
        self._environment = kept | {"PYTHONPATH": str(ROOT / "lib")}
        self._running: list[subprocess.Popen[str]] = []

    def __enter__(self) -> OwnNode:
        words = ["-m", "trainspeed", "node", "--as", MACHINE, "--measure", "--address", ADDRESS]
        try:
            with self._log.open("w") as log:
                node = self._start(*words, stdout=log)
                until_s = time.monotonic() + STARTS_S
                while "measures as" not in self._log.read_text():
                    if node.poll() is not None or time.monotonic() > until_s:
                        self._fail()
                    time.sleep(0.1)
                driver = self._start(__file__, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
                self._answer(driver)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._running):  # the one that passes orders first: it lets go of the node
            with suppress(OSError):
                (process.stdin.close if process.stdin else process.terminate)()
            with suppress(subprocess.TimeoutExpired):
                process.wait(ENDS_S)
        for process in self._all():
            with suppress(psutil.Error):
                process.kill()

    def measure(self, order: BlockOrder) -> Run:
        """Have the node measure the one run of a block."""
        driver = self._running[-1]
        driver.stdin.write(encode_message(order) + "\n")
        driver.stdin.flush()
        ((_, run),) = parsed([(1, self._answer(driver).encode())])
        if not isinstance(run, Run):
            raise run
        return run

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Keep the engine, the actor, its worker and the driver from running meanwhile.

        Some seconds are far less than the engine waits for one of them.
        """
        stopped: set[psutil.Process] = set()
        try:
            while new := {*self._all()} - stopped:  # one may have started another meanwhile
                stopped |= new
                for process in new:
                    with suppress(psutil.Error):
                        process.suspend()
            yield
        finally:
            for process in stopped:
                with suppress(psutil.Error):
                    process.resume()
            time.sleep(SETTLE_S)

    def _all(self) -> list[psutil.Process]:
        found = []
        for process in self._running:
            with suppress(psutil.Error):
                root = psutil.Process(process.pid)
                found += [root, *root.children(recursive=True)]
        return found

    def _start(self, *words: str, **streams: object) -> subprocess.Popen[str]:
        streams = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT} | streams
        command = [sys.executable, *words]
        # A Ctrl-C reaches this process alone, which ends the others: some may be stopped.
        process = subprocess.Popen(
            command, env=self._environment, text=True, start_new_session=True, **streams
        )
        self._running.append(process)
        return process

    def _answer(self, driver: subprocess.Popen[str]) -> str:
        if not (line := driver.stdout.readline()):
            self._fail()
        return json.loads(line)

    def _fail(self) -> None:
        said = self._log.read_text().strip().splitlines() or ["no reason given"]
        raise SystemExit(f"bench: {NAME}: {said[-1]}")


class TwoWays(Study):
    """Runs of this machine: alone, and on its node."""

    def measure_on(self, node: OwnNode, planned: Planned) -> None:
        """Have the node measure a run, unless it is there."""
        runner = self._runner
        if planned.key in {run.key for run in self._runs}:
            return
        run = node.measure(
            BlockOrder(
                session=runner.session,
                study=self.name,
                device="cpu",
                timeout_s=runner.timeout_s,
                turn_s=runner.turn_s,
                interval_s=NO_MONITOR_S,
                accuracy_blocks=0,
                rounds=runner.rounds,
                runs=(PlannedRun.of(planned),),
            )
        )
        if run.status != Status.OK:
            raise SystemExit(f"bench: {NAME}: {run.status}: {run.reason}")
        runner.ledger.append(run)
        self._runs.append(run)


def rows(settings: Settings) -> list[str]:
    """Measure the blocks, and return the rows."""
    blocks = BLOCKS if settings.full else settings.blocks
    trials = dict.fromkeys((ALONE, AGAIN, ON_NODE), settings.trial(FRAMEWORK))
    counted = range(CALIBRATION, CALIBRATION + blocks)
    with (
        tempfile.TemporaryDirectory(prefix="node-", dir="/tmp") as folder,
        TwoWays(NAME, settings) as study,
        OwnNode(Path(folder)) as node,
    ):
        for block in range(counted.stop):
            for (planned,) in apart(trials, block, random.Random(f"{settings.seed}:{block}")):
                if planned.label == ON_NODE:
                    study.measure_on(node, planned)
                else:
                    with node.stopped():
                        study.measure([[planned]])
    epochs_s = [[run.median_s for run in runs] for runs in study.runs(*trials, blocks=counted)]
    return of_node(*zip(*epochs_s, strict=True))


def of_node(alone_s: Sequence[float], again_s: Sequence[float], node_s: Sequence[float]) -> list[str]:
    """Return the rows, from the seconds of an epoch in each block."""
    judged = judge([math.sqrt(one * two) for one, two in zip(alone_s, again_s, strict=True)], node_s)
    noise = judge(alone_s, again_s)
    return [
        f"| {FRAMEWORK}: a machine measured alone / as a node of Ray, epoch time | {_ratio(judged)} | within 1 % | "
        f"{met(judged, at_least=AT_LEAST, at_most=AT_MOST)} |",
        f"| {FRAMEWORK}: the machine alone / alone again (A/A) | {_ratio(noise)} | the resolution | |",
    ]


def _ratio(judged: Judgement) -> str:
    interval = "no interval" if judged.low is None else f"{judged.low:.3f} to {judged.high:.3f}"
    return f"{judged.speedup:.3f} ({interval}), {judged.blocks} blocks"


def parts(settings: Settings) -> dict[str, Callable[[], list[str]]]:
    """Return the part of the benchmark by name; none, and a line on standard error, where it cannot be measured."""
    missing = None if importlib.util.find_spec("ray") else "Ray is not installed: make setup-fleet"
    missing = missing or (
        None if find_interpreter(FRAMEWORK) else f"{FRAMEWORK} is not installed: make setup"
    )
    if missing:
        print(f"bench: {NAME} is left out: {missing}.", file=sys.stderr)
        return {}
    return {NAME: partial(rows, settings)}


def drive() -> None:
    """Pass orders from standard input to the node, and the line of its run to standard output, until that closes."""
    os.environ.update(engine_variables())
    from trainspeed.conduct.cluster.ray_cluster import RayCluster

    cluster = RayCluster(HEAD)
    try:
        (node,) = cluster.nodes(MACHINE, 1)
        print(json.dumps(READY), flush=True)
        for order in sys.stdin:
            answers = map(answer_of, node.call("measure", order))
            print(json.dumps("".join(a.text for a in answers if a.file == RUNS_FILE)), flush=True)
    finally:
        cluster.close()


if __name__ == "__main__":
    drive()
