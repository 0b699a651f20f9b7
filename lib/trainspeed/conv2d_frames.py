"""Runs of convolutions as the tables and charts want them. Pure functions: decides and draws nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any

import pandas as pd

from trainspeed.conv2d_study import call_times, first_call_s, on_device
from trainspeed.conv2d_sweeps import Sweep, sized
from trainspeed.conv2d_trial import FIRST_STAGES, STAGES, Conv2dTrial
from trainspeed.roofline import Ceiling, Work, attainable_flop_per_s
from trainspeed.run import Run
from trainspeed.verdict import median_interval
from trainspeed.wording import describe_conv2d, library_of

COLD_STAGES = ("import", *FIRST_STAGES)
WARM_STAGES = STAGES
RESULT_COLUMNS = [
    "library",
    "framework",
    "devices",
    "on_device",
    "case",
    "first_call_s",
    "call_s",
    "low_s",
    "high_s",
]
RESULT_COLUMNS += ["resident_s", "images_per_s", "placement", "blocks"]
LIMIT_COLUMNS = [
    "library",
    "framework",
    "devices",
    "case",
    "intensity",
    "flop_per_s",
    "bytes_per_s",
    "limit",
    "share",
]


def result_rows(runs: Iterable[Run]) -> pd.DataFrame:
    """Return a row per trial, medians over the blocks.

    Columns: library, devices, on_device, case (size in words), first_call_s, call_s, low_s, high_s,
    resident_s, placement, blocks, images_per_s.
    """
    rows = []
    for trial, blocks in call_times(runs).items():
        several = list(blocks.values())
        calls = [run.median_s for run in several]
        low, high = median_interval(calls) or (None, None)
        staying = [run.median_resident_s for run in several if run.resident_s]
        rows.append(
            {
                "library": library_of(trial),
                "framework": trial.framework,
                "devices": trial.devices,
                "on_device": on_device(trial),
                "case": ", ".join(describe_conv2d(trial, without=("library", "devices"))),
                "first_call_s": median(first_call_s(run) for run in several),
                "call_s": median(calls),
                "low_s": low,
                "high_s": high,
                "resident_s": median(staying) if staying else None,
                "images_per_s": trial.images / median(calls),
                "placement": several[0].placement,
                "blocks": len(several),
            }
        )
    return pd.DataFrame(rows, columns=RESULT_COLUMNS)


def stage_rows(runs: Iterable[Run], trials: Iterable[Conv2dTrial]) -> pd.DataFrame:
    """Return a row per library, temperature ("cold", "warm") and stage: seconds, median over the blocks."""
    times = call_times(runs)
    rows = []
    for trial in (t.without_seed() for t in trials if on_device(t)):
        several = list(times.get(trial, {}).values())
        for run_stages, temperature, names in ((_cold, "cold", COLD_STAGES), (_warm, "warm", WARM_STAGES)):
            for stage in names:
                seconds = [s for run in several if (s := run_stages(run, stage)) is not None]
                if seconds:
                    where = {"library": library_of(trial), "devices": trial.devices}
                    rows.append(
                        {**where, "temperature": temperature, "stage": stage, "seconds": median(seconds)}
                    )
    return pd.DataFrame(rows, columns=["library", "devices", "temperature", "stage", "seconds"])


def _cold(run: Run, stage: str) -> float | None:
    return run.import_s if stage == "import" else run.stages_s.get(stage)


def _warm(run: Run, stage: str) -> float | None:
    return median(run.warm_s[stage]) if run.warm_s.get(stage) else None


def sweep_rows(runs: Iterable[Run], factor: str, sweeps: Iterable[Sweep]) -> pd.DataFrame:
    """Return a row per run of a sweep: library, framework, on_device, size, call_s, block."""
    arms = [
        (arm, not sweep.filters_follow)
        for sweep in sweeps
        if sweep.factor == factor
        for arm in (sweep.device, sweep.cpu)
    ]
    rows = []
    for trial, blocks in call_times(runs).items():
        size = getattr(trial, factor)
        if any(sized(arm, factor, size, filters_fixed) == trial for arm, filters_fixed in arms):
            common = {"library": library_of(trial), "framework": trial.framework}
            common |= {"on_device": on_device(trial), "size": size}
            rows += [{**common, "block": block, "call_s": run.median_s} for block, run in blocks.items()]
    return pd.DataFrame(rows, columns=["library", "framework", "on_device", "size", "block", "call_s"])


def roofline_rows(
    runs: Iterable[Run], ceilings: Mapping[str, Ceiling], machine: Mapping[str, Any]
) -> pd.DataFrame:
    """Return a row per trial: where it stands under the roof of strict fp32.

    Columns: library, framework, devices, case, intensity (FLOPs per byte), flop_per_s, bytes_per_s, limit ("memory" or
    "arithmetic"), share (of what the roof allows). Of data that stay on the device where that was measured.
    """
    has_gpu = machine.get("device") == "gpu"
    ceiling = ceilings.get("fp32", Ceiling(precision="fp32"))
    rows = []
    for trial, blocks in call_times(runs).items():
        if has_gpu and trial.on_cpu:  # the ceilings are the GPU's
            continue
        seconds = median(run.median_resident_s or run.median_s for run in blocks.values())
        work = Work(flops=trial.flops, bytes=trial.bytes)
        roof = attainable_flop_per_s(work.intensity(), ceiling)
        rows.append(
            {
                "library": library_of(trial),
                "framework": trial.framework,
                "devices": trial.devices,
                "case": ", ".join(describe_conv2d(trial, without=("library", "devices"))),
                "intensity": work.intensity(),
                "flop_per_s": work.flops / seconds,
                "bytes_per_s": work.bytes / seconds,
                "limit": None
                if roof is None
                else ("memory" if roof < ceiling.peak_flop_per_s else "arithmetic"),
                # CPU cores share one memory, so the bandwidth of one says nothing of several.
                "share": None
                if roof is None or (trial.devices > 1 and not has_gpu)
                else work.flops / seconds / (roof * trial.devices),
            }
        )
    return pd.DataFrame(rows, columns=LIMIT_COLUMNS)


def limit_sentences(rows: pd.DataFrame) -> list[str]:
    """Return which library comes nearest to the roof, and which size does in every library."""
    known = rows.dropna(subset=["share"])
    if known.empty:
        return []
    best = known.loc[known["share"].astype(float).idxmax()]
    largest = known[known["case"] == known.groupby("case", sort=False).size().idxmax()]
    told = {"nearest to its limit of all": best}
    told |= {"nearest among libraries at " + row["case"]: row for row in _nearest(largest)}
    return [
        f"{row['library']} on {row['devices']} device{'s' if row['devices'] > 1 else ''} is {what}"
        f"{'' if row['case'] in what else ', at ' + row['case']}: {_share(row)} "
        f"({row['bytes_per_s'] / 1e9:.3g} GB/s, {row['flop_per_s'] / 1e9:.3g} GFLOP/s)."
        for what, row in told.items()
    ]


def _share(row: pd.Series) -> str:
    """Return how near to its limit: beyond it, the limit was not that one, or was measured too low."""
    if row["share"] <= 1:
        return f"{100 * row['share']:.1f} % of what {row['limit']} allows"
    why = {
        "memory": "the data fit into a cache",
        "arithmetic": "an algorithm with fewer operations, or noise",
    }
    return f"more than what {row['limit']} was measured to allow: {why[row['limit']]}"


def _nearest(rows: pd.DataFrame) -> list[pd.Series]:
    return [] if rows.empty else [rows.loc[rows["share"].astype(float).idxmax()]]


def transfer_rows(runs: Iterable[Run], library: Conv2dTrial) -> pd.DataFrame:
    """Return the transfers alone by size, in one library on one device: each waited for, with no kernel beside it.

    Columns: case, to_bytes, to_s, from_bytes, from_s, share (of the transfer back in a warm call); medians.
    """
    rows = []
    for trial, blocks in call_times(runs).items():
        alike = (trial.library, trial.mode, trial.processor) == (
            library.library,
            library.mode,
            library.processor,
        )
        several = [run for run in blocks.values() if run.warm_s]
        if not alike or trial.devices > 1 or not several:
            continue
        seconds = {stage: median(_warm(run, stage) for run in several) for stage in WARM_STAGES}
        rows.append(
            {
                "case": ", ".join(describe_conv2d(trial, without=("library", "devices"))),
                "to_bytes": trial.input_bytes,
                "to_s": seconds["to_device"],
                "from_bytes": trial.output_bytes,
                "from_s": seconds["from_device"],
                "share": seconds["from_device"] / sum(seconds.values()),
            }
        )
    return pd.DataFrame(rows, columns=["case", "to_bytes", "to_s", "from_bytes", "from_s", "share"])


def roofline_points(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of one device as `plots_roofline.plot_roofline` takes them: a shape per library."""
    alone = rows[rows["devices"] == 1]
    return alone.assign(framework="One device, strict fp32", model=alone["library"], precision="fp32")


