"""Runs of convolutions as the charts and the roofline want them. Decides and draws nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from trainspeed.core.convolution import FIRST_STAGES, STAGES, Conv2dTrial, library_of
from trainspeed.core.format import counted, three
from trainspeed.core.run import Run
from trainspeed.judge.roofline import Ceiling, Work, attainable_flop_per_s
from trainspeed.judge.verdict import median_interval
from trainspeed.studies.conv2d.calls import calls_at, calls_of, first_call_s, warm_call_s, warm_stage_s
from trainspeed.studies.conv2d.sweeps import Sweep
from trainspeed.studies.conv2d.trials import on_device

STAGE_COLUMNS = ["library", "devices", "temperature", "import", "whole", *FIRST_STAGES]
SWEEP_COLUMNS = ["library", "framework", "on_device", "size", "block", "call_s"]
LIMIT_COLUMNS = ["library", "framework", "devices", "on_device", "case", "intensity", "flop_per_s"]
LIMIT_COLUMNS += ["bytes_per_s", "limit", "share"]
SERIES_COLUMNS = ["series", "framework", "x", "value", "low", "high", "blocks"]


def stage_rows(runs: Iterable[Run], trials: Iterable[Conv2dTrial]) -> pd.DataFrame:
    """Return a row for the first call of each framework's trial that ran, and one for its warm calls.

    Columns: library, devices, temperature ("cold" or "warm"), then seconds, medians over the blocks: import,
    whole (the call as tables have it: a warm one waits at its end alone, while each of its stages was waited for),
    context, to_device, kernel, from_device, gather. NaN where a call has no such stage.
    """
    calls = calls_of(runs)
    rows = []
    for one in (calls_at(calls, trial) for trial in trials if on_device(trial)):
        if one.runs:
            cold = pd.DataFrame([{"import": run.import_s, **run.stages_s} for run in one.runs])
            warm_s = {stage: one.median(warm_stage_s(stage)) for stage in STAGES}
            rows.append(
                {
                    **one.names,
                    "temperature": "cold",
                    "whole": one.median(first_call_s),
                    **cold.astype(float).median(),
                }
            )
            rows.append({**one.names, "temperature": "warm", "whole": one.median(), **warm_s})
    return pd.DataFrame(rows, columns=STAGE_COLUMNS).astype(dict.fromkeys(STAGE_COLUMNS[3:], float))


def sweep_rows(runs: Iterable[Run], factor: str, sweeps: Iterable[Sweep]) -> pd.DataFrame:
    """Return a row per run of the sweeps over one factor.

    Columns: library, framework, on_device, size, block, call_s (seconds of a warm call).
    """
    alike = [sweep for sweep in sweeps if sweep.factor == factor]
    rows = []
    for trial, calls in calls_of(runs).items():
        size = getattr(trial, factor)
        if any(trial in sweep.at(size) for sweep in alike):
            seconds = calls.by_block()
            rows += [{**calls.names, "size": size, "block": b, "call_s": s} for b, s in seconds.items()]
    return pd.DataFrame(rows, columns=SWEEP_COLUMNS)


def roofline_rows(
    runs: Iterable[Run], ceilings: Mapping[str, Ceiling], machine: Mapping[str, Any]
) -> pd.DataFrame:
    """Return a row per trial: where it stands under the roof of strict fp32.

    The times are those of calls whose data stay on the device, where these were measured.

    Columns: library, framework, devices, on_device, case, intensity (FLOPs per byte), flop_per_s,
    bytes_per_s, limit ("memory" or "arithmetic"), share (of what the roof allows; 1 is all of it).
    """
    has_gpu = machine.get("device") == "gpu"
    ceiling = ceilings.get("fp32", Ceiling(precision="fp32"))
    rows = []
    for trial, calls in calls_of(runs).items():
        if has_gpu and trial.on_cpu:  # the ceilings are the GPU's
            continue
        seconds = calls.median(lambda run: run.median_resident_s or run.median_call_s)
        intensity = Work(flops=trial.flops, bytes=trial.bytes).intensity()
        roof = attainable_flop_per_s(intensity, ceiling)
        row = calls.names | {"intensity": intensity, "limit": None, "share": None}
        row |= {"flop_per_s": trial.flops / seconds, "bytes_per_s": trial.bytes / seconds}
        if roof is not None:
            row["limit"] = "memory" if roof < ceiling.peak_flop_per_s else "arithmetic"
            # CPU cores share one memory, so the bandwidth of one says nothing of several.
            if trial.devices == 1 or has_gpu:
                row["share"] = row["flop_per_s"] / (roof * trial.devices)
        rows.append(row)
    return pd.DataFrame(rows, columns=LIMIT_COLUMNS).astype({"share": float})


def one_device_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one device as `show.roofline.plot_roofline` takes them: a shape per library."""
    alone = rows[rows["devices"] == 1]
    return alone.assign(framework="One device, strict fp32", model=alone["library"], precision="fp32")


def limit_sentences(rows: pd.DataFrame) -> list[str]:
    """Return which library comes nearest to the roof: at any size, and at the size that most ran at.

    Args:
        rows: As returned by `roofline_rows`.
    """
    known = rows.dropna(subset=["share"])
    if known.empty:
        return []
    commonest = known.groupby("case", sort=False).size().idxmax()
    best = known.loc[known["share"].idxmax()]
    here = known.loc[known.loc[known["case"] == commonest, "share"].idxmax()]
    return [
        _limit_sentence(best, f"nearest to its limit of all, at {best['case']}"),
        _limit_sentence(here, f"nearest among libraries at {commonest}"),
    ]


def _limit_sentence(row: pd.Series, rank: str) -> str:
    """Beyond its limit, the limit was not that one, or was measured too low."""
    share = f"{100 * row['share']:.1f} % of what {row['limit']} allows"
    if row["share"] > 1:
        why = {"memory": "the data fit into a cache"}
        why |= {"arithmetic": "an algorithm with fewer operations, or noise"}
        share = f"more than what {row['limit']} was measured to allow: {why[row['limit']]}"
    rates = f"{three(row['bytes_per_s'] / 1e9)} GB/s, {three(row['flop_per_s'] / 1e9)} GFLOP/s"
    return f"{row['library']} on {counted(row['devices'], 'device')} is {rank}: {share} ({rates})."


def device_series(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> pd.DataFrame:
    """Return this machine's times over devices as `articles.ratios.convolution_times` takes them, in ms.

    Libraries that ran on the most devices have first and warm calls, the CPU's baselines warm calls.
    """
    calls, trials = calls_of(runs), list(dict.fromkeys(trial.spec for trial in core))
    most = max((trial.devices for trial in trials if on_device(trial)), default=1)
    spread = {(trial.library, trial.mode) for trial in trials if trial.devices == most}
    rows = []
    for trial in trials:
        framework = on_device(trial)
        if trial not in calls or (framework and (trial.library, trial.mode) not in spread):
            continue
        where = {"framework": calls[trial].names["framework"], "x": trial.devices if framework else None}
        kinds = {"first call": first_call_s} if framework else {}
        for kind, value in {**kinds, "warm": warm_call_s}.items():
            one = calls[trial]
            low_s, high_s = median_interval(list(one.by_block(value).values())) or (math.nan, math.nan)
            ms = {"value": 1e3 * one.median(value), "low": 1e3 * low_s, "high": 1e3 * high_s}
            rows.append({"series": f"{library_of(trial)}, {kind}", **where, **ms, "blocks": len(one.runs)})
    return pd.DataFrame(rows, columns=SERIES_COLUMNS)
