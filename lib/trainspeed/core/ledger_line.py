"""Read a line of the ledger: strict JSON to a run. Knows no file.

Lines repeat much: the machine, the versions, the trials. Each such part is decoded once for all the lines
that have it, and their runs share it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING
from typing import Any, get_type_hints

import msgspec

from trainspeed.core import ledger_schema1
from trainspeed.core.convolution import trial_from_dict
from trainspeed.core.run import LINE, SCHEMA, Run

FIELD_TYPES = get_type_hints(Run)
REPEATED = (
    "trial",
    "machine",
    "versions",
    "layers",
    "profile",
    "effective_layout",
    "effective_precision",
    "notes",
)
NULL = msgspec.Raw(b"null")


class OtherSchema(Exception):
    """A line whose fields may mean something else."""

    def __init__(self, schema: Any) -> None:
        super().__init__(schema)
        self.schema = schema


def _field(name: str) -> tuple[Any, ...]:
    """Return a field of `Line` for a field of `Run`: as JSON where it repeats from line to line."""
    field = Run.__dataclass_fields__[name]
    if name in REPEATED:
        return name, msgspec.Raw, NULL
    if field.default_factory is not MISSING:
        return name, FIELD_TYPES[name], msgspec.field(default_factory=field.default_factory)
    return (name, FIELD_TYPES[name]) if field.default is MISSING else (name, FIELD_TYPES[name], field.default)


Line = msgspec.defstruct("Line", [("schema", int), *(_field(name) for name in LINE[1:])], kw_only=True)


class _Schema(msgspec.Struct):
    schema: Any


class LineReader:
    """Decodes lines of the current schema and of schema 1."""

    def __init__(self) -> None:
        self._decode = msgspec.json.Decoder(Line).decode
        self._known: dict[tuple[int, str, bytes], Any] = {}

    def run(self, line: bytes) -> Run:
        """Return the run of a line; fields of a later Trainspeed are ignored.

        Raises:
            OtherSchema: Its fields may mean something else.
            msgspec.DecodeError, ValueError, KeyError, TypeError: It is damaged, or no run.
        """
        try:
            found = self._decode(line)
        except msgspec.ValidationError:
            _check_schema(msgspec.json.decode(line, type=_Schema).schema)
            raise
        _check_schema(found.schema)
        readers = READERS[found.schema]
        values = msgspec.structs.asdict(found)
        for name in REPEATED:
            if (raw := values[name]) == NULL:
                del values[name]
            else:
                values[name] = self._part(found.schema, name, bytes(raw), readers[name])
        values["schema"] = SCHEMA
        if found.schema == 1 and found.reason:
            model = getattr(values["trial"], "model", "")
            values["failure"] = ledger_schema1.failure(found.status, found.reason, model)
        return Run(**values)

    def _part(self, schema: int, name: str, raw: bytes, read: Callable[[bytes], Any]) -> Any:
        key = schema, name, raw
        if key not in self._known:
            self._known[key] = read(raw)
        return self._known[key]


def _check_schema(schema: Any) -> None:
    if schema not in READERS:
        raise OtherSchema(schema)


def _trial(raw: bytes) -> Any:
    return trial_from_dict(msgspec.json.decode(raw, type=Mapping[str, Any]))


READERS: dict[int, dict[str, Callable[[bytes], Any]]] = {
    SCHEMA: {name: msgspec.json.Decoder(FIELD_TYPES[name]).decode for name in REPEATED if name != "trial"}
}
READERS[SCHEMA]["trial"] = _trial
READERS[1] = READERS[SCHEMA] | ledger_schema1.READERS