def device_series(runs: Iterable[Run], core: Iterable[Conv2dTrial]) -> pd.DataFrame:
    """Return this machine's times as `published_conv2d_views.plot_devices` takes them, in milliseconds.

    First calls and warm calls of what was spread over devices; warm calls of the CPU's baselines.
    """
    times, core = call_times(runs), list(core)
    rows = []
    for trial in dict.fromkeys(t.without_seed() for t in core):
        several = list(times.get(trial, {}).values())
        alike = [t for t in core if (t.library, t.mode) == (trial.library, trial.mode)]
        spread = max(t.devices for t in alike) == max((t.devices for t in core if on_device(t)), default=1)
        if not several or (on_device(trial) and not spread):
            continue
        values = {"warm": [run.median_s for run in several]}
        if on_device(trial):
            values = {"first call": [first_call_s(run) for run in several], **values}
        for kind, seconds in values.items():
            low, high = median_interval(seconds) or (None, None)
            rows.append(
                {
                    "series": f"{library_of(trial)}, {kind}",
                    "framework": trial.framework if on_device(trial) else None,
                    "devices": trial.devices if on_device(trial) else float("nan"),
                    "ms": 1e3 * median(seconds),
                    "low_ms": None if low is None else 1e3 * low,
                    "high_ms": None if high is None else 1e3 * high,
                }
            )
    columns = ["series", "framework", "devices", "ms", "low_ms", "high_ms"]
    numbers = dict.fromkeys(columns[2:], float)
    return pd.DataFrame(rows, columns=columns).astype(numbers)
