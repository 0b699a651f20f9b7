"""Take in what a node's report sends: text from outside, checked line by line before it is kept.

Only data is kept: a ledger, what was asked for, how far the time went, what the monitor saw. Pages are drawn here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from trainspeed.core.coverage import COVERAGE_FILE
from trainspeed.core.files import append_text
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, as_line, parsed
from trainspeed.core.run import Run
from trainspeed.report.request import ReportRequest

MONITOR_FILE = re.compile(r"monitor/[\w.-]{1,200}\.csv")
CSV_LINE = re.compile(r"[^\x00-\x08\x0b-\x1f\x7f]{0,20000}")


class Intake:
    """The folder of a machine's report on the head.

    Attributes:
        refused: How many lines were no lines of a report.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.refused = 0
        self._parts: dict[Any, Any] = {}

    def take(self, name: str, text: str) -> None:
        """Keep what is in order of some whole lines of a file."""
        kinds: dict[str, Callable[[list[str]], Iterator[str]]] = {
            RUNS_FILE: self._runs,
            SESSIONS_FILE: self._sessions,
            COVERAGE_FILE: self._coverage,
        }
        lines = text.splitlines()
        check = kinds.get(name) or (self._monitor if MONITOR_FILE.fullmatch(name) else None)
        kept = [*check(lines)] if check else []
        self.refused += len(lines) - len(kept)
        if kept:
            append_text(self.folder / name, "\n".join(kept))

    def _runs(self, lines: list[str]) -> Iterator[str]:
        for _, run in parsed((number, line.encode()) for number, line in enumerate(lines, 1)):
            if isinstance(run, Run):
                yield as_line(run.as_dict())

    def _sessions(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            try:
                yield as_line(asdict(msgspec.json.decode(line, type=ReportRequest)))
            except (ValueError, RecursionError):
                continue

    def _coverage(self, lines: list[str]) -> Iterator[str]:
        from trainspeed.core.coverage import Coverage

        for line in lines:
            try:
                yield as_line(msgspec.to_builtins(msgspec.json.decode(line, type=Coverage)))
            except (ValueError, RecursionError):
                continue

    def _monitor(self, lines: list[str]) -> Iterator[str]:
        return (line for line in lines if CSV_LINE.fullmatch(line))
