"""The two sides of a comparison: which ledgers a user means, their runs, and what those were measured with.

Reads two files and writes none; does not know what is compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.core.format import DEFAULT_PRECISION, NAMES
from trainspeed.core.guard import arm
from trainspeed.core.ledger import RUNS_FILE, parsed, read_lines, shortened
from trainspeed.core.ledger_line import OtherSchema, what_is_wrong
from trainspeed.core.machine_text import machine_name, machine_parts
from trainspeed.core.paths import ROOT
from trainspeed.core.result import tf32_text
from trainspeed.core.run import SCHEMA, Run

# Where the command line says which ledgers are meant, so that no path of a machine gets into a notebook.
LEDGER_VARIABLES = {"A": "TRAINSPEED_COMPARE_A", "B": "TRAINSPEED_COMPARE_B"}
NOT_KNOWN = "none or not known"
DATE_LETTERS = 10  # of an ISO 8601 time: 2026-11-20
DATE = "measured on"  # two sets always differ in it, so it is shown without a warning
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
        environment: The LEDGER_VARIABLES in it take precedence over `a` and `b`.
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
    given = environment.get(LEDGER_VARIABLES[letter]) or text
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
                    f"({what_is_wrong(line)})."
                )
    except OSError as problem:
        raise UserError(f"{letter} (={text}) cannot be read ({problem.strerror}).") from None
    if runs:
        return Side(letter=letter, path=path, name=name, runs=tuple(runs), doubts=shortened(doubts))
    if doubts:
        raise UserError(
            f"{letter} (={text}) is not a ledger: none of its {len(doubts)} lines is a run. Name a folder with runs."
        )
    raise UserError(f"{letter} (={text}) holds no runs: measure with `make report` first.")


def facts(runs: Iterable[Run]) -> dict[str, str]:
    """Return name -> value of what the runs were measured with; several values where it changed meanwhile."""
    runs = list(runs)
    seen = [(DATE, (run.started_at or "")[:DATE_LETTERS]) for run in runs]
    seen += [part for run in runs for part in machine_parts(run.machine).items()]
    for run in runs:
        framework = NAMES.get(run.trial.framework, run.trial.framework)
        seen += [(f"{framework}: {package}", version) for package, version in run.versions.items()]
        if run.tf32 is not None and getattr(run.trial, "precision", None) == DEFAULT_PRECISION:
            seen.append((f"{framework}: default precision", f"32 bits, {tf32_text(run.tf32)}"))
    seen += [("seed", str(run.trial.seed - run.block)) for run in runs]
    seen += [("data set", run.trial.dataset) for run in runs if run.trial.dataset]
    values: dict[str, dict[str, None]] = {}
    for name, value in seen:
        values.setdefault(name, {})[value or NOT_KNOWN] = None
    return {name: "; ".join(own) for name, own in values.items()}


def difference_sentences(a_runs: Sequence[Run], b_runs: Sequence[Run]) -> list[str]:
    """Return a sentence for each fact in which the two sides differ.

    A fact that only one side knows, such as the version of a framework's package, counts as different. Where
    several facts differ, the last sentence says how little can be concluded.
    """
    differing = [row for row in fact_rows(a_runs, b_runs) if row[""]]
    sentences = [f"{row['what']}: {row['A']} in A, {row['B']} in B." for row in differing]
    if shared := {run.session for run in a_runs} & {run.session for run in b_runs}:
        sentences.append(f"Both sides hold session {min(shared)}: these are the same runs twice.")
    if (count := len(differing)) > 1:
        sentences.append(
            f"{count} things differ at once, so a difference in time cannot be ascribed to one of them."
        )
    return sentences


def fact_rows(a_runs: Sequence[Run], b_runs: Sequence[Run]) -> list[dict[str, str]]:
    """Return a row per fact that a side knows: its name, its values in A and in B, and whether they differ."""
    a, b = facts(a_runs), facts(b_runs)
    rows = []
    for name in dict.fromkeys([*a, *b]):
        of_a, of_b = a.get(name, NOT_KNOWN), b.get(name, NOT_KNOWN)
        if {of_a, of_b} != {NOT_KNOWN}:
            alike = name == DATE or of_a == of_b
            rows.append({"what": name, "A": of_a, "B": of_b, "": "" if alike else "differs"})
    return rows


def side_sentence(side: Side, runs: Sequence[Run]) -> str:
    """Return what a side is called, which machine measured these of its runs, and when."""
    machines = dict.fromkeys(machine_name(run.machine) for run in runs if run.machine)
    days = dict.fromkeys(run.started_at[:DATE_LETTERS] for run in runs if run.started_at)
    parts = ["; ".join(machines) or "a machine that is not known", "; ".join(days)]
    return f"{side.letter} is {side.name}: {', '.join(filter(None, parts))}."
