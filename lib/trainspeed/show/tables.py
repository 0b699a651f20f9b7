"""The report's tables: a tidy frame in, a pandas Styler out.

Every number is derived from what it is given; a failure is a row with its reason. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.factors import TRAINING
from trainspeed.core.format import clock, digits, fixed, interval, or_nothing
from trainspeed.core.frame import ARTICLE_EPOCHS
from trainspeed.core.phase import PHASES
from trainspeed.core.run import DATA_ROLES
from trainspeed.show.cells import failures, styled
from trainspeed.show.machine_tables import layer_table, machine_table
from trainspeed.show.rows import (
    ARM_COLUMNS,
    accuracy_context,
    data_rows,
    factor_text,
    memory_unit,
    require,
    succeeded,
    varying,
    verdict_frame,
)
from trainspeed.show.theme import framework_name, status_name

__all__ = [
    "failures_table",
    "largest_batch_table",
    "layer_table",
    "layout_effect_table",
    "machine_table",
    "results_table",
    "verdict_table",
]


def results_table(frame: pd.DataFrame, *, caption: str = "Medians over the blocks") -> Styler:
    """Return the articles' table: a row per framework, model, layout and batch size, medians over blocks.

    A failed arm keeps its row, with status and reason. Factors that vary beside these get a column.
    The training time (h:mm:ss) is a projection where fewer than 100 epochs ran; its header says so.
    """
    measured = ("first_epoch_s", "median_epoch_s", "training_s", "test_accuracy", "images_per_s")
    require(frame, (*ARM_COLUMNS, "label", "status", "reason", "epochs", *measured, "peak_memory_bytes"))
    data = data_rows(frame)
    projected = (data["epochs"] < ARTICLE_EPOCHS).any()
    training_time = f"{ARTICLE_EPOCHS} epochs, projected" if projected else "training time"
    divisor, unit = memory_unit(data["peak_memory_bytes"].astype(float))
    rows = []
    for names, runs in _arms(data):
        good = runs[succeeded(runs)]
        middle = good[[*measured, "peak_memory_bytes"]].astype(float).median()
        rows.append(
            names
            | {
                "first epoch s": digits(middle["first_epoch_s"]),
                "median of 2… s": digits(middle["median_epoch_s"]),
                training_time: clock(middle["training_s"]),
                f"accuracy %{accuracy_context(data)}": fixed(100 * middle["test_accuracy"], 1),
                "images/s": digits(middle["images_per_s"]),
                f"peak memory {unit}": digits(middle["peak_memory_bytes"] / divisor),
                "blocks": len(good),
                "status": _status(runs),
            }
        )
    return styled(rows, "results", caption)


def verdict_table(verdicts: Iterable[Any], *, caption: str = "Verdicts") -> Styler:
    """Return a row per comparison: speed-up, interval, blocks, outcome.

    Args:
        verdicts: As for `trainspeed.show.forest.plot_speedups`.
    """
    rows = [
        {
            "comparison": verdict["label"],
            "speed-up": fixed(verdict["speedup"], 2, "×"),
            "95 % interval": interval(verdict["low"], verdict["high"]),
            "blocks": fixed(verdict["blocks"], 0),
            "outcome": verdict["outcome"],
        }
        for _, verdict in verdict_frame(verdicts).iterrows()
    ]
    columns = ["comparison", "speed-up", "95 % interval", "blocks", "outcome"]
    return styled(rows, "verdicts", caption, columns=columns)


def largest_batch_table(frame: pd.DataFrame) -> Styler:
    """Return the largest batch size that ran and the smallest that ran out of memory."""
    require(frame, (*ARM_COLUMNS, "label", "status"))
    data = data_rows(frame)
    rows = []
    for names, runs in _arms(data, ["framework", "model", "layout", *_variant(data)]):
        ran = runs.loc[succeeded(runs), "batch_size"]
        oom = runs.loc[runs["status"] == "oom", "batch_size"]
        rows.append(
            names
            | {
                "largest batch that ran": "none ran" if ran.empty else f"{ran.max()}",
                "smallest batch out of memory": "none tried" if oom.empty else f"{oom.min()}",
            }
        )
    return styled(rows, "largest", "Largest batch size by memory")


def layout_effect_table(frame: pd.DataFrame) -> Styler:
    """Return the layout asked for beside the layout that the convolutions really ran in."""
    require(frame, ("framework", "model", "layout", "compile", "label", "status", "effective_layout"))
    data = data_rows(frame)
    data = data[succeeded(data)]
    rows = []
    for names, runs in _arms(data, ["framework", "compile", "layout"]):
        seen = sorted(runs["effective_layout"].dropna().unique())
        names["requested layout"] = names.pop("layout")
        names["effective layout"] = "; ".join(seen) or "not looked at"
        rows.append(names | {"runs looked at": f"{runs['effective_layout'].notna().sum()} of {len(runs)}"})
    columns = ["framework", "compiled", "requested layout", "effective layout", "runs looked at"]
    return styled(rows, "layouts", "Layout asked for, and layout that ran", columns=columns)


def failures_table(frame: pd.DataFrame) -> Styler | None:
    """Return a row per arm and way to fail, with the reason; None where every run ended as it should.

    Counts all runs of the frame, the control's second half and the memory runs among them.
    """
    require(frame, (*ARM_COLUMNS, "label", "status", "reason"))
    names = varying(frame)
    rows = [
        {"what": _what(row, names), "status": status_name(row["status"]), "reason": or_nothing(row["reason"])}
        for _, row in frame[~succeeded(frame)].iterrows()
    ]
    return failures(rows)


def _what(row: pd.Series, names: list[str]) -> str:
    """Return the name of a run in a sentence: its arm, what varies, and its label if it is no data."""
    arm = f"{framework_name(row['framework'])} {row['model']}"
    phase = PHASES.get(row.get("part"))
    if phase and phase.ceiling:
        return f"{framework_name(row['framework'])}, {phase.words}, {row['precision']}"
    purpose = [] if pd.isna(row["label"]) or row["label"] in DATA_ROLES else [row["label"]]
    return ", ".join(
        [arm, row["layout"], f"batch {row['batch_size']}", *(factor_text(n, row[n]) for n in names), *purpose]
    )


def _arms(
    data: pd.DataFrame, factors: list[str] | None = None
) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield (column -> cell, rows) of each combination of the factors; frameworks in their fixed order."""
    factors = factors or [*ARM_COLUMNS[:3], *varying(data), "batch_size"]
    ranked = data.assign(rank=pd.factorize(data["framework"])[0])
    keys = ["rank" if name == "framework" else name for name in factors if name in (*ARM_COLUMNS, "variant")]
    for key, runs in ranked.sort_values(keys, kind="stable").groupby(factors, sort=False, dropna=False):
        yield dict(_column(f, v) for f, v in zip(factors, key, strict=True)), runs


def _variant(data: pd.DataFrame) -> list[str]:
    return ["variant"] if data["variant"].any() else []


def _column(factor: str, value: Any) -> tuple[str, str]:
    """Return how a factor's column is headed, and a cell of it."""
    row = TRAINING.get(factor)
    return (row and row.header) or factor, row.cell(value) if row and row.cell else or_nothing(value)


def _status(runs: pd.DataFrame) -> str:
    """Return "ok", or how the runs failed and why; how many of them where not all did."""
    bad = runs[~succeeded(runs)]
    if bad.empty:
        return "ok"
    ways = []
    for status, several in bad.groupby("status", sort=False):
        reasons = "; ".join(several["reason"].dropna().unique())
        share = "" if len(several) == len(runs) else f" in {len(several)} of {len(runs)} blocks"
        ways.append(f"{status_name(status)}{share}{f': {reasons}' if reasons else ''}")
    return ". ".join(["ok", *ways] if len(bad) < len(runs) else ways)
