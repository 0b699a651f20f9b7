"""The append-only record of runs. A line is flushed and synced as each run ends, so nothing is lost."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainspeed.core.errors import UserError
from trainspeed.core.files import append_text
from trainspeed.core.ledger_line import READERS, LineReader, OtherSchema
from trainspeed.core.run import SCHEMA, Run

NAME = "runs.jsonl"
SESSIONS = "sessions.jsonl"
# How every line begins that Trainspeed wrote: enough to tell which runs a reader wants.
LINE_HEAD = re.compile(rb'\{"schema": (\d+), "session": "([^"\\]*)", "study": "([^"\\]*)"')
LINE_ENDS = (b"}\n", b"}\r\n", b"}")  # of a line that is not cut off
Runs = tuple[tuple[Run, ...], tuple[str, ...]]  # oldest first, and a doubt for each line that cannot be read


@dataclass(frozen=True)
class Ledger:
    """`runs.jsonl` of a folder.

    Attributes:
        folder: The report's output folder; it is made by the first `append`.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.folder / NAME

    def append(self, run: Run) -> None:
        """Write one line and sync it to disk."""
        append_line(self.path, run.as_dict())

    def read(self, sessions: Mapping[str, str] | None = None) -> Runs:
        """Return the runs, oldest first, and a doubt for each line that cannot be read.

        Args:
            sessions: Study -> the session whose runs are wanted; everything by default. The other lines are
                passed over undecoded, which takes a fraction of the time.
        Raises:
            UserError: A line of another schema: its fields may mean something else.
        """
        if sessions is None:
            return _gathered(read_lines(self.path))
        runs, doubts = _gathered(
            (number, line)
            for number, line in read_lines(self.path)
            if (place := _place(line)) is None or sessions.get(place[0]) == place[1]
        )
        return tuple(run for run in runs if sessions.get(run.study) == run.session), doubts

    def newest(self) -> dict[str, str]:
        """Return study -> its newest session; ids begin with the time."""
        newest: dict[str, str] = {}
        for number, line in read_lines(self.path):
            if (place := _place(line)) is None:
                runs, _ = _gathered([(number, line)])
                place = (runs[0].study, runs[0].session) if runs else None
            if place:
                newest[place[0]] = max(place[1], newest.get(place[0], ""))
        return newest


def _place(line: bytes) -> tuple[str, str] | None:
    """Return the study and the session of a line without decoding it; None where it has to be looked at."""
    head = LINE_HEAD.match(line)
    if head is None or int(head[1]) not in READERS or not line.endswith(LINE_ENDS):
        return None
    return head[3].decode(errors="replace"), head[2].decode(errors="replace")


def _gathered(lines: Iterable[tuple[int, bytes]]) -> Runs:
    runs: list[Run] = []
    doubts: list[str] = []
    for number, found in _without_collecting(parsed(lines)):
        if isinstance(found, OtherSchema):
            raise UserError(
                f"{NAME} line {number} has schema {found.schema!r}, this Trainspeed reads schema {SCHEMA} and "
                "before: use another OUT folder, or the version that wrote it."
            )
        if isinstance(found, Run):
            runs.append(found)
        else:
            doubts.append(
                f"line {number} of {NAME} is cut off or damaged and was left out "
                f"({type(found).__name__}); the other lines are used. RESUME=1 measures it again."
            )
    return tuple(runs), tuple(doubts)


def _without_collecting(found: Iterator[Any]) -> Iterator[Any]:
    """Yield all of it with Python's garbage collection off.

    What is read stays: to look through 100,000 runs for garbage again and again is a quarter of the time.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield from found
    finally:
        if was_on:
            gc.enable()


def parsed(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Run | Exception]]:
    """Yield (line number, its run or what is wrong with it) of a ledger's lines."""
    reader = LineReader()
    for number, line in lines:
        try:
            found = reader.run(line)
        except (OtherSchema, msgspec.DecodeError, ValueError, KeyError, TypeError) as problem:
            found = problem
        yield number, found


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) of the lines that are not empty; nothing when there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.isspace():
                yield number, line


def append_line(path: Path, data: dict[str, Any]) -> None:
    """Append one JSON object as a line of strict JSON, after any cut-off line, and sync it."""
    append_text(path, json.dumps(data, allow_nan=False, ensure_ascii=False))
