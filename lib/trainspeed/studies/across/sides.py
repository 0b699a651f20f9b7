"""The two sides of a comparison: which ledger a user means, and the runs in it.

Reads two files and writes none; does not know what is compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.core.guard import arm
from trainspeed.core.ledger import NAME, OtherSchema, parsed, read_lines
from trainspeed.core.paths import ROOT
from trainspeed.core.run import SCHEMA, Run

# Where the command line says which ledgers are meant, so that no path of a machine gets into a notebook.
VARIABLES = {"A": "TRAINSPEED_COMPARE_A", "B": "TRAINSPEED_COMPARE_B"}
USAGE = "make compare A=outputs/old B=data/measured/xyz"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side: its letter, its ledger, the name it is shown by, and its runs.

    Attributes:
        name: The last name of its folder, or its letter where both sides' are equal; no path.
        doubts: About lines that were left out.
    """

    letter: str
    path: Path
    name: str
    runs: tuple[Run, ...]
    doubts: tuple[str, ...] = ()


def read_sides(
    a: str, b: str, *, seen_from: Path = ROOT, environment: Mapping[str, str] = os.environ
) -> tuple[Side, Side]:
    """Return both sides, each meant by a folder or by the ledger itself.

    Args:
        seen_from: Folder that relative paths start in; the project's, where a notebook says them.
        environment: May hold VARIABLES, which are then meant instead.
    Raises:
        UserError: One is missing, is no ledger, is of another schema or has no runs; or both are the same.
    """
    said = {"A": a, "B": b}
    paths = {letter: _ledger(letter, said[letter], seen_from, environment) for letter in said}
    if paths["A"].samefile(paths["B"]):
        raise UserError(f"A (={a}) and B (={b}) are the same ledger: name two, as in `{USAGE}`.")
    names = {letter: _name(path) for letter, path in paths.items()}
    if names["A"] == names["B"]:
        names = {letter: letter for letter in names}
    one, other = (_read(letter, said[letter], paths[letter], names[letter]) for letter in said)
    arm()
    return one, other


def _ledger(letter: str, text: str, seen_from: Path, environment: Mapping[str, str]) -> Path:
    meant = environment.get(VARIABLES[letter]) or text
    if not meant.strip():
        raise UserError(f"{letter} is missing: name a folder with runs, or a ledger: `{USAGE}`.")
    path = seen_from / Path(meant).expanduser()
    try:
        if path.is_dir() and not (path / NAME).is_file():
            raise UserError(
                f"{letter} (={text}) is a folder without a ledger: there is no {NAME} in it. Name one that "
                "`make report` wrote to."
            )
        if not path.exists():
            raise UserError(f"{letter} (={text}) does not exist: name a folder with runs, or a ledger.")
        return path / NAME if path.is_dir() else path
    except OSError as problem:
        raise UserError(f"{letter} (={text}) cannot be read ({problem.strerror}).") from None


def _name(path: Path) -> str:
    """A ledger under its usual name goes by its folder's."""
    real = path.absolute() if path.name != NAME else path.resolve().parent
    return (real.stem if path.name != NAME else real.name) or NAME


def _read(letter: str, text: str, path: Path, name: str) -> Side:
    runs: list[Run] = []
    doubts: list[str] = []
    try:
        for number, found in parsed(read_lines(path)):
            if isinstance(found, OtherSchema):
                raise UserError(
                    f"{letter} (={text}) has schema {found.schema!r} in line {number}, and this Trainspeed reads "
                    f"schema {SCHEMA} and before: its fields may mean something else. Compare it with the version "
                    "that wrote it."
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
        return Side(letter=letter, path=path, name=name, runs=tuple(runs), doubts=tuple(doubts))
    if doubts:
        raise UserError(
            f"{letter} (={text}) is not a ledger: none of its {len(doubts)} lines is a run. Name a folder with runs."
        )
    raise UserError(f"{letter} (={text}) holds no runs: measure with `make report` first.")
