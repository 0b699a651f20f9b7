"""Where the time of a plain step goes. Pure functions on runs; what they mean in words is in `text`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median

import pandas as pd

from trainspeed.core.phase import COMPUTE, FIT, INPUT, WHOLE
from trainspeed.core.rounds import are_disturbed
from trainspeed.core.run import Role, Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import Trial
from trainspeed.judge.pairs import paired_s, typical_difference

PARTS = (WHOLE, INPUT, COMPUTE, FIT)
BESIDES = 0.05  # share of an epoch from which on what is not computing is worth a look
PART_COLUMNS = ["where", "epoch_s", "compute_s", "waiting_s", "rest_s", "validation_s", "input_s"]
PART_COLUMNS += ["hidden_s", "noise_s", "blocks", "disturbed"]


def time_parts(runs: Iterable[Run], starts: Mapping[str, Trial]) -> pd.DataFrame:
    """Return what an epoch of each plain trial is made of, in seconds: a row for each whose whole steps were measured.

    Columns: where; epoch_s (with validation and a checkpoint where that was measured); compute_s (alone, at most all
    of it); waiting_s (for input, at most what input alone takes); rest_s (of a step, in neither of the two);
    validation_s; input_s (alone, hidden behind compute or not); hidden_s (by which whole steps take longer than what is
    told of them, which is within noise, and counted as computing); noise_s (by which the same steps, measured twice,
    differ); blocks (of whole steps); disturbed (whether others used the machine meanwhile). NaN: not measured.

    Each part is held against whole steps round by round: a machine that slows down is in both of them.

    Args:
        starts: Where in words -> the plain trial.
    """
    known = RunSet(tuple(runs)).ok()
    rows = []
    for where, start in starts.items():
        arms = {phase: known.data().of_trial(start.only(phase)) for phase in PARTS}
        if (whole_s := _median_s(arms[WHOLE])) is None:
            continue
        twice = (known.role(role).of_trial(start.only(WHOLE)) for role in (Role.CONTROL, Role.CONTROL_AGAIN))
        noise_s = whole_s * (typical_difference(*twice) or 0.0)
        input_s, compute_s, fit_s = (_beside(whole_s, arms[WHOLE], arms[phase]) for phase in PARTS[1:])
        blocks = len({run.block_key for run in arms[WHOLE]})
        row = {"where": where, "blocks": blocks, "epoch_s": whole_s, "input_s": input_s, "noise_s": noise_s}
        row["disturbed"] = any(map(are_disturbed, [[run] for own in arms.values() for run in own]))
        if compute_s is not None:
            row |= _pieces(whole_s, compute_s, input_s, noise_s)
        if fit_s is not None:
            row["validation_s"] = _beyond(noise_s, fit_s - whole_s)
            row["epoch_s"] += row["validation_s"]
        rows.append(row)
    return pd.DataFrame(rows, columns=PART_COLUMNS).astype(dict.fromkeys(PART_COLUMNS[1:-2], float))


def _beside(whole_s: float, whole: Sequence[Run], part: Sequence[Run]) -> float | None:
    """Return what a part of an epoch takes where all of it takes `whole_s`; None: it was not measured beside it."""
    shares = [part_s / beside_s for part_s, beside_s in paired_s(part, whole).values()]
    return whole_s * median(shares) if shares else None


def _pieces(whole_s: float, compute_s: float, input_s: float | None, noise_s: float) -> dict[str, float]:
    """Return the columns of `time_parts` that whole steps are split into, in seconds."""
    left_s = max(0.0, whole_s - compute_s)
    told = {"rest_s": _beyond(noise_s, left_s)}
    if input_s is not None:
        told["waiting_s"] = min(told["rest_s"], input_s)
        told["rest_s"] = _beyond(noise_s, told["rest_s"] - told["waiting_s"])
    told_s = sum(told.values())
    return {
        "compute_s": whole_s - told_s,
        "hidden_s": left_s - told_s,
        **(told if input_s is not None else {}),
    }


def _beyond(noise_s: float, seconds: float) -> float:
    """Return a difference of times; 0 where it is within noise, or less than nothing."""
    return seconds if seconds > noise_s else 0.0


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
