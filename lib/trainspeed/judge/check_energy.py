"""Checks of a GPU's energy: does the counter say what its power does, and is it the GPU that works?"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from trainspeed.core.format import fixed
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, Values, of_probe, within

PROBE = "energy"
MARGIN = 0.05
SPANS = 9  # of which the median has an interval; from 9 on, one that is out of line decides nothing
BUSY_PERCENT, IDLE_PERCENT = 50.0, 5.0


def counter_agrees(runs: RunSet) -> list[Check]:
    """Return whether the energy counter grows as the power says."""
    expected = f"1, within {100 * MARGIN:.0f} %"
    return of_probe(runs, PROBE, name="Energy is power times time", expected=expected, find=_agrees)


def _agrees(values: Values) -> Finding:
    if values["power_w"] is None:
        reason = "the GPU does not tell its power, or has no energy counter"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    ratios = span_ratios(values["sample_s"], values["power_w"], values["energy_j"])
    if not ratios:
        reason = "the energy counter stands still while the GPU works"
        return Finding(measured="", outcome=CheckOutcome.NOT_OK, reason=reason)
    outcome, _ = within(ratios, 1 - MARGIN, 1 + MARGIN)
    measured = f"{fixed(median(ratios), 3)} of the integral of {fixed(median(values['power_w']), 0)} W"
    reasons = {
        CheckOutcome.NOT_OK: "energies of runs are wrong by as much, or the driver's power is",
        CheckOutcome.UNDECIDED: "the counter or the power moves too seldom to tell",
    }
    return Finding(measured=measured, outcome=outcome, reason=reasons.get(outcome, ""))


def span_ratios(
    sample_s: Sequence[float], power_w: Sequence[float], energy_j: Sequence[float]
) -> list[float]:
    """Return the counter's joules / the integral of the power, of up to `SPANS` spans that follow each other.

    A counter moves in steps, so a span goes from one of its steps to a later one. Empty where it never moved.
    """
    steps = [at for at in range(1, len(energy_j)) if energy_j[at] != energy_j[at - 1]]
    spans = min(SPANS, len(steps) - 1)
    if spans < 1:
        return []
    ends = [steps[number * (len(steps) - 1) // spans] for number in range(spans + 1)]
    return [
        (energy_j[end] - energy_j[begin]) / _integral(sample_s[begin : end + 1], power_w[begin : end + 1])
        for begin, end in pairwise(ends)
    ]


def _integral(moments_s: Sequence[float], power_w: Sequence[float]) -> float:
    """Return the joules of samples of power, by straight lines between them."""
    samples = pairwise(zip(moments_s, power_w, strict=True))
    return sum((later - earlier) * (one + other) / 2 for (earlier, one), (later, other) in samples)


def is_right_gpu(runs: RunSet) -> list[Check]:
    """Return whether the GPU that is asked is the one that the framework computes on."""
    expected = "the load is seen on this GPU and on no other"
    return of_probe(
        runs, PROBE, name="The GPU that is read is the one that works", expected=expected, find=_right
    )


def _right(values: Values) -> Finding:
    load, same = values["load_during_percent"], values["same_uuid"]
    parts = [] if same is None else ["the framework's UUID" if same else "another UUID than the framework's"]
    parts += [] if load is None else [f"{load:.0f} % load"]
    measured = ", ".join(parts)
    others = zip(values["other_loads_before_percent"], values["other_loads_during_percent"], strict=True)
    risen = any(before <= IDLE_PERCENT and during >= BUSY_PERCENT for before, during in others)
    idle = load is not None and load < BUSY_PERCENT
    if same is False or (idle and (risen or (not same and load <= IDLE_PERCENT))):
        reason = "power, energy, clocks and memory that runs tell are of another GPU than they ran on"
        return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)
    if idle:
        reason = "the driver tells little load of the GPU that works: loads, and doubts about them, say little here"
        return Finding(measured=measured, outcome=CheckOutcome.UNDECIDED, reason=reason)
    if not parts:
        reason = "neither the framework tells its GPU's UUID, nor the driver a load"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    own_rose = (values["load_before_percent"] or 0.0) < BUSY_PERCENT
    if not same and (risen or not own_rose):
        reason = "another GPU was busy, too, or this one was before: try again while nothing else runs"
        return Finding(measured=measured, outcome=CheckOutcome.UNDECIDED, reason=reason)
    return Finding(measured=measured, outcome=CheckOutcome.OK)
