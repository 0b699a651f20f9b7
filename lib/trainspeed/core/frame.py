"""Runs as a tidy table, one row per run. Needs no framework and no GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any

import pandas as pd

from trainspeed.core.effective import layouts_text, precision_text
from trainspeed.core.run import Run

ARTICLE_EPOCHS = 100  # the articles trained so long; with fewer epochs the training time is projected


def training_s(run: Run) -> float | None:
    """Return the projected seconds of a training as long as the articles'; None without a median."""
    median = run.median_epoch_s
    return None if median is None else run.first_epoch_s + (ARTICLE_EPOCHS - 1) * median


# Columns beside those of the trial -> what they hold of a run.
RUN_COLUMNS: Mapping[str, Callable[[Run], Any]] = {
    "session": attrgetter("session"),
    "study": attrgetter("study"),
    "label": attrgetter("label"),
    "block": attrgetter("block"),
    "status": lambda run: str(run.status),
    "reason": attrgetter("reason"),
    "first_epoch_s": attrgetter("first_epoch_s"),
    "median_epoch_s": attrgetter("median_epoch_s"),
    "training_s": training_s,
    "images_per_s": attrgetter("images_per_s"),
    "images_consumed": attrgetter("images_per_epoch"),
    "test_accuracy": attrgetter("test_accuracy"),
    "peak_memory_bytes": attrgetter("peak_memory_bytes"),
    "effective_layout": lambda run: layouts_text(run.effective_layout),
    "effective_precision": lambda run: precision_text(run.effective_precision),
    "energy_j": attrgetter("energy_j"),
    "timed_s": attrgetter("timed_s"),
    "median_call_s": attrgetter("median_call_s"),
    "median_resident_s": attrgetter("median_resident_s"),
    "placement": attrgetter("placement"),
    "start_s": lambda run: run.stages_s.get("start"),
    "notes": lambda run: " ".join(note.kind for note in run.notes),
    "started_at": attrgetter("started_at"),
    "monitor": attrgetter("monitor"),
}


def to_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return one row per run: the trial's fields, the run's own, and what is derived from them.

    Derived columns: first_epoch_s, median_epoch_s (of epochs 2…), images_per_s, and training_s: the
    first epoch plus 99 medians, a projection of the articles' 100 epochs. Missing values are None/NaN.
    The trial's `seed` is the block's own, so it differs from block to block.
    """
    return pd.DataFrame([row_of(run) for run in runs])


def row_of(run: Run) -> dict[str, Any]:
    """Return a run's row."""
    row = run.trial.as_dict()
    row["compile"] = bool(row.get("compile"))
    return row | {name: value(run) for name, value in RUN_COLUMNS.items()}
