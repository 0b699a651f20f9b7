"""Runs of convolutions as the tables and charts want them. Pure functions: decides and draws nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from trainspeed.core.convolution import FIRST_STAGES, STAGES, Conv2dTrial, library_of
from trainspeed.core.format import counted
from trainspeed.core.run import Run
from trainspeed.judge.roofline import Ceiling, Work, attainable_flop_per_s
from trainspeed.judge.verdict import median_interval
from trainspeed.studies.conv2d.calls import (
    Value,
    calls_at,
    calls_of,
    cold_stage_s,
    first_call_s,
    warm_call_s,
    warm_stage_s,
)
from trainspeed.studies.conv2d.sweeps import Sweep, sized
from trainspeed.studies.conv2d.trials import on_device

COLD_STAGES = ("import", *FIRST_STAGES)
WARM_STAGES = STAGES
NAMES = ["library", "framework", "devices", "on_device", "case"]
RESULT_COLUMNS = [*NAMES, "first_call_s", "call_s", "low_s", "high_s", "resident_s", "images_per_s"]
RESULT_COLUMNS += ["placement", "blocks"]
LIMIT_COLUMNS = [*NAMES, "intensity", "flop_per_s", "bytes_per_s", "limit", "share"]
TRANSFER_COLUMNS = ["case", "to_bytes", "to_s", "from_bytes", "from_s", "share"]


def result_rows(runs: Iterable[Run]) -> pd.DataFrame:
    """Return a row per trial, medians over the blocks.

    Columns: library, framework, devices, on_device, case (size in words), first_call_s, call_s, low_s, high_s,
    resident_s, images_per_s, placement, blocks.
    """
    rows = []
    for trial, calls in calls_of(runs).items():
        low_s, high_s = median_interval(calls.values(warm_call_s)) or (None, None)
        call_s = calls.median(warm_call_s)
        rows.append(
            calls.names
            | {
                "first_call_s": calls.median(first_call_s),
                "call_s": call_s,
                "low_s": low_s,
                "high_s": high_s,
                "resident_s": calls.median(lambda run: run.median_resident_s),
                "images_per_s": trial.images / call_s,
                "placement": calls.runs[0].placement,
                "blocks": len(calls.runs),
            }
        )
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def stage_rows(runs: Iterable[Run], trials: Iterable[Conv2dTrial]) -> pd.DataFrame:
    """Return a row per library, temperature ("cold", "warm") and stage: seconds, median over the blocks."""
    stages = [("cold", stage, cold_stage_s(stage)) for stage in COLD_STAGES]
    stages += [("warm", stage, warm_stage_s(stage)) for stage in WARM_STAGES]
    calls = calls_of(runs)
    rows = [
        {**one.names, "temperature": temperature, "stage": stage, "seconds": seconds}
        for one in (calls_at(calls, trial) for trial in trials if on_device(trial))
        for temperature, stage, value in stages
        if (seconds := one.median(value)) is not None
    ]
    return pd.DataFrame(rows, columns=["library", "devices", "temperature", "stage", "seconds"])


def sweep_rows(runs: Iterable[Run], factor: str, sweeps: Iterable[Sweep]) -> pd.DataFrame:
    """Return a row per run of a sweep: library, framework, on_device, size, call_s, block."""
    arms = [
        (arm, not sweep.filters_follow)
        for sweep in sweeps
        if sweep.factor == factor
        for arm in (sweep.device, sweep.cpu)
    ]
    rows = []
    for trial, calls in calls_of(runs).items():
        size = getattr(trial, factor)
        if any(sized(arm, factor, size, filters_fixed) == trial for arm, filters_fixed in arms):
            common = {**calls.names, "size": size}
            rows += [{**common, "block": run.block, "call_s": warm_call_s(run)} for run in calls.runs]
    return pd.DataFrame(rows, columns=["library", "framework", "on_device", "size", "block", "call_s"])


def roofline_rows(
    runs: Iterable[Run], ceilings: Mapping[str, Ceiling], machine: Mapping[str, Any]
) -> pd.DataFrame:
    """Return a row per trial: where it stands under the roof of strict fp32.

    Columns: library, framework, devices, on_device, case, intensity (FLOPs per byte), flop_per_s, bytes_per_s,
    limit ("memory" or "arithmetic"), share (of what the roof allows). Of data that stay on the device where
    that was measured.
    """
    has_gpu = machine.get("device") == "gpu"
    ceiling = ceilings.get("fp32", Ceiling(precision="fp32"))
    rows = []
    for trial, calls in calls_of(runs).items():
        if has_gpu and trial.on_cpu:  # the ceilings are the GPU's
            continue
        seconds = calls.median(lambda run: run.median_resident_s or run.median_s)
        work = Work(flops=trial.flops, bytes=trial.bytes)
        roof = attainable_flop_per_s(work.intensity(), ceiling)
        row = calls.names | {"intensity": work.intensity(), "limit": None, "share": None}
        row |= {"flop_per_s": work.flops / seconds, "bytes_per_s": work.bytes / seconds}
        if roof is not None:
            row["limit"] = "memory" if roof < ceiling.peak_flop_per_s else "arithmetic"
            # CPU cores share one memory, so the bandwidth of one says nothing of several.
            if trial.devices == 1 or has_gpu:
                row["share"] = row["flop_per_s"] / (roof * trial.devices)
        rows.append(row)
    return pd.DataFrame(rows, columns=LIMIT_COLUMNS).astype({"share": float})


def limit_sentences(rows: pd.DataFrame) -> list[str]:
    """Return which library comes nearest to the roof, and which size does in every library."""
    known = rows.dropna(subset=["share"])
    if known.empty:
        return []
    commonest = known.groupby("case", sort=False).size().idxmax()
    nearest = {"nearest to its limit of all": known}
    nearest |= {f"nearest among libraries at {commonest}": known[known["case"] == commonest]}
    sentences = []
    for what, several in nearest.items():
        row = several.loc[several["share"].idxmax()]
        where = "" if row["case"] in what else f", at {row['case']}"
        rates = f"{row['bytes_per_s'] / 1e9:.3g} GB/s, {row['flop_per_s'] / 1e9:.3g} GFLOP/s"
        on = f"{row['library']} on {counted(row['devices'], 'device')}"
        sentences.append(f"{on} is {what}{where}: {_share(row)} ({rates}).")
    return sentences


def _share(row: pd.Series) -> str:
    """Return how near to its limit: beyond it, the limit was not that one, or was measured too low."""
    if row["share"] <= 1:
        return f"{100 * row['share']:.1f} % of what {row['limit']} allows"
    why = {
        "memory": "the data fit into a cache",
        "arithmetic": "an algorithm with fewer operations, or noise",
    }
    return f"more than what {row['limit']} was measured to allow: {why[row['limit']]}"


def transfer_rows(runs: Iterable[Run], library: Conv2dTrial) -> pd.DataFrame:
    """Return the transfers alone by size, in one library on one device: each waited for, with no kernel beside it.

    Columns: case, to_bytes, to_s, from_bytes, from_s, share (of the transfer back in a warm call); medians.
    """
    rows = []
    for trial, calls in calls_of(runs).items():
        alike = all(getattr(trial, n) == getattr(library, n) for n in ("library", "mode", "processor"))
        seconds = {stage: calls.median(warm_stage_s(stage)) for stage in WARM_STAGES}
        if alike and trial.devices == 1 and None not in seconds.values():
            to_s, from_s = seconds["to_device"], seconds["from_device"]
            row = calls.names | {
                "to_bytes": trial.input_bytes,
                "to_s": to_s,
                "from_bytes": trial.output_bytes,
            }
            rows.append(row | {"from_s": from_s, "share": from_s / sum(seconds.values())})
    return pd.DataFrame(rows, columns=TRANSFER_COLUMNS)


def roofline_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one device as `plots_roofline.plot_roofline` takes them: a shape per library."""
    alone = rows[rows["devices"] == 1]
    return alone.assign(framework="One device, strict fp32", model=alone["library"], precision="fp32")


