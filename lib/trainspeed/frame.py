"""Runs as a tidy table, one row per run. Needs no framework and no GPU."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from trainspeed.files import write_atomically
from trainspeed.run import Run

ARTICLE_EPOCHS = 100  # the articles trained so long; with fewer epochs the training time is projected


def to_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return one row per run: the trial's fields, the run's own, and what is derived from them.

    Derived columns: first_epoch_s, median_epoch_s (of epochs 2…), images_per_s, and training_s: the
    first epoch plus 99 medians, a projection of the articles' 100 epochs. Missing values are None/NaN.
    The trial's `seed` is the block's own, so it differs from block to block.
    """
    rows = []
    for run in runs:
        first, median = run.first_epoch_s, run.median_epoch_s
        row = run.trial.as_dict() | {
            "session": run.session,
            "study": run.study,
            "label": run.label,
            "block": run.block,
            "status": str(run.status),
            "reason": run.reason,
            "first_epoch_s": first,
            "median_epoch_s": median,
            "training_s": None if median is None else first + (ARTICLE_EPOCHS - 1) * median,
            "images_per_s": run.images_per_s,
            "images_consumed": run.images_per_epoch,
            "test_accuracy": run.test_accuracy,
            "peak_memory_bytes": run.peak_memory_bytes,
            "effective_layout": run.effective_layout,
            "effective_precision": run.effective_precision,
            "energy_j": run.energy_j,
            "timed_s": run.timed_s,
            "median_call_s": run.median_call_s,
            "median_resident_s": run.median_resident_s,
            "placement": run.placement,
            "start_s": run.stages_s.get("start"),
            "notes": " ".join(run.notes),
            "started_at": run.started_at,
            "monitor": run.monitor,
        }
        row["compile"] = bool(row.get("compile"))
        rows.append(row)
    return pd.DataFrame(rows)


def write_csv(runs: Iterable[Run], path: Path) -> None:
    """Write the tidy table beside the ledger, replacing the old one in one step."""
    write_atomically(path, to_frame(runs).to_csv(index=False))
