"""The two sides of a comparison: which ledger a user means, and the runs in it.

Reads two files and writes none; does not know what is compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.ledger import NAME, OtherSchema, parsed
from trainspeed.run import SCHEMA, Run

# Where the command line says which ledgers are meant, so that no path of a machine gets into a notebook.
VARIABLES = {"A": "TRAINSPEED_COMPARE_A", "B": "TRAINSPEED_COMPARE_B"}
USAGE = "make compare A=outputs/old B=data/measured/xyz"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side: its letter, the name it is shown by, and its runs.

    Attributes:
        name: The last name of its folder, or its letter where both sides' are equal; no path.
        doubts: About lines that were left out.
    """

    letter: str
    name: str
    runs: tuple[Run, ...]
    doubts: tuple[str, ...] = ()


def ledgers(
    a: str, b: str, *, seen_from: Path | None = None, environment: Mapping[str, str] = os.environ
) -> tuple[Path, Path]:
    """Return the two ledgers that are meant, by a folder or by the file itself.

    Args:
        seen_from: Folder that relative paths start in; the project's, where a notebook says them.
        environment: May hold VARIABLES, which are then meant instead.
    Raises:
        UserError: One is missing or no ledger, or both are the same.
    """
    said = {"A": a, "B": b}
    start = ROOT if seen_from is None else seen_from
    found = []
    for letter, text in said.items():
        meant = environment.get(VARIABLES[letter]) or text
        if not meant.strip():
            raise UserError(f"{letter} is missing: name a folder with runs, or a ledger: `{USAGE}`.")
        found.append(_ledger(letter, text, start / Path(meant).expanduser()))
    if found[0].samefile(found[1]):
        raise UserError(f"A (={a}) and B (={b}) are the same ledger: name two, as in `{USAGE}`.")
    return found[0], found[1]


def _ledger(letter: str, text: str, path: Path) -> Path:
    try:
        if path.is_dir():
            path = path / NAME
            if not path.is_file():
                raise UserError(
                    f"{letter} (={text}) is a folder without a ledger: there is no {NAME} in it. Name one that "
                    "`make report` wrote to."
                )
        elif not path.is_file():
            raise UserError(f"{letter} (={text}) does not exist: name a folder with runs, or a ledger.")
    except OSError as problem:
        raise UserError(f"{letter} (={text}) cannot be read ({problem.strerror}).") from None
    return path


def read_sides(
    a: str, b: str, *, seen_from: Path | None = None, environment: Mapping[str, str] = os.environ
) -> tuple[Side, Side]:
    """Return both sides; arguments and errors as of `ledgers`.

    Raises:
        UserError: Also for a ledger of another schema, for a file that is no ledger, and for one without runs.
    """
    paths = ledgers(a, b, seen_from=seen_from, environment=environment)
    names = [_name(path) for path in paths]
    if names[0] == names[1]:
        names = list(VARIABLES)
    both = zip(VARIABLES, (a, b), paths, names, strict=True)
    sides = [_read(letter, text, path, name) for letter, text, path, name in both]
    return sides[0], sides[1]


def _name(path: Path) -> str:
    """A ledger under its usual name goes by its folder's."""
    real = path.absolute() if path.name != NAME else path.resolve().parent
    return (real.stem if path.name != NAME else real.name) or NAME


def _read(letter: str, text: str, path: Path, name: str) -> Side:
    runs: list[Run] = []
    doubts: list[str] = []
    try:
        for number, found in parsed(path):
            if isinstance(found, OtherSchema):
                raise UserError(
                    f"{letter} (={text}) has schema {found.schema!r} in line {number}, and this Trainspeed reads "
                    f"schema {SCHEMA}: its fields may mean something else. Compare it with the version that wrote it."
                )
            if isinstance(found, Run):
                runs.append(found)
            else:
                doubts.append(
                    f"Line {number} of {letter} is cut off, damaged or of another version, and was left out "
                    f"({type(found).__name__})."
                )
    except OSError as problem:
        raise UserError(f"{letter} (={text}) cannot be read ({problem.strerror}).") from None
    if runs:
        return Side(letter=letter, name=name, runs=tuple(runs), doubts=tuple(doubts))
    if doubts:
        raise UserError(
            f"{letter} (={text}) is not a ledger: none of its {len(doubts)} lines is a run. Name a folder with runs."
        )
    raise UserError(f"{letter} (={text}) holds no runs: measure with `make report` first.")
