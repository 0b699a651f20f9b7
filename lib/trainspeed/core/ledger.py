"""The append-only record of runs. A line is flushed and synced as each run ends, so nothing is lost.

Lines repeat much: the machine, the versions, the trials. Each such part is decoded once for all the lines
that have it, and their runs share it.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from trainspeed.core import ledger_schema1
from trainspeed.core.convolution import trial_from_dict
from trainspeed.core.errors import UserError
from trainspeed.core.files import append_text
from trainspeed.core.run import LINE, SCHEMA, Run

RUNS_FILE = "runs.jsonl"
SESSIONS_FILE = "sessions.jsonl"
# How every line begins that Trainspeed wrote: enough to tell which runs a reader wants.
LINE_HEAD = re.compile(rb'\{"schema": (\d+), "session": "([^"\\]*)", "study": "([^"\\]*)"')
LINE_ENDS = (b"}\n", b"}\r\n", b"}")  # of a line that is not cut off
FIELD_TYPES = get_type_hints(Run)
# Parts that repeat from line to line.
REPEATED = (
    *("trial", "machine", "versions", "layers", "profile"),
    *("effective_layout", "effective_precision", "notes"),
)
NULL = msgspec.Raw(b"null")


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
        append_text(self.path, "\n".join(as_line(run.as_dict()) for run in runs))

    def read(self, sessions: Mapping[str, str] | None = None) -> tuple[tuple[Run, ...], tuple[str, ...]]:
        """Return the runs, oldest first, and a doubt for each line that cannot be read.

        Args:
            sessions: Study -> the session whose runs are wanted; everything by default. The other lines are
                passed over undecoded, which takes a fraction of the time.
        Raises:
            UserError: A line has another schema: its fields may mean something else.
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
        """Return study -> its newest session; ids begin with the time."""
        newest: dict[str, str] = {}
        for number, line in read_lines(self.path):
            if (head := _study_and_session(line)) is None:
                runs, _ = _read_all([(number, line)])
                head = (runs[0].study, runs[0].session) if runs else None
            if head:
                newest[head[0]] = max(head[1], newest.get(head[0], ""))
        return newest


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
                    f"({type(run).__name__}); the other lines are used. RESUME=1 measures it again."
                )
    finally:
        if was_on:
            gc.enable()
    return tuple(runs), tuple(doubts)


def parsed(lines: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, Run | Exception]]:
    """Yield (line number, its run or the reason why it has none) for each line of a ledger."""
    parts: dict[Any, Any] = {}
    for number, line in lines:
        try:
            yield number, read_run(line, parts)
        except (OtherSchema, msgspec.DecodeError, ValueError, KeyError, TypeError) as problem:
            yield number, problem


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (line number from 1, line) for the lines that are not empty; nothing when there is no file."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.isspace():
                yield number, line


def append_line(path: Path, data: dict[str, Any]) -> None:
    """Append one JSON object as a line of strict JSON, after any cut-off line, and sync it."""
    append_text(path, as_line(data))


def as_line(data: dict[str, Any]) -> str:
    """Return a JSON object in one line of strict JSON."""
    return json.dumps(data, allow_nan=False, ensure_ascii=False)


class OtherSchema(Exception):
    """A line whose fields may mean something else."""

    def __init__(self, schema: Any) -> None:
        super().__init__(schema)
        self.schema = schema


def _line_field(name: str) -> tuple[Any, ...]:
    """Return a field of `Line` for a field of `Run`: as JSON where it repeats from line to line."""
    field = Run.__dataclass_fields__[name]
    if name in REPEATED:
        return name, msgspec.Raw, NULL
    if field.default_factory is not MISSING:
        return name, FIELD_TYPES[name], msgspec.field(default_factory=field.default_factory)
    return (name, FIELD_TYPES[name]) if field.default is MISSING else (name, FIELD_TYPES[name], field.default)


Line = msgspec.defstruct("Line", [("schema", int), *(_line_field(name) for name in LINE[1:])], kw_only=True)
DECODE = msgspec.json.Decoder(Line).decode


class _Schema(msgspec.Struct):
    schema: Any


def read_run(line: bytes, parts: dict[Any, Any]) -> Run:
    """Return the run of a line of schema 1 or of the current one; fields of a later Trainspeed are ignored.

    Args:
        parts: The parts of earlier lines, for those that repeat; this line's are added.
    Raises:
        OtherSchema: Its fields may mean something else.
        msgspec.DecodeError, ValueError, KeyError, TypeError: It is damaged, or not a run.
    """
    try:
        decoded = DECODE(line)
    except msgspec.ValidationError:
        _check_schema(msgspec.json.decode(line, type=_Schema).schema)
        raise
    _check_schema(decoded.schema)
    values = msgspec.structs.asdict(decoded)
    for name in REPEATED:
        if values[name] == NULL:
            del values[name]
            continue
        key = decoded.schema, name, bytes(values[name])
        if key not in parts:
            parts[key] = DECODERS[decoded.schema][name](key[-1])
        values[name] = parts[key]
    values["schema"] = SCHEMA
    if decoded.schema == 1 and decoded.reason:
        model = getattr(values["trial"], "model", "")
        values["failure"] = ledger_schema1.failure(decoded.status, decoded.reason, model)
    return Run(**values)


def _check_schema(schema: Any) -> None:
    if schema not in DECODERS:
        raise OtherSchema(schema)


# Schema -> repeated field -> what decodes it.
DECODERS: dict[int, dict[str, Callable[[bytes], Any]]] = {
    SCHEMA: {name: msgspec.json.Decoder(FIELD_TYPES[name]).decode for name in REPEATED if name != "trial"}
}
DECODERS[SCHEMA]["trial"] = lambda raw: trial_from_dict(msgspec.json.decode(raw, type=Mapping[str, Any]))
DECODERS[1] = DECODERS[SCHEMA] | ledger_schema1.SCHEMA1_DECODERS
