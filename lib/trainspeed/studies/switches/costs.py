"""Where the time of a plain step goes, and what a setting costs besides: memory, compiling, epochs until it pays.

Pure functions on runs; what they mean in words is in `text`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

import pandas as pd

from trainspeed.core.phase import COMPUTE, FIT, INPUT, WHOLE
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.pairs import value_pairs

PARTS = (WHOLE, INPUT, COMPUTE, FIT)
BESIDES = 0.05  # share of an epoch from which on what is not computing is worth a look
PART_COLUMNS = ["where", "epoch_s", "compute_s", "waiting_s", "rest_s", "validation_s", "input_s", "blocks"]


def time_parts(runs: Iterable[Run], starts: Mapping[str, Trial]) -> pd.DataFrame:
    """Return what an epoch of each plain trial is made of, in seconds: a row for each whose whole steps were measured.

    Columns: where; epoch_s (with validation and a checkpoint where that was measured); compute_s (alone, at most all
    of it); waiting_s (for input, at most what input alone takes); rest_s (of a step, in neither of the two);
    validation_s; input_s (alone, hidden behind compute or not); blocks (of whole steps). NaN: not
    measured.

    Args:
        starts: Where in words -> the plain trial.
    """
    data = RunSet(tuple(runs)).data().ok()
    rows = []
    for where, start in starts.items():
        known = {phase: _median_s(data.of([start.only(phase)])) for phase in PARTS}
        whole_s, input_s, compute_s, fit_s = (known[phase] for phase in PARTS)
        if whole_s is None:
            continue
        blocks = len({run.block_key for run in data.of([start.only(WHOLE)])})
        row = {"where": where, "blocks": blocks, "epoch_s": max(whole_s, fit_s or 0.0), "input_s": input_s}
        if compute_s is not None:
            row["compute_s"] = min(compute_s, whole_s)
            left_s = whole_s - row["compute_s"]
            if input_s is not None:
                row["waiting_s"] = min(left_s, input_s)
                row["rest_s"] = left_s - row["waiting_s"]
        if fit_s is not None:
            row["validation_s"] = max(0.0, fit_s - whole_s)
        rows.append(row)
    return pd.DataFrame(rows, columns=PART_COLUMNS).astype(dict.fromkeys(PART_COLUMNS[1:-1], float))


def besides_computing(parts: Mapping[str, float]) -> bool:
    """Whether one of the parts of an epoch beside computing matters; a row of `time_parts`."""
    shares = (parts[name] / parts["epoch_s"] for name in ("waiting_s", "rest_s", "validation_s"))
    return any(share >= BESIDES for share in shares)  # a missing one is no such share


def worth_drawing(parts: pd.DataFrame) -> bool:
    """Whether a chart of `time_parts` shows more than computing: bars of one piece are better said."""
    return any(besides_computing(row) for row in parts.to_dict("records") if pd.notna(row["compute_s"]))


def _median_s(runs: Iterable[Run]) -> float | None:
    known = [run.median_epoch_s for run in runs if run.median_epoch_s is not None]
    return median(known) if known else None


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a setting takes, by the medians over its blocks.

    Attributes:
        first_epoch_s: Seconds of the first epoch, with tracing and compiling.
        epoch_s: Seconds of a later one.
        peak_memory_bytes: As of a run; None where it cannot be read.
        longer_first_s: By how many seconds its first epoch took longer than the plain one's, in each block in which
            both have one: see `compared_costs`.
    """

    first_epoch_s: float
    epoch_s: float
    peak_memory_bytes: float | None = None
    longer_first_s: tuple[float, ...] = ()

    def break_even(self, plain: Cost) -> float | None:
        """Return after how many later epochs a longer first one has paid for itself.

        0 where it is not longer, None where a later one saves nothing.
        """
        return self._after(self.first_epoch_s - plain.first_epoch_s, plain)

    def break_even_range(self, plain: Cost) -> tuple[float, float] | None:
        """Return the least and the most that single blocks make of it; None where there is no such number."""
        if not self.longer_first_s or self.break_even(plain) is None:
            return None
        return tuple(self._after(edge(self.longer_first_s), plain) for edge in (min, max))

    def _after(self, longer_s: float, plain: Cost) -> float | None:
        saved_s = plain.epoch_s - self.epoch_s
        return max(0.0, longer_s) / saved_s if saved_s > 0 else None


def cost_of(runs: Iterable[Run]) -> Cost | None:
    """Return what a setting takes, from its runs; None where none of them ended well."""
    good = [run for run in RunSet(tuple(runs)).ok() if run.median_epoch_s is not None]
    alone_s = [run.first_epoch_s for run in good if run.first_epoch_s is not None]
    if not alone_s:
        return None
    peaks = [run.peak_memory_bytes for run in good if run.peak_memory_bytes is not None]
    return Cost(
        first_epoch_s=median(alone_s),
        epoch_s=median(run.median_epoch_s for run in good),
        peak_memory_bytes=median(peaks) if peaks else None,
    )


def compared_costs(plain: Sequence[Run], other: Sequence[Run]) -> tuple[Cost | None, Cost | None]:
    """Return what the plain setting and another one take, with the first epochs of the blocks in which both have one.

    Runs that were built side by side have none: where no block has both, what the plain one takes is None.
    """
    first_s = value_pairs(plain, other, lambda run: run.first_epoch_s)
    if not first_s:
        return None, cost_of(other)
    plain_s, other_s = (median(own) for own in zip(*first_s, strict=True))
    longer_s = tuple(own - beside for beside, own in first_s)
    return (
        replace(cost_of(plain), first_epoch_s=plain_s),
        replace(cost_of(other), first_epoch_s=other_s, longer_first_s=longer_s),
    )
