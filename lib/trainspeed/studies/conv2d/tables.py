"""Tables of one convolution: times, transfers, distance from the limit, crossovers, failures."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.convolution import STAGES, Conv2dTrial, library_of
from trainspeed.core.format import MISSING, digits, fixed, or_nothing
from trainspeed.core.run import Run, Status
from trainspeed.judge.crossover import Crossover, CrossoverKind
from trainspeed.judge.verdict import median_interval
from trainspeed.show.cells import styled, styled_failures
from trainspeed.show.theme import status_name
from trainspeed.studies.conv2d.calls import calls_of, first_call_s, warm_stage_s
from trainspeed.studies.conv2d.sweeps import SWEEPS, Sweep

ROOFLINE_TEXT = (
    "How to read the roofline: the ceilings are measured, a large copy and the faster of a large product and a large "
    "convolution. Left of the knee the ceiling of memory is the lower one, right of it that of arithmetic. Bytes are "
    "the least that could be moved, every number once; calls with data on the device where those were measured."
)  # above the chart, where there is one


def calls_table(runs: Iterable[Run]) -> Styler:
    """Return a row per trial, medians over the blocks: warm call, call whose data stay there, first call."""
    calls = calls_of(runs)
    sizes = {one.names["case"] for one in calls.values()}
    cells = []
    for trial, one in calls.items():
        ends = median_interval(list(one.by_block().values()))
        names = {"library": library_of(trial), "devices": trial.devices}
        names |= {"size": one.names["case"]} if len(sizes) > 1 else {}
        cells.append(
            {
                **names,
                "warm call": _ms(one.median()),  # first: in view on a phone
                "95 % interval": " to ".join(map(_ms, ends)) if ends else MISSING,
                "data stay there": _ms(one.median(lambda run: run.median_resident_s)),
                "first call": _ms(one.median(first_call_s)),
                "images/s": digits(trial.images / one.median()),
                "ran on": or_nothing(one.runs[0].placement),
                "blocks": len(one.runs),
            }
        )
    where = f" of {next(iter(sizes))}" if len(sizes) == 1 else ""
    return styled(cells, "conv2d", f"One convolution{where}, in ms", columns=["library"])


def transfers_table(runs: Iterable[Run], library: Conv2dTrial) -> Styler:
    """Return a row per size: how long each transfer takes, how fast it is, the share of a call going back.

    Each transfer was waited for, and no kernel ran meanwhile. Medians over the blocks.

    Args:
        library: A trial of the library, mode and processor that are shown, on one device.
    """
    name = library_of(library)
    cells = []
    for trial, calls in calls_of(runs).items():
        stages = {stage: calls.median(warm_stage_s(stage)) for stage in STAGES}
        if library_of(trial) != name or trial.devices > 1 or None in stages.values():
            continue
        to_s, from_s = stages["to_device"], stages["from_device"]
        cells.append(
            {
                "size": calls.names["case"],
                "to the device": f"{_ms(to_s)} ms for {digits(trial.input_bytes / 1e6)} MB",
                "GB/s to": digits(trial.input_bytes / 1e9 / to_s) if to_s else MISSING,
                "from the device": f"{_ms(from_s)} ms for {digits(trial.output_bytes / 1e6)} MB",
                "GB/s from": digits(trial.output_bytes / 1e9 / from_s) if from_s else MISSING,
                "back, of a call": fixed(100 * from_s / sum(stages.values()), 1, " %"),
            }
        )
    return styled(cells, "transfers", f"Transfers alone, {name} on one device", columns=["size"])


def call_roofline_table(rows: pd.DataFrame) -> Styler:
    """Return a row per library and size: what it moves and computes, and its share of what the roof allows.

    Args:
        rows: As returned by `frames.roofline_rows`.
    """
    cells = [
        {
            "library": row["library"],
            "devices": row["devices"],
            "size": row["case"],
            "FLOP per byte": digits(row["intensity"]),
            "GFLOP/s": digits(row["flop_per_s"] / 1e9),
            "GB/s": digits(row["bytes_per_s"] / 1e9),
            "limited by": or_nothing(row["limit"]),
            "share of the limit": fixed(100 * row["share"], 1, " %"),
        }
        for row in rows.to_dict("records")
    ]
    return styled(cells, "conv2d_roofline", "How far from the limit", columns=["library"])


def crossovers_table(sweeps: Iterable[Sweep]) -> Styler | None:
    """Return a row per sweep and pair: from what size on the device is faster, how sure that is; None without any."""
    cells = []
    for sweep in sweeps:
        low, high, points = sweep.crossover.low, sweep.crossover.high, sweep.crossover.points
        cells.append(
            {
                "what grows": SWEEPS[sweep.factor].unit,
                "device": library_of(sweep.device),
                "against": library_of(sweep.cpu),
                "device is faster": _faster(sweep.crossover),
                "interval of that size": MISSING if low is None else f"{low:,.0f} to {high:,.0f}",
                "sizes tried": f"{points[0].size:,.0f} to {points[-1].size:,.0f}" if points else MISSING,
            }
        )
    if not cells:
        return None
    columns = ["what grows", "device", "against", "device is faster", "interval of that size", "sizes tried"]
    return styled(cells, "crossovers", "From what size on a device is faster", columns=columns)


def failed_calls_table(runs: Iterable[Run]) -> Styler | None:
    """Return a row per trial and way to fail, with the reason; None where every run ended as it should."""
    return styled_failures(
        [
            {
                "what": ", ".join(run.trial.describe()),
                "status": status_name(run.status),
                "reason": or_nothing(run.reason),
            }
            for run in runs
            if run.status != Status.OK
        ]
    )


def _ms(seconds: float | None) -> str:
    return digits(None if seconds is None else 1e3 * seconds)


def _faster(crossover: Crossover) -> str:
    tried = "size with an interval" if crossover.left_out else "size tried"
    side = "from" if crossover.rising else "up to"
    return {
        CrossoverKind.SINGLE: f"{side} {crossover.size_words}" if crossover.size else MISSING,
        CrossoverKind.ALWAYS: f"at every {tried}",
        CrossoverKind.NEVER: f"at no {tried}",
        CrossoverKind.SEVERAL: "here and there: see below",
        CrossoverKind.UNDECIDED: "undecided",
    }[crossover.kind]
