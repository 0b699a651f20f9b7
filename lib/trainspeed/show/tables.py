"""The report's tables: a tidy frame, verdicts, a machine or a model's layers in, a pandas Styler out.

Every number is derived from what it is given; a failure is a row with its reason. Decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.factors import TRAINING
from trainspeed.core.format import (
    MISSING,
    clock,
    digits,
    fixed,
    fixed_to_interval,
    interval,
    listed,
    or_nothing,
)
from trainspeed.core.frame import ARTICLE_EPOCHS
from trainspeed.core.machine_text import TRAINED_ON, VARIABLES, machine_parts, trained_on
from trainspeed.core.phase import PHASES
from trainspeed.core.run import DATA_ROLES, Role
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import decimals_of, lost_blocks
from trainspeed.show.cells import Anchored, styled, styled_failures
from trainspeed.show.rows import (
    ARM_COLUMNS,
    accuracy_context,
    data_rows,
    data_set_context,
    epochs_trained,
    factor_text,
    memory_unit,
    require,
    succeeded,
    varying,
    verdict_frame,
)
from trainspeed.show.theme import framework_name, status_name

MEDIANS = (
    "Medians over the blocks. Speed-ups and differences are medians over pairs, so dividing or subtracting numbers of "
    "this table may give others"
)

FIRST_LOOK = "first look"  # what fewer blocks showed than an interval needs


def results_table(frame: pd.DataFrame, *, caption: str = MEDIANS) -> Styler:
    """Return the articles' table: a row per framework, model, layout and batch size, medians over blocks.

    A failed arm keeps its row, with status and reason; one that is not supported here stands below the others. Each
    further factor that varies has a column.
    Where models trained for different numbers of epochs before their accuracy was taken, a column says for how many.
    The training time (h:mm:ss) is a projection where fewer than 100 epochs ran; its header says so.
    """
    measured = ("first_epoch_s", "median_epoch_s", "training_s", "test_accuracy", "images_per_s")
    told = ("label", "status", "reason", "epochs", "epochs_trained")
    require(frame, (*ARM_COLUMNS, *told, *measured, "peak_memory_bytes"))
    data = data_rows(frame)
    unequal = " to " in epochs_trained(data)
    accuracy = f"accuracy %{data_set_context(data) if unequal else accuracy_context(data)}"
    projected = (data["epochs"] < ARTICLE_EPOCHS).any()
    training_time = f"{ARTICLE_EPOCHS} epochs, projected" if projected else "training time"
    divisor, unit = memory_unit(data["peak_memory_bytes"].astype(float))
    rows, evaluated = [], []
    for names, runs in _arms(data, [*ARM_COLUMNS[:3], *varying(data), "batch_size"]):
        good = runs[succeeded(runs)]
        middle = good[[*measured, "peak_memory_bytes"]].astype(float).median()
        cells = {
            "median epoch s (after the first)": digits(middle["median_epoch_s"]),  # first: in view on a phone
            "first epoch s": digits(middle["first_epoch_s"]),
            training_time: clock(middle["training_s"]),
            **({"epochs trained": or_nothing(epochs_trained(runs))} if unequal else {}),
            accuracy: fixed(100 * middle["test_accuracy"], 1),
            "images/s": digits(middle["images_per_s"]),
            f"peak memory {unit}": digits(middle["peak_memory_bytes"] / divisor),
            "blocks": len(good),
            "status": _status(runs),
        }
        rows.append((bool((runs["status"] == "unsupported").all()), names | cells))
        evaluated.append((int(good["test_accuracy"].notna().sum()), len(good)))
    told = f"{caption}{_of_accuracy(evaluated)}"
    supported = [row for without, row in rows if not without]
    return styled(
        [*supported, *_once_for_all_sizes([row for without, row in rows if without])], "results", told
    )


def _once_for_all_sizes(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for those that differ in nothing but the batch size: why something does not run here."""
    size = TRAINING["batch_size"].header or "batch_size"
    sizes: dict[tuple[Any, ...], list[Any]] = {}
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:
        key = tuple(str(cell) for name, cell in row.items() if name != size)
        sizes.setdefault(key, []).append(row[size])
        merged[key] = row | {size: row[size] if len(sizes[key]) == 1 else listed(map(str, sizes[key]))}
    return list(merged.values())


