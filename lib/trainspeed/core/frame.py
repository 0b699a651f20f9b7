"""Runs as a tidy table, one row per run, and as `runs.csv` for other programs. Needs no framework and no GPU."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from statistics import median
from typing import Any

import pandas as pd

from trainspeed.core.convolution import AnyTrial, Conv2dTrial
from trainspeed.core.files import append_text, write_atomically
from trainspeed.core.probe import Probe
from trainspeed.core.result import layouts_text, precision_text
from trainspeed.core.run import Run
from trainspeed.core.trial import Trial

RUNS_CSV = "runs.csv"
ARTICLE_EPOCHS = 100  # the articles trained so long; with fewer epochs the training time is projected


def _training_s(run: Run, first_s: float | None = None) -> float | None:
    """Return the projected seconds of a training as long as the articles'; None without a median.

    Args:
        first_s: Of a first epoch, where that of the run was not alone.
    """
    median_s, first_s = run.median_epoch_s, first_s if run.first_epoch_s is None else run.first_epoch_s
    return None if None in (median_s, first_s) else first_s + (ARTICLE_EPOCHS - 1) * median_s


# Columns in addition to those of the trial: training_s, those in `DERIVED_COLUMNS`, and attributes of the run.
RUN_COLUMNS = (
    *("session", "study", "label", "block", "status", "reason"),
    *("first_epoch_s", "median_epoch_s", "training_s", "images_per_s", "images_consumed"),
    *("test_accuracy", "chance", "peak_memory_bytes", "effective_layout", "effective_precision", "energy_j"),
    *("timed_s", "epoch_energy_j", "median_call_s", "median_resident_s", "placement", "start_s"),
    *("notes", "started_at", "monitor", "node", "epochs_trained"),
)
DERIVED_COLUMNS: Mapping[str, Callable[[Run], Any]] = {
    "status": lambda run: str(run.status),
    "chance": lambda run: None if run.test_accuracy is None else run.chance,
    "epochs_trained": lambda run: len(run.epoch_s) or None,
    "images_consumed": lambda run: run.images_per_epoch,
    "effective_layout": lambda run: layouts_text(run.effective_layout),
    "effective_precision": lambda run: precision_text(run.effective_precision, run.tf32),
    "start_s": lambda run: run.stages_s.get("start"),
    "notes": lambda run: " ".join(note.kind for note in run.notes),
}
# The columns of the CSV are the same for every study, so that rows of any can be added; a trial leaves those of the
# other kind empty.
CSV_COLUMNS = (
    *dict.fromkeys(field.name for kind in (Trial, Conv2dTrial, Probe) for field in fields(kind)),
    *RUN_COLUMNS,
)


def to_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return one row per run: the trial's fields, the run's own, and what is derived from them.

    Derived columns: first_epoch_s, median_epoch_s (of `Run.later_epoch_s`), images_per_s, epochs_trained (in turns more
    than the trial's `epochs`), and training_s: the first epoch plus 99 medians, a projection of the articles' 100
    epochs; of a run that was not built alone with the first epoch of those that were. Missing values are None/NaN.
    The trial's `seed` is the block's own, so it differs from block to block.
    """
    runs = tuple(runs)
    first_s = first_epochs_s(runs)
    return pd.DataFrame([_row(run, first_s.get(run.trial.spec)) for run in runs])


def first_epochs_s(runs: Iterable[Run]) -> dict[AnyTrial, float]:
    """Return trial -> median seconds of the first epochs of those of its runs that were built alone."""
    seconds = defaultdict(list)
    for run in runs:
        if run.first_epoch_s is not None:
            seconds[run.trial.spec].append(run.first_epoch_s)
    return {trial: median(known) for trial, known in seconds.items()}


def _row(run: Run, first_s: float | None = None) -> dict[str, Any]:
    row = run.trial.as_dict()
    row["compile"] = bool(row.get("compile"))
    row["levers"] = " ".join(f"{name}={value}" for name, value in row.get("levers", ()))
    derived = {name: value(run) for name, value in DERIVED_COLUMNS.items()}
    derived["training_s"] = _training_s(run, first_s)
    return row | {name: derived[name] if name in derived else getattr(run, name) for name in RUN_COLUMNS}


def _written(run: Run) -> dict[str, Any]:
    """Return the row of the CSV: what the trial does not have is empty, while a frame's column has one type."""
    row = _row(run)
    return row if hasattr(run.trial, "compile") else row | {"compile": None}


def append_csv(run: Run, path: Path) -> None:
    """Add a run to a table that `is_current`; where it was not built alone, without first_epoch_s and training_s."""
    append_text(path, _csv([_written(run)]).removesuffix("\n"))


def is_current(path: Path) -> bool:
    """Whether there is a table with the columns of this version."""
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            return next(csv.reader(file), None) == list(CSV_COLUMNS)
    except FileNotFoundError:
        return False


def write_csv(runs: Iterable[Run], path: Path) -> None:
    """Write the table of all runs as `append_csv` does, replacing an old one in one step."""
    header = dict(zip(CSV_COLUMNS, CSV_COLUMNS, strict=True))
    write_atomically(path, _csv([header, *map(_written, runs)]))


def _csv(rows: Iterable[dict[str, Any]]) -> str:
    text = io.StringIO()
    csv.DictWriter(text, CSV_COLUMNS, lineterminator="\n").writerows(rows)
    return text.getvalue()
