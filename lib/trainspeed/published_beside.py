"""The articles' ratios on several GPUs beside this machine's, as tidy frames. Measures and decides nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd

from trainspeed.comparison import Verdict
from trainspeed.published import AS_PUBLISHED, FOLDER
from trainspeed.published_scaling import (
    ARRAYS,
    ARTICLE_PX,
    ARTICLE_WORKERS,
    THREADS,
    pipeline_ratios,
    published_speedups,
)
from trainspeed.run import Run, Status
from trainspeed.schedule import CONTROL
from trainspeed.trial import Trial

HERE = "this machine"
ARM = ["devices", "pipeline", "workers", "batch_size"]  # what tells the input pipelines' trials apart


def speedups_beside(verdicts: Iterable[Verdict], folder: Path = FOLDER) -> pd.DataFrame:
    """Return PyTorch's speed-up of 2 devices over 1 at the same global batch: the article's and ours.

    Columns: series, kind ("published" or "measured"), model, batch_size, speedup, low, high, blocks.
    """
    theirs = published_speedups(folder)
    series = theirs["gpu"] + ", " + theirs["year"].astype(str) + " (article " + theirs["source"] + ")"
    theirs = theirs.assign(series=series, kind="published", low=None, high=None, blocks=1)
    ours = [
        {
            "series": _series(verdict.candidate, verdict.candidate.strategy),
            "kind": "measured",
            "model": verdict.baseline.model,
            "batch_size": verdict.baseline.batch_size,
            "speedup": verdict.speedup,
            "low": verdict.low,
            "high": verdict.high,
            "blocks": verdict.blocks,
        }
        for verdict in verdicts
        if _as_in_article_001(verdict)
    ]
    columns = ["series", "kind", "model", "batch_size", "speedup", "low", "high", "blocks"]
    rows = theirs[columns].to_dict("records") + ours
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def _as_in_article_001(verdict: Verdict) -> bool:
    one, two = verdict.baseline, verdict.candidate
    return (
        (verdict.quantity, verdict.factor, one.devices, two.devices) == ("time", "devices", 1, 2)
        and (one.framework, one.layout, one.pipeline) == ("torch", "channels_first", ARRAYS)
        and (one.precision, one.compile) == AS_PUBLISHED
        and (one.batch_size, one.part) == (two.batch_size, "both")
    )


def _series(trial: Trial, *more: str) -> str:
    """Return what our rows are called; images of another size than the article's are named."""
    px = [] if trial.image_size == ARTICLE_PX else [f"{trial.image_size} px images"]
    return ", ".join([HERE, *more, *px])


def pipelines_beside(runs: Iterable[Run], folder: Path = FOLDER) -> pd.DataFrame:
    """Return epoch times relative to one device that threads feed: the article's and ours (TensorFlow).

    Ours are medians over blocks; there are none where one device with threads was not measured. Of
    several such arms the one with the most blocks is the first, and of these the one nearest to the
    article's 4 threads.

    Columns: series, kind, devices, pipeline, workers, batch_size, ms_per_step, accuracy, blocks,
    relative_time, low, high, accuracy_points.
    """
    theirs = pipeline_ratios(folder)
    per_sample = theirs["us_per_sample"] * theirs["batch_size"] / 1000
    theirs = theirs.assign(
        series=theirs["instance"] + " (article " + theirs["source"] + ")",
        kind="published",
        ms_per_step=theirs["ms_per_step"].fillna(per_sample),
        accuracy=theirs["val_accuracy"],
        blocks=1,
    )
    usable = [run for run in runs if run.status == Status.OK and run.label in ("", CONTROL)]
    by_size: dict[int, list[Run]] = {}
    for run in filter(_as_in_article_002, usable):
        by_size.setdefault(run.trial.image_size, []).append(run)
    columns = ["series", "kind", *ARM, "ms_per_step", "accuracy", "blocks"]
    columns += ["relative_time", "low", "high", "accuracy_points"]
    rows = theirs[columns].to_dict("records")
    for _, alike in sorted(by_size.items()):
        ours = _measured_pipelines(alike).assign(kind="measured", low=None, high=None)
        rows += ours[columns].to_dict("records")
    return pd.DataFrame(rows, columns=columns).astype({"low": float, "high": float})


def _measured_pipelines(runs: Sequence[Run]) -> pd.DataFrame:
    """Return a row per arm of runs with images of one size."""
    rows = [
        {
            **{name: getattr(run.trial, name) for name in ARM},
            "epoch_s": run.median_epoch_s,
            "ms_per_step": 1000 * run.step_s,
            "accuracy": run.test_accuracy,
        }
        for run in runs
    ]
    data = pd.DataFrame(rows).astype({"epoch_s": float, "ms_per_step": float, "accuracy": float})
    data = data.groupby(ARM, as_index=False).agg(
        epoch_s=("epoch_s", "median"),
        ms_per_step=("ms_per_step", "median"),
        accuracy=("accuracy", "median"),
        blocks=("epoch_s", "size"),
    )
    first = data[(data["devices"] == 1) & (data["pipeline"] == THREADS)]
    first = first.assign(off=(first["workers"] - ARTICLE_WORKERS[THREADS]).abs())
    first = first.sort_values(["blocks", "off"], ascending=[False, True], kind="stable").head(1)
    data = data if len(first) else data.iloc[:0]
    return data.assign(
        series=_series(runs[0].trial),
        relative_time=data["epoch_s"] / first["epoch_s"].max(),
        accuracy_points=100 * (data["accuracy"] - first["accuracy"].max()),
    )


def _as_in_article_002(run: Run) -> bool:
    trial = run.trial
    return (
        (trial.framework, trial.model, trial.layout) == ("tensorflow", "cnn_keras", "channels_last")
        and (trial.precision, trial.compile) == AS_PUBLISHED
        and trial.part == "both"
    )