def _of_accuracy(evaluated: Collection[tuple[int, int]]) -> str:
    """Return in how many blocks accuracy was taken, where some row has fewer than its times; else nothing.

    Args:
        evaluated: Of each row, the blocks with an accuracy, and all.
    """
    known = sorted({number for number, _ in evaluated if number})
    if not known or all(number in (0, blocks) for number, blocks in evaluated):
        return ""
    if known == [1]:
        return ". Accuracy is that of a single run: it was taken in 1 block"
    span = listed(dict.fromkeys((known[0], known[-1])), last="to")
    return f". Accuracy was taken in {span} blocks"


def verdict_table(verdicts: Iterable[Any], *, caption: str = "Verdicts") -> Styler:
    """Return a row per comparison: speed-up, outcome, interval, blocks; one without an interval is a first look.

    Args:
        verdicts: What `trainspeed.show.forest.plot_speedups` takes.
    """
    told = [*verdicts]
    rows = [
        {
            "comparison": _anchored(verdict["label"], one),
            "speed-up": fixed_to_interval(
                verdict["speedup"], *(ends := (verdict["low"], verdict["high"])), decimals_of(*ends), "x"
            ),
            # In view on a phone.
            "outcome": _outcome(verdict) + lost_blocks(getattr(one, "without_result", 0)),
            "95 % interval": interval(*ends, decimals_of(*ends)),
            "blocks": fixed(verdict["blocks"], 0),
        }
        for one, verdict in zip(told, verdict_frame(told).to_dict("records"), strict=True)
    ]
    columns = ["comparison", "speed-up", "outcome", "95 % interval", "blocks"]
    return styled(rows, "verdicts", caption, columns=columns)


def _outcome(verdict: Mapping[str, Any]) -> str:
    """Return the outcome of a row of `verdict_frame`, as a reader is told it."""
    looked = pd.isna(verdict["low"]) and not pd.isna(verdict["speedup"])
    return FIRST_LOOK if looked else verdict["outcome"]


def _anchored(label: str, verdict: Any) -> str:
    """Return the cell that links to this verdict lead to."""
    return Anchored(label, verdict.anchor) if isinstance(verdict, Verdict) else label


def largest_batch_table(frame: pd.DataFrame) -> Styler:
    """Return the largest batch size that ran and, where one ran out of memory, the smallest that did."""
    require(frame, (*ARM_COLUMNS, "label", "status"))
    data = data_rows(frame)
    variant = ["variant"] if data["variant"].any() else []
    lacked = (data["status"] == "oom").any()
    rows = []
    for names, runs in _arms(data, ["framework", "model", "layout", *variant]):
        ran = runs.loc[succeeded(runs), "batch_size"]
        oom = runs.loc[runs["status"] == "oom", "batch_size"]
        cells = {"largest batch that ran": "none ran" if ran.empty else f"{ran.max()}"}
        if lacked:
            cells["smallest batch that did not fit"] = "none" if oom.empty else f"{oom.min()}"
        rows.append(names | cells)
    caption = "Largest batch size by memory"
    caption = caption if lacked else f"{caption}: no batch ran out of memory"
    return styled(
        rows, "largest", caption, say_once=False
    )  # where all are equal, that is what there is to read


def layout_effect_table(frame: pd.DataFrame) -> Styler:
    """Return the layout asked for next to the layout that the convolutions really ran in."""
    require(frame, ("framework", "model", "layout", "compile", "label", "status", "effective_layout"))
    data = data_rows(frame)
    data = data[succeeded(data)]
    rows = []
    for names, runs in _arms(data, ["framework", "compile", "layout"]):
        layouts = runs["effective_layout"].dropna()
        names["requested layout"] = names.pop("layout")
        names["effective layout"] = "; ".join(sorted(layouts.unique())) or "not looked at"
        rows.append(names | {"runs looked at": f"{len(layouts)} of {len(runs)}"})
    columns = ["framework", "compiled", "requested layout", "effective layout", "runs looked at"]
    return styled(rows, "layouts", "Layout asked for, and layout that ran", columns=columns)


def failures_table(frame: pd.DataFrame) -> Styler | None:
    """Return a row per arm and way to fail, with the reason; None where every run ended as it should.

    Arms that differ in nothing but the batch size are one row. Counts all runs of the frame, including the control's
    second half and the memory runs.
    """
    require(frame, (*ARM_COLUMNS, "label", "status", "reason"))
    names = varying(frame)
    failed = frame[~succeeded(frame)]
    status, reason = failed["status"].map(status_name), failed["reason"].map(or_nothing)
    alike = [_what(row, names, "") for _, row in failed.iterrows()]
    sizes = failed.groupby([alike, status, reason], sort=False)["batch_size"].transform(
        lambda batch_sizes: f"batch {listed(map(str, sorted({*batch_sizes})))}"
    )
    whats = [_what(row, names, batch) for (_, row), batch in zip(failed.iterrows(), sizes, strict=True)]
    rows = zip(whats, status, reason, strict=True)
    return styled_failures([dict(zip(("what", "status", "reason"), row, strict=True)) for row in rows])


