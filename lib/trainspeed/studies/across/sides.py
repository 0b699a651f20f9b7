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
from trainspeed.core.ledger import RUNS_FILE, OtherSchema, parsed, read_lines
from trainspeed.core.paths import ROOT
from trainspeed.core.run import SCHEMA, Run

# Where the command line says which ledgers are meant, so that no path of a machine gets into a notebook.
VARIABLES = {"A": "TRAINSPEED_COMPARE_A", "B": "TRAINSPEED_COMPARE_B"}
USAGE = "make compare A=outputs/old B=data/measured/xyz"


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison.

    Attributes:
        letter: "A" or "B".
        path: Its ledger.
        name: What it is called on the page, never a path: the last part of its folder's name, or its letter where
            both sides have the same name.
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
    """Return both sides, each given as a folder or as the ledger itself.

    Args:
        seen_from: Folder that relative paths start in; for a notebook, the project's.
        environment: The VARIABLES in it take precedence over `a` and `b`.
    Raises:
        UserError: One is missing, is no ledger, is of another schema or has no runs; or both are the same.
    """
    given = {"A": a, "B": b}
    paths = {letter: _ledger(letter, text, seen_from, environment) for letter, text in given.items()}
    if paths["A"].samefile(paths["B"]):
        raise UserError(f"A (={a}) and B (={b}) are the same ledger: name two, as in `{USAGE}`.")
    names = {letter: _name(path) for letter, path in paths.items()}
    if names["A"] == names["B"]:
        names = {letter: letter for letter in names}
    side_a, side_b = (_read(letter, text, paths[letter], names[letter]) for letter, text in given.items())
    arm()
    return side_a, side_b


def _ledger(letter: str, text: str, seen_from: Path, environment: Mapping[str, str]) -> Path:
    given = environment.get(VARIABLES[letter]) or text
    if not given.strip():
        raise UserError(f"{letter} is missing: name a folder with runs, or a ledger: `{USAGE}`.")
    path = seen_from / Path(given).expanduser()
    try:
        if not path.exists():
            raise UserError(f"{letter} (={text}) does not exist: name a folder with runs, or a ledger.")
        if path.is_dir() and not (path / RUNS_FILE).is_file():
            raise UserError(
                f"{letter} (={text}) is a folder without a ledger: there is no {RUNS_FILE} in it. Name one that "
                "`make report` wrote to."
            )
        return path / RUNS_FILE if path.is_dir() else path
    except OSError as problem:
        raise UserError(f"{letter} (={text}) cannot be read ({problem.strerror}).") from None


def _name(path: Path) -> str:
    """Return the name of a ledger's folder where the ledger has the usual name, else its own."""
    return path.resolve().parent.name or RUNS_FILE if path.name == RUNS_FILE else path.stem


def _read(letter: str, text: str, path: Path, name: str) -> Side:
    runs: list[Run] = []
    doubts: list[str] = []
    try:
        for number, line in parsed(read_lines(path)):
            if isinstance(line, OtherSchema):
                raise UserError(
                    f"{letter} (={text}) has schema {line.schema!r} in line {number}, and this Trainspeed reads "
                    f"schema {SCHEMA} and before: its fields may mean something else. Compare it with the version "
                    "that wrote it."
                )
            if isinstance(line, Run):
                runs.append(line)
            else:
                doubts.append(
                    f"Line {number} of {letter} is cut off, damaged or of another version, and was left out "
                    f"({type(line).__name__})."
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
