"""What a node does for others: it says what it is, runs a report, measures blocks of a twin's study. Knows no engine.

A method takes an order as JSON and yields its answers, as JSON.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from trainspeed.conduct.cluster.clean import clean_process
from trainspeed.conduct.cluster.orders import Answer, BlockOrder, ReportOrder, encode
from trainspeed.conduct.cluster.report_process import run_report
from trainspeed.conduct.machine import devices, find_interpreter
from trainspeed.conduct.runner import Runner
from trainspeed.conduct.start import start_worker
from trainspeed.core.ledger import as_line
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run
from trainspeed.core.trial import FRAMEWORKS


@dataclass
class _Lines:
    """Stands for a ledger: keeps the lines that a runner writes, for whoever asked for them."""

    folder: Path
    lines: list[str] = field(default_factory=list)

    def append(self, *runs: Run) -> None:
        self.lines += [as_line(run.as_dict()) for run in runs]

    def taken(self) -> str:
        """Return the lines since the last time."""
        text = "".join(f"{line}\n" for line in self.lines)
        self.lines.clear()
        return text


class Site:
    """A node, in a process of its own on its machine.

    Args:
        name: What it is called: "a10g-2".
    """

    def __init__(self, name: str) -> None:
        clean_process()
        self.name = name
        self._folder = tempfile.TemporaryDirectory(prefix="trainspeed-")
        self._runner: Runner | None = None
        self._asked: tuple[str, str] | None = None  # session and study of the runner
        self._lines = _Lines(Path(self._folder.name))

    def call(self, method: str, order: str) -> Iterator[str]:
        """Yield the answers of a method, by name."""
        methods = {"facts": self.facts, "report": self.report, "measure": self.measure, "start": self.start}
        yield from methods[method](order)

    def facts(self, order: str) -> Iterator[str]:
        """Yield what must be equal on nodes that share blocks."""
        device, _, machine = devices()
        frameworks = [name for name in FRAMEWORKS if find_interpreter(name)]
        code = hashlib.sha256()
        for path in sorted((ROOT / "lib").rglob("*.py")):
            code.update(path.read_bytes())
        facts = {"machine": dict(machine), "device": device, "frameworks": frameworks}
        facts |= {"python": sys.version.split()[0], "code": code.hexdigest()[:12]}
        yield encode(Answer(facts=facts))

    def report(self, order: str) -> Iterator[str]:
        """Run a report here, and yield what it writes and prints, as it comes."""
        asked = msgspec.json.decode(order, type=ReportOrder)
        for answer in run_report(asked, self.name):
            yield encode(answer)

    def start(self, order: str) -> Iterator[str]:
        """Import what the runs of a study need, before anything is measured."""
        asked = msgspec.json.decode(order, type=BlockOrder)
        self._runner_of(asked).start_all([run.planned().trial for run in asked.runs])
        yield encode(Answer())

    def measure(self, order: str) -> Iterator[str]:
        """Measure a block of a study, and yield the lines of its runs."""
        asked = msgspec.json.decode(order, type=BlockOrder)
        runner = self._runner_of(asked)
        runner.rounds = asked.rounds
        runner.measure_group([run.planned() for run in asked.runs])
        yield encode(Answer(file="runs.jsonl", text=self._lines.taken()))

    def _runner_of(self, asked: BlockOrder) -> Runner:
        """Return the runner of a study, with its warm workers; that of another one ends."""
        if self._runner and self._asked == (asked.session, asked.study):
            return self._runner
        if self._runner:
            self._runner.close()
        device, uuids, machine = devices()
        self._asked = asked.session, asked.study
        self._runner = Runner(
            ledger=self._lines,
            session=asked.session,
            study=asked.study,
            device=device,
            machine=machine,
            gpu_uuids=uuids,
            start=partial(start_worker, uuids),
            timeout_s=asked.timeout_s,
            turn_s=asked.turn_s,
            accuracy_blocks=asked.accuracy_blocks,
        )
        return self._runner