def machine_table(
    machine: Mapping[str, Any], versions: Mapping[str, Mapping[str, Any]], trials: Iterable[AnyTrial] = ()
) -> Styler:
    """Return what was measured on: a row per part of the machine, then the versions of each framework.

    Args:
        machine: As returned by `trainspeed.sensors.machine.machine`, with `device`. None: not known.
        versions: Framework -> package -> version.
        trials: That ran on it; none: each device of a CPU is taken for one core.
    """
    parts = machine_parts(machine)
    of_gpus = ("interconnect", "NVIDIA driver", "CUDA of the driver") if machine.get("gpus") else ()
    shown = machine.get("gpus") or machine.get("other_gpus")
    container = " (in a container)" if machine.get("container") else ""
    values = {
        "trained on": trained_on(machine, trials) or TRAINED_ON["cpu"],
        "CPU": _joined([parts["CPU"], parts["CPU instructions"]]),
        **{name: or_nothing(parts[name]) for name in ("cores", "memory")},
        **({"huge pages": parts["huge pages"]} if parts["huge pages"] else {}),
        "GPUs": parts["GPUs"] if shown else f"none: {machine.get('no_gpus') or 'none found'}",
        **{name: or_nothing(parts[name]) for name in of_gpus},
        "system": or_nothing(parts["system"]) + container,
        "clock governor": or_nothing(parts["clock governor"]),
        "Python": or_nothing(parts["Python of the notebooks"]),
        **({VARIABLES: parts[VARIABLES]} if parts[VARIABLES] else {}),
    }
    for framework, packages in sorted(versions.items()):
        values[framework_name(framework)] = _joined(f"{name} {version}" for name, version in packages.items())
    return styled({"what": [*values], "value": [*values.values()]}, "machine", "The machine")


def _joined(parts: Iterable[str | None]) -> str:
    return ", ".join(filter(None, parts)) or MISSING


def _what(row: pd.Series, names: list[str], batch: str) -> str:
    """Return what a sentence calls a run: its arm, what varies, and its label unless it is data.

    Args:
        batch: What is said of its batch size.
    """
    framework = framework_name(row["framework"])
    phase = PHASES.get(row.get("part"))
    if phase and phase.ceiling:
        return f"{framework}, {phase.words}, {row['precision']}"
    arm = [f"{framework} {row['model']}", row["layout"], batch]
    # A trial that runs once more beside other sizes is the same trial: its runs are counted together.
    unnamed = pd.isna(row["label"]) or row["label"] in {*DATA_ROLES, Role.ANCHOR}
    purpose = [] if unnamed else [row["label"]]
    return ", ".join([*filter(None, arm), *(factor_text(name, row[name]) for name in names), *purpose])


def _arms(data: pd.DataFrame, factors: list[str]) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Yield (column -> cell, rows) of each combination of the factors; frameworks in their fixed order."""
    ranked = data.assign(rank=pd.factorize(data["framework"])[0])
    keys = ["rank" if name == "framework" else name for name in factors if name in (*ARM_COLUMNS, "variant")]
    for key, runs in ranked.sort_values(keys, kind="stable").groupby(factors, sort=False, dropna=False):
        yield dict(_column(name, value) for name, value in zip(factors, key, strict=True)), runs


def _column(factor: str, value: Any) -> tuple[str, str]:
    """Return the heading of a factor's column, and its cell for this value."""
    row = TRAINING.get(factor)
    return (row and row.header) or factor, row.cell(value) if row and row.cell else or_nothing(value)


def _status(runs: pd.DataFrame) -> str:
    """Return "ok", or how the runs failed and why; in how many blocks, where not all did."""
    failed = runs[~succeeded(runs)]
    texts = ["ok"] if len(failed) < len(runs) else []
    for status, alike in failed.groupby("status", sort=False):
        reasons = "; ".join(alike["reason"].dropna().unique())
        share = "" if len(alike) == len(runs) else f" in {len(alike)} of {len(runs)} blocks"
        texts.append(f"{status_name(status)}{share}{f': {reasons}' if reasons else ''}")
    return ". ".join(texts)
