"""One line of the ledger as a run. What is no run says which of its fields is wrong: a ledger may come from anywhere.

Lines repeat much: the machine, the versions, the trials. Each such part is decoded once for all the lines
that have it, and their runs share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from datetime import datetime
from functools import lru_cache
from typing import Any, get_type_hints

import msgspec

from trainspeed.core import ledger_schema1
from trainspeed.core.convolution import AnyTrial, trial_from_dict
from trainspeed.core.errors import UserError
from trainspeed.core.markdown import visible
from trainspeed.core.notes import AnyNote
from trainspeed.core.quantities import LINE_TYPES, MOST_TEXT_LETTERS, PARTS
from trainspeed.core.run import LINE, SCHEMA, Run, Status

NEWEST_SCHEMA = 999  # a larger number is no schema of a later Trainspeed
YEARS = range(2000, 2200)  # what a table of moments can hold
MOST_REASON_LETTERS = 200
MOST_KEPT, MOST_KEPT_BYTES = 4096, 2000  # trials that are kept, and of how long a text at most
FIELD_TYPES = get_type_hints(Run) | dict(LINE_TYPES)
# Parts that repeat from line to line.
REPEATED = (
    *("trial", "node", "machine", "versions", "layers", "profile"),
    *("effective_layout", "effective_precision", "notes"),
)
NULL = msgspec.Raw(b"null")


class OtherSchema(Exception):
    """A line whose fields may mean something else."""

    def __init__(self, schema: Any) -> None:
        super().__init__(schema)
        self.schema = schema


def what_is_wrong(problem: Exception) -> str:
    """Return which field of a line is wrong and what it must be; the kind of error where no field is."""
    known = isinstance(problem, msgspec.ValidationError | UserError) and str(problem)
    if not known:
        return type(problem).__name__
    half = MOST_REASON_LETTERS // 2  # the field is at one of its ends; between may be all of the value
    short = known if len(known) <= MOST_REASON_LETTERS else f"{known[:half]} … {known[-half:]}"
    return visible(short)


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
    """Return the run of a line of the current schema or of one before; fields of a later Trainspeed are ignored.

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
            try:
                parts[key] = DECODERS[decoded.schema][name](key[-1])
            except ValueError as problem:
                raise msgspec.ValidationError(f"{name}: {problem}") from None
        values[name] = parts[key]
    values["schema"] = SCHEMA
    _check_whole(values)
    if decoded.schema == 1 and decoded.reason:
        model = getattr(values["trial"], "model", "")
        values["failure"] = ledger_schema1.failure(decoded.status, decoded.reason, model)
    return Run(**values)


def _check_whole(values: Mapping[str, Any]) -> None:
    """Raise a ValidationError where fields that are right by themselves are no run together."""
    if values["started_at"] is not None:
        try:
            started_at = datetime.fromisoformat(values["started_at"])
        except ValueError:
            raise msgspec.ValidationError("started_at is no time in ISO 8601") from None
        if started_at.tzinfo is None or started_at.year not in YEARS:
            raise msgspec.ValidationError("started_at has no time zone, or is centuries away")
    timed = "call_s" if values["call_s"] else "epoch_s"
    if values["status"] is Status.OK and not all(getattr(turn, timed) for turn in values["turns"]):
        raise msgspec.ValidationError(f"turns: one has no {timed}")


def _check_schema(schema: Any) -> None:
    if isinstance(schema, int) and SCHEMA < schema <= NEWEST_SCHEMA:
        raise OtherSchema(schema)
    if not isinstance(schema, int) or schema not in DECODERS:
        raise msgspec.ValidationError("schema is not the number of one")


def _kept(name: str) -> Callable[[bytes], Any]:
    """Return what decodes a part that is kept as it was written, and looks at what is read of it."""
    decode, looked_at = msgspec.json.Decoder(FIELD_TYPES[name]).decode, PARTS[name]
    # Made for what it leaves behind: msgspec crashes where two threads are the first to convert to a type.
    msgspec.json.Decoder(looked_at)

    def decode_and_check(raw: bytes) -> Any:
        part = decode(raw)
        msgspec.convert(part, looked_at)
        return part

    return decode_and_check


def _trial(raw: bytes, **known: Any) -> AnyTrial:
    """Return the trial of a line, with what is known of it whatever the line says."""
    return (_read_trial if len(raw) > MOST_KEPT_BYTES else _kept_trial)(raw, **known)


def _read_trial(raw: bytes, **known: Any) -> AnyTrial:
    return trial_from_dict({**msgspec.json.decode(raw, type=Mapping[str, Any]), **known})


# The same trials are read again and again: by each notebook of a report, and of each machine of a fleet.
_kept_trial = lru_cache(maxsize=MOST_KEPT)(_read_trial)


def _notes(raw: bytes) -> tuple[AnyNote, ...]:
    notes = msgspec.json.decode(raw, type=FIELD_TYPES["notes"])
    texts = (
        value for note in notes for value in msgspec.structs.asdict(note).values() if isinstance(value, str)
    )
    if any(len(text) > MOST_TEXT_LETTERS for text in texts):
        raise msgspec.ValidationError(f"a text of more than {MOST_TEXT_LETTERS} letters")
    return notes


def _layout(raw: bytes) -> Mapping[str, int | None] | None:
    layouts = msgspec.json.decode(raw, type=FIELD_TYPES["effective_layout"])
    if layouts and len(layouts) > 1 and None in layouts.values():
        raise msgspec.ValidationError("several layouts, and not the number of convolutions in each")
    return layouts


# Schema -> repeated field -> what decodes it.
DECODERS: dict[int, dict[str, Callable[[bytes], Any]]] = {
    SCHEMA: {name: msgspec.json.Decoder(FIELD_TYPES[name]).decode for name in REPEATED if name != "trial"}
    | {name: _kept(name) for name in PARTS}
    | {"notes": _notes, "effective_layout": _layout}
}
DECODERS[SCHEMA]["trial"] = _trial
# Before schema 3 a run was of one machine, which had no name: what such a line says of nodes was ignored then, too.
DECODERS[2] = DECODERS[SCHEMA] | {"trial": lambda raw: _trial(raw, nodes=1), "node": lambda raw: None}
DECODERS[1] = DECODERS[2] | ledger_schema1.SCHEMA1_DECODERS
