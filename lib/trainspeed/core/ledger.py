"""The append-only record of runs. A line is flushed and synced as each run ends, so nothing is lost.

Knows the file and its lines; what a line holds is `ledger_line`'s.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from trainspeed.core.errors import UserError
from trainspeed.core.files import append_text
from trainspeed.core.format import counted
from trainspeed.core.ledger_line import DECODERS, OtherSchema, read_run, what_is_wrong
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import SCHEMA, Run, Status

RUNS_FILE = "runs.jsonl"
SESSIONS_FILE = "sessions.jsonl"
# How every line begins that Trainspeed wrote: enough to tell which runs a reader wants.
LINE_HEAD = re.compile(rb'\{"schema": (\d{1,9}), "session": "([^"\\]*)", "study": "([^"\\]*)"')
LINE_ENDS = (b"}\n", b"}\r\n", b"}")  # of a line that is not cut off
MOST_LINE_BYTES = 8 * 2**20  # a hundred times a line with the layers of a large model
LETTERS_OF_A_LONG_LINE = 100
MOST_DOUBTS = 20  # about single lines


@dataclass(frozen=True)
class Ledger:
    """`runs.jsonl` of a folder.

    Attributes:
        folder: The report's output folder; the first `append` makes it.
    """

    folder: Path

    @property
    def path(self) -> Path:
        """The file itself."""
        return self.folder / RUNS_FILE

    def append(self, *runs: Run) -> None:
        """Write a line for each run and sync them to disk; those of a block that are compared, in one go."""
        if runs:
            append_text(self.path, "\n".join(as_line(run.as_dict()) for run in runs))

    def read(self, sessions: Mapping[str, str] | None = None) -> tuple[tuple[Run, ...], tuple[str, ...]]:
        """Return the runs, oldest first, and a doubt for each line that cannot be read.

        Args:
            sessions: Study -> the session whose runs are wanted; everything by default. The other lines are
                passed over undecoded, which takes a fraction of the time.
        Raises:
            UserError: A line has the schema of a later Trainspeed: its fields may mean something else.
        """
        lines = read_lines(self.path)
        if sessions is None:
            return _read_all(lines)
        wanted = (
            (number, line)
            for number, line in lines
            if (head := _study_and_session(line)) is None or sessions.get(head[0]) == head[1]
        )
        runs, doubts = _read_all(wanted)
        return tuple(run for run in runs if sessions.get(run.study) == run.session), doubts

    def newest(self) -> dict[str, str]:
        """Return study -> its newest session with a run that can be read; ids begin with the time."""
        newest: dict[str, str] = {}
        for number, line in read_lines(self.path):
            head = _study_and_session(line)
            if head and head[1] <= newest.get(head[0], ""):
                continue
            for run in _read_all([(number, line)])[0]:
                newest[run.study] = max(run.session, newest.get(run.study, ""))
        return newest


def why_not_kept(run: Run) -> str | None:
    """Return why a run could not be read again if it were written, or not even be written; None where it can."""
    try:
        line = as_line(run.as_dict())
    except (ValueError, TypeError) as problem:  # a number that is none, or no JSON at all
        return str(problem)
    ((_, read),) = parsed([(1, line.encode())])
    return what_is_wrong(read) if isinstance(read, Exception) else None


def crashed_without(run: Run, why: str) -> Run:
    """Return a run that cannot be kept, as a crash that can.

    It is a fault of ours. Written as it is, it would end the study, or be left out by whoever reads the ledger.

    Args:
        why: See `why_not_kept`.
    """
    nothing = {field.name: getattr(RunResult(), field.name) for field in fields(RunResult)}
    reason = f"what it measured cannot be kept: {why}"
    return replace(
        run, **nothing, group=None, status=Status.CRASHED, reason=reason, failure=Failure(stage="end")
    )


def _study_and_session(line: bytes) -> tuple[str, str] | None:
    """Return the study and the session of a line without decoding it; None where it has to be decoded."""
    head = LINE_HEAD.match(line)
    if head is None or int(head[1]) not in DECODERS or not line.endswith(LINE_ENDS):
        return None
    return head[3].decode(errors="replace"), head[2].decode(errors="replace")


def _read_all(lines: Iterable[tuple[int, bytes]]) -> tuple[tuple[Run, ...], tuple[str, ...]]:
    runs: list[Run] = []
    doubts: list[str] = []
    # What is read stays: to look through 100,000 runs for garbage again and again is a quarter of the time.
    was_on = gc.isenabled()
    gc.disable()
    try:
        for number, run in parsed(lines):
            if isinstance(run, OtherSchema):
                raise UserError(
                    f"{RUNS_FILE} line {number} has schema {run.schema!r}, this Trainspeed reads schema {SCHEMA} "
                    "and before: use another OUT folder, or the version that wrote it."
                )
            if isinstance(run, Run):
                runs.append(run)
            else:
                doubts.append(
                    f"line {number} of {RUNS_FILE} is cut off or damaged and was left out "
                    f"({what_is_wrong(run)}); the other lines are used. RESUME=1 measures it again where there is time."
                )
    finally:
        if was_on:
            gc.enable()
    return tuple(runs), shortened(doubts)


def shortened(doubts: Sequence[str], noun: str = "more line") -> tuple[str, ...]:
    """Return the doubts about lines; of very many the first ones, and how many more there are."""
    more = len(doubts) - MOST_DOUBTS
    return (*doubts[:MOST_DOUBTS], f"{counted(more, noun)} like these.") if more > 0 else tuple(doubts)


def parsed(
    lines: Iterable[tuple[int, bytes]], parts: dict[Any, Any] | None = None
) -> Iterator[tuple[int, Run | Exception]]:
    """Yield (line number, its run or the reason why it has none) for each line of a ledger.

    Args:
        parts: What lines of several ledgers have in common, kept by the caller from one ledger to the next.
    """
    parts = {} if parts is None else parts
    for number, line in lines:
        try:
            yield number, read_run(line, parts)
        except (OtherSchema, ValueError, LookupError, TypeError, ArithmeticError, RecursionError) as problem:
            yield number, problem


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) for the lines that are not empty; nothing when there is no such file.

    Of a line that is too long to be one of Trainspeed's, only the beginning comes, which is no JSON. A pipe or a device
    is no file: reading it might never end.
    """
    if not path.is_file():
        return
    with path.open("rb") as file:
        for number, line in enumerate(iter(partial(file.readline, MOST_LINE_BYTES), b""), 1):
            rest = line
            while len(rest) == MOST_LINE_BYTES and not rest.endswith(b"\n"):
                rest = file.readline(MOST_LINE_BYTES)
            if rest is not line:
                yield number, line[:LETTERS_OF_A_LONG_LINE]
            elif not line.isspace():
                yield number, line


def append_line(path: Path, data: dict[str, Any]) -> None:
    """Append one JSON object as a line of strict JSON, after any cut-off line, and sync it."""
    append_text(path, as_line(data))


def as_line(data: dict[str, Any]) -> str:
    """Return a JSON object in one line of strict JSON."""
    return json.dumps(data, allow_nan=False, ensure_ascii=False)
