"""The ledger as a tidy table for other programs, `runs.csv`: a row is added as each run ends."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.files import append_text, write_atomically
from trainspeed.core.frame import RUN_COLUMNS, row_of
from trainspeed.core.run import Run
from trainspeed.core.trial import Trial

NAME = "runs.csv"
# The same for every study, so that rows of any can be added; a trial lacks the columns of the other kind.
TRIAL_COLUMNS = dict.fromkeys(field.name for kind in (Trial, Conv2dTrial) for field in fields(kind))
COLUMNS = (*TRIAL_COLUMNS, *RUN_COLUMNS)


def append_csv(run: Run, path: Path) -> None:
    """Add a run to a table that `is_current`."""
    append_text(path, _lines([row_of(run)]).removesuffix("\n"))


def is_current(path: Path) -> bool:
    """Whether there is a table, with the columns of this version."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return next(csv.reader(file), None) == list(COLUMNS)
    except FileNotFoundError:
        return False


def write_csv(runs: Iterable[Run], path: Path) -> None:
    """Write the table of all runs, replacing an old one in one step."""
    header = dict(zip(COLUMNS, COLUMNS, strict=True))
    write_atomically(path, _lines([header, *map(row_of, runs)]))


def _lines(rows: Iterable[dict]) -> str:
    text = io.StringIO()
    csv.DictWriter(text, COLUMNS, lineterminator="\n").writerows(rows)
    return text.getvalue()