def device_series(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> pd.DataFrame:
    """Return this machine's times over devices as `articles.ratios.convolution_times` takes them, in ms.

    First calls and warm calls of what was spread over devices; warm calls of the CPU's baselines.
    """
    calls, core = calls_of(runs), list(core)
    most = max((trial.devices for trial in core if on_device(trial)), default=1)
    spread = {(trial.library, trial.mode) for trial in core if trial.devices == most}
    rows = []
    for one in (calls_at(calls, trial) for trial in dict.fromkeys(t.spec for t in core)):
        trial = one.trial
        if not one.runs or (on_device(trial) and (trial.library, trial.mode) not in spread):
            continue
        where = {"framework": trial.framework, "x": trial.devices} if on_device(trial) else {}
        kinds: dict[str, Value] = {"first call": first_call_s} if on_device(trial) else {}
        for kind, value in {**kinds, "warm": warm_call_s}.items():
            low_s, high_s = median_interval(one.values(value)) or (float("nan"), float("nan"))
            ms = {"value": 1e3 * one.median(value), "low": 1e3 * low_s, "high": 1e3 * high_s}
            rows.append({"series": f"{library_of(trial)}, {kind}", **where, **ms, "blocks": len(one.runs)})
    return pd.DataFrame(rows, columns=["series", "framework", "x", "value", "low", "high", "blocks"])
