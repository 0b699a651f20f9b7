"""The sides of a comparison: which ledgers a user means, what they are called, their runs and their prices.

Reads ledgers and writes none; does not know what is compared.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainspeed.conduct.context import in_notebook
from trainspeed.core.errors import UserError
from trainspeed.core.format import counted
from trainspeed.core.guard import arm
from trainspeed.core.ledger import RUNS_FILE, parsed, read_lines, shortened
from trainspeed.core.ledger_line import OtherSchema, what_is_wrong
from trainspeed.core.markdown import visible
from trainspeed.core.paths import ROOT
from trainspeed.core.run import SCHEMA, Run
from trainspeed.judge.cost import check_price

# Names a file with the ledgers' paths as a JSON list, so that no path of a machine gets into a notebook.
PATHS_VARIABLE = "TRAINSPEED_COMPARE"
FEWEST = 2
USAGE_OF_ONE = 'make history RUNS="outputs"'
USAGE = 'make compare RUNS="outputs/old data/measured/xyz"'
IN_CELL = 'runs: list = ["outputs/old", "data/measured/xyz"]'


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: What it is called on the page, never a path: the last part of its folder's name, with a number where
            several sides have the same name.
        path: Its ledger.
        usd_per_hour: Price of an hour of one of its machines, in US dollars; None where it is not known.
        doubts: About lines that were left out.
    """

    name: str
    path: Path
    runs: tuple[Run, ...]
    usd_per_hour: float | None = None
    doubts: tuple[str, ...] = ()


def read_sides(
    runs: Sequence[str],
    usd_per_hour: Sequence[float | None] = (),
    *,
    fewest: int = FEWEST,
    seen_from: Path = ROOT,
    environment: Mapping[str, str] = os.environ,
) -> tuple[Side, ...]:
    """Return the sides in the order given; the first is what the others are compared with.

    Args:
        runs: A folder, or the ledger itself, for each side.
        usd_per_hour: A price for each side, None where it is not known; none at all where no price is.
        fewest: One for the sessions of a single ledger.
        seen_from: Folder that relative paths start in; for a notebook, the project's.
        environment: The PATHS_VARIABLE in it takes precedence over `runs`.
    Raises:
        UserError: There are fewer; one is missing, is no ledger, is of another schema or has no runs; two are
            the same; or the prices are none.
    """
    _check_count(runs, fewest)
    prices = check_prices(runs, usd_per_hour)
    paths = [_ledger(text, seen_from) for text in _given(runs, environment)]
    _check_different(runs, paths)
    names = distinct_names([_name(path) for path in paths])
    parts: dict[Any, Any] = {}
    sides = tuple(
        _read(text, path, name, price, parts)
        for text, path, name, price in zip(runs, paths, names, prices, strict=True)
    )
    arm()
    return sides


def check_prices(runs: Sequence[str], usd_per_hour: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return a price for each side, None where it is not known.

    Raises:
        UserError: There is not one for each side, or one is not a positive number.
    """
    if not usd_per_hour:
        return (None,) * len(runs)
    if len(usd_per_hour) != len(runs):
        raise UserError(
            f"USD has {counted(len(usd_per_hour), 'price')} for {counted(len(runs), 'ledger')}: give one for each, "
            "in their order, and - where it is not known."
        )
    for text, price in zip(runs, usd_per_hour, strict=True):
        check_price(price, f"the price of {text}", unknown="write - where it is not known")
    return tuple(usd_per_hour)


def distinct_names(names: Sequence[str]) -> list[str]:
    """Return the names, with a number after each that others have too, in their order."""
    counts, taken, numbers = Counter(names), set(names), Counter[str]()
    told = []
    for name in names:
        own = name
        while counts[name] > 1 and own in taken:
            numbers[name] += 1
            own = f"{name} ({numbers[name]})"
        taken.add(own)
        told.append(own)
    return told


def _check_count(runs: Sequence[str], fewest: int) -> None:
    for place, text in enumerate(runs, 1):
        if not text.strip():
            raise UserError(
                f"ledger {place} of {len(runs)} is missing: name a folder with runs, as in `{USAGE}`."
            )
    if len(runs) < fewest:
        usage = f"`{USAGE if fewest == FEWEST else USAGE_OF_ONE}`"
        named = "RUNS"
        if in_notebook():  # a reader's: a command has checked what its notebook is given
            named, usage = "runs", f"`{IN_CELL}` in the parameters cell"
        given = f"{named} (={runs[0]}) names one ledger" if runs else f"{named} names no ledger"
        wanted = "two or more folders" if fewest == FEWEST else "one folder or more"
        raise UserError(f"{given}: name {wanted} with runs, as in {usage}.")


def _given(runs: Sequence[str], environment: Mapping[str, str]) -> Sequence[str]:
    if not (listed := environment.get(PATHS_VARIABLE)):
        return runs
    return json.loads(Path(listed).read_text(encoding="utf-8"))


def _check_different(runs: Sequence[str], paths: Sequence[Path]) -> None:
    seen: dict[tuple[int, int], str] = {}
    for text, path in zip(runs, paths, strict=True):
        status = path.stat()
        if other := seen.get(key := (status.st_dev, status.st_ino)):
            raise UserError(f"{other} and {text} are the same ledger: name each once, as in `{USAGE}`.")
        seen[key] = text


def _ledger(text: str, seen_from: Path) -> Path:
    path = seen_from / Path(text).expanduser()
    try:
        if not path.exists():
            raise UserError(f"{text} does not exist: name a folder with runs, or a ledger.")
        if path.is_dir() and not (path / RUNS_FILE).is_file():
            raise UserError(
                f"{text} is a folder without a ledger: there is no {RUNS_FILE} in it. Name one that `make report` "
                "wrote to."
            )
        return path / RUNS_FILE if path.is_dir() else path
    except OSError as problem:
        raise UserError(f"{text} cannot be read ({problem.strerror}).") from None


def _name(path: Path) -> str:
    """Return the name of a ledger's folder where the ledger has the usual name, else its own."""
    own = path.resolve().parent.name if path.name == RUNS_FILE else path.stem
    return visible(own) or RUNS_FILE


def _read(text: str, path: Path, name: str, price: float | None, parts: dict[Any, Any]) -> Side:
    runs: list[Run] = []
    doubts: list[str] = []
    try:
        for number, line in parsed(read_lines(path), parts):
            if isinstance(line, OtherSchema):
                raise UserError(
                    f"{text} has schema {line.schema!r} in line {number}, and this Trainspeed reads schema {SCHEMA} "
                    "and before: its fields may mean something else. Compare it with the version that wrote it."
                )
            if isinstance(line, Run):
                runs.append(line)
            else:
                doubts.append(
                    f"Line {number} of {name} is cut off, damaged or of another version, and was left out "
                    f"({what_is_wrong(line)})."
                )
    except OSError as problem:
        raise UserError(f"{text} cannot be read ({problem.strerror}).") from None
    if runs:
        return Side(name=name, path=path, runs=tuple(runs), usd_per_hour=price, doubts=shortened(doubts))
    if doubts:
        raise UserError(
            f"{text} is not a ledger: none of its {len(doubts)} lines is a run. Name a folder with runs."
        )
    raise UserError(f"{text} holds no runs: measure with `make report` first.")
