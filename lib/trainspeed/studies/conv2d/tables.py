"""Tables of one convolution: times, distance from the limit, crossovers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.convolution import library_of
from trainspeed.core.format import MISSING, digits, fixed, or_nothing
from trainspeed.core.run import Run, Status
from trainspeed.judge.crossover import Crossover, Kind
from trainspeed.show.cells import counted_failures, styled
from trainspeed.show.rows import require
from trainspeed.show.theme import status_name
from trainspeed.studies.conv2d.sweeps import Sweep
from trainspeed.studies.conv2d.trials import SWEEPS

RESULTS = (
    "library",
    "devices",
    "case",
    "first_call_s",
    "call_s",
    "low_s",
    "high_s",
    "resident_s",
    "placement",
)


def calls_table(rows: pd.DataFrame, *, caption: str = "One convolution, in ms") -> Styler:
    """Return a row per library and size: first call, warm call with its interval, and staying on the device.

    Args:
        rows: As of `conv2d_frames.result_rows`.
    """
    require(rows, (*RESULTS, "images_per_s", "blocks"))
    numbers = rows.astype(dict.fromkeys(("low_s", "high_s", "resident_s"), float))
    cells = []
    for row in numbers.to_dict("records"):
        ends = [digits(1e3 * row[end]) for end in ("low_s", "high_s")]
        names = {"library": row["library"], "devices": row["devices"]}
        names |= {"size": row["case"]} if rows["case"].nunique() > 1 else {}
        cells.append(
            {
                **names,
                "first call": digits(1e3 * row["first_call_s"]),
                "warm call": digits(1e3 * row["call_s"]),
                "95 % interval": MISSING if MISSING in ends else " to ".join(ends),
                "data stay there": digits(1e3 * row["resident_s"]),
                "images/s": fixed(row["images_per_s"], 0),
                "ran on": or_nothing(row["placement"]),
                "blocks": row["blocks"],
            }
        )
    return styled(cells, "conv2d", caption, columns=["library"])


def call_roofline_table(rows: pd.DataFrame, *, caption: str = "How far from the limit") -> Styler:
    """Return a row per library and size: what it moves and computes, and its share of what the roof allows.

    Args:
        rows: As of `conv2d_frames.roofline_rows`.
    """
    require(rows, ("library", "devices", "case", "intensity", "flop_per_s", "bytes_per_s", "limit", "share"))
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
        for row in rows.astype({"share": float}).to_dict("records")
    ]
    return styled(cells, "conv2d_roofline", caption, columns=["library"])


def transfers_table(rows: pd.DataFrame, *, caption: str) -> Styler:
    """Return a row per size: how long each transfer takes, how fast it is, and its share of a warm call.

    Args:
        rows: As of `conv2d_frames.transfer_rows`.
    """
    require(rows, ("case", "to_bytes", "to_s", "from_bytes", "from_s", "share"))
    cells = [
        {
            "size": row["case"],
            "to the device": f"{digits(1e3 * row['to_s'])} ms for {digits(row['to_bytes'] / 1e6)} MB",
            "GB/s to": digits(row["to_bytes"] / 1e9 / row["to_s"]) if row["to_s"] else MISSING,
            "from the device": f"{digits(1e3 * row['from_s'])} ms for {digits(row['from_bytes'] / 1e6)} MB",
            "GB/s from": digits(row["from_bytes"] / 1e9 / row["from_s"]) if row["from_s"] else MISSING,
            "back, of a call": fixed(100 * row["share"], 1, " %"),
        }
        for row in rows.to_dict("records")
    ]
    return styled(cells, "transfers", caption, columns=["size"])


def crossovers_table(sweeps: Iterable[Sweep]) -> Styler:
    """Return a row per sweep and pair: from what size on the device is faster, and how sure that is."""
    rows = [
        {
            "what grows": SWEEPS[sweep.factor].unit,
            "device": library_of(sweep.device),
            "against": library_of(sweep.cpu),
            "device is faster": _faster(sweep.found),
            "uncertainty": _ends(sweep.found.low, sweep.found.high),
            "sizes tried": _ends(*(sweep.found.points[end].size for end in (0, -1)))
            if sweep.found.points
            else MISSING,
        }
        for sweep in sweeps
    ]
    columns = ["what grows", "device", "against", "device is faster", "uncertainty", "sizes tried"]
    return styled(rows, "crossovers", "From what size on a device is faster", columns=columns)


def _faster(found: Crossover) -> str:
    if found.kind == Kind.FOUND:
        return f"{'from' if found.rising else 'up to'} about {digits(found.size)}"
    return {
        Kind.ALWAYS: "at every size tried",
        Kind.NEVER: "at no size tried",
        Kind.SEVERAL: "here and there: see below",
        Kind.UNDECIDED: "undecided",
    }[found.kind]


def _ends(low: float | None, high: float | None) -> str:
    return MISSING if low is None or high is None else f"{_size(low)} to {_size(high)}"


def _size(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else digits(value)


def failed_calls_table(runs: Sequence[Run]) -> Styler | None:
    """Return a row per trial and way to fail, with the reason; None where every run ended as it should."""
    rows = [
        {
            "what": ", ".join(run.trial.describe()),
            "status": status_name(run.status),
            "reason": or_nothing(run.reason),
        }
        for run in runs
        if run.status != Status.OK
    ]
    return counted_failures(rows)
