"""The append-only record of runs. A line is flushed and synced as each run ends, so nothing is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainspeed.errors import UserError
from trainspeed.run import SCHEMA, Run

NAME = "runs.jsonl"
SESSIONS = "sessions.jsonl"


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

    def read(self) -> tuple[tuple[Run, ...], tuple[str, ...]]:
        """Return the runs, oldest first, and a doubt for each line that cannot be read.

        Raises:
            UserError: A line of another schema: its fields may mean something else.
        """
        runs: list[Run] = []
        doubts: list[str] = []
        for number, found in parsed(self.path):
            if isinstance(found, OtherSchema):
                raise UserError(
                    f"{NAME} line {number} has schema {found.schema!r}, this Trainspeed reads schema {SCHEMA}: "
                    "use another OUT folder, or the version that wrote it."
                )
            if isinstance(found, Run):
                runs.append(found)
            else:
                doubts.append(
                    f"line {number} of {NAME} is cut off or damaged and was left out "
                    f"({type(found).__name__}); the other lines are used. RESUME=1 measures it again."
                )
        return tuple(runs), tuple(doubts)


class OtherSchema(Exception):
    """A line whose fields may mean something else."""

    def __init__(self, schema: Any) -> None:
        super().__init__(schema)
        self.schema = schema


def parsed(path: Path) -> Iterator[tuple[int, Run | Exception]]:
    """Yield (line number from 1, its run or what is wrong with it) of a ledger."""
    for number, line in read_lines(path):
        try:
            data = json.loads(line)
            other = data["schema"] != SCHEMA
            found = OtherSchema(data["schema"]) if other else Run.from_dict(data)
        except (ValueError, KeyError, TypeError) as problem:
            found = problem
        yield number, found


def read_lines(path: Path) -> Iterable[tuple[int, str]]:
    """Yield (line number from 1, text) of the lines that are not empty; nothing when there is no file."""
    if not path.exists():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line


def append_line(path: Path, data: dict[str, Any]) -> None:
    """Append one JSON object as a line of strict JSON, after any cut-off line, and sync it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        text = json.dumps(data, allow_nan=False, ensure_ascii=False)
        file.write(text.encode(errors="replace") + b"\n")  # half a character in an error's text costs no run
        file.flush()
        os.fsync(file.fileno())
