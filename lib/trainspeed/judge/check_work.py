"""Checks of the arithmetic that a training step is said to do: is it counted right, and could it be done?"""

from __future__ import annotations

from trainspeed.core.format import fixed, three
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, Values, of_probe

PROBE = "work"
COUNT_MARGIN = 0.02  # a framework may count the few FLOPs of activations, too


def is_counted_right(runs: RunSet) -> list[Check]:
    """Return whether the FLOPs of a step are those that the framework or its compiler counts."""
    expected = f"within {100 * COUNT_MARGIN:.0f} %"
    return of_probe(runs, PROBE, name="FLOPs are counted right", expected=expected, find=_counted)


def _counted(values: Values) -> Finding:
    ours, theirs = values["step_flops"], values["counted_step_flops"]
    if not ours or not theirs:
        reason = (
            "the framework does not count FLOPs as they are defined here"
            if ours
            else "the model's FLOPs are not known"
        )
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    measured = f"{fixed(ours / theirs, 3)} of the framework's own count"
    if abs(ours / theirs - 1) <= COUNT_MARGIN:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    reason = "what is said of FLOP/s and of the roofline is wrong by as much"
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)


def is_possible(runs: RunSet) -> list[Check]:
    """Return whether a training does no more FLOP/s than the device can do."""
    expected = "at most 1"
    return of_probe(runs, PROBE, name="No faster than the device", expected=expected, find=_possible)


def _possible(values: Values) -> Finding:
    trained, multiplied = values["trained_per_s"], values["multiplied_per_s"]
    if trained is None:
        reason = "the model's FLOPs are not known"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    measured = (
        f"{fixed(trained / multiplied, 3)} of the {three(multiplied / 1e9)} GFLOP/s of a matrix product"
    )
    if trained <= multiplied:
        return Finding(measured=measured, outcome=CheckOutcome.OK)
    reason = (
        "no training multiplies faster than a matrix product: the epochs are too short or the FLOPs too many"
    )
    return Finding(measured=measured, outcome=CheckOutcome.NOT_OK, reason=reason)
