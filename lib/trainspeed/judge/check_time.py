"""Checks of the clock: is the device done when it is read, does it go right, and is nothing added to a bare loop?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from trainspeed.core.format import fixed, interval, significant
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, Values, not_profiled, of_probe, within
from trainspeed.judge.verdict import MARGIN, Judgement, Outcome, judge

CLOCK_MARGIN = 0.01  # of an epoch, by which clocks may differ
NOISY = "too noisy here to tell: try again while the machine does nothing else"
NOT_WAITED_FOR = "the clock is read before the device is done: epochs are longer than they are said to be"
# Which timer it was; older runs do not tell.
TIMERS = {"cuda_events": " (CUDA events)", "profiler": " (the framework's profiler)"}
BLIND = "work that was not waited for was not noticed either: this check cannot see here what it is to see"


def waits_for_device(runs: RunSet) -> list[Check]:
    """Return whether an epoch has really ended when it is said to be over."""
    expected = f"nothing: at most {_percent(CLOCK_MARGIN)}"
    return of_probe(runs, "epoch", name="The device is waited for", expected=expected, find=_left_over)


def _left_over(values: Values) -> Finding:
    epoch_s = median(values["epoch_s"])
    shares = [seconds / epoch_s for seconds in values["leftover_s"]]
    outcome, ends = within(shares, 0.0, CLOCK_MARGIN)
    measured = f"{_percent(median(shares))} of an epoch is left{_ends(ends, scale=100, unit=' %')}"
    others = _others_share(values)
    noisy = _noisy(others)
    reason = {CheckOutcome.NOT_OK: NOT_WAITED_FOR, CheckOutcome.UNDECIDED: noisy}.get(outcome, "")
    if (timer_s := values["device_s"]) is not None:
        by_timer, ratios = _agree(timer_s, values.get("traced_s") or values["epoch_s"])
        timer = TIMERS.get(values.get("timer"), "")
        measured += f"; {_ratio(ratios)} of the time by the device's own timer{timer}"
        if by_timer is CheckOutcome.NOT_OK and outcome is not CheckOutcome.NOT_OK:
            outcome, reason = by_timer, "the wall clock and the device's own timer differ"
        elif by_timer is CheckOutcome.UNDECIDED and outcome is CheckOutcome.OK:
            outcome, reason = by_timer, noisy
    elif unknown := values.get("timer_unknown"):
        measured += f"; the time by the device's own timer: {not_profiled(unknown)}"
    noticed = values["unwaited_s"] > CLOCK_MARGIN * (values["queued_s"] + values["unwaited_s"])
    if noticed:
        measured += "; work that was queued and not waited for was noticed"
    elif values["device"] == "gpu":  # which never computes before it is asked
        outcome, reason = CheckOutcome.NOT_OK, BLIND
    else:
        measured += "; every call waits by itself here"
    return Finding(measured=measured, outcome=outcome, reason=reason, scatters=_scatters(outcome, others))


def as_fast_as_bare_loop(runs: RunSet) -> list[Check]:
    """Return whether an epoch takes as long as in a plain script of the framework, with the same model."""
    expected = f"1, within {_percent(MARGIN)}"
    return of_probe(
        runs, "epoch", name="Trainspeed's loop against a plain one", expected=expected, find=_against_bare
    )


def _against_bare(values: Values) -> Finding:
    judged = judge(values["bare_s"], values["ours_s"])
    measured = f"{fixed(judged.speedup, 3)}{_ends(_outwards(judged))} times as fast"
    others = _others_share(values)
    reasons = {
        Outcome.SLOWER: "an epoch as it is measured takes longer than in a plain script",
        Outcome.FASTER: "an epoch as it is measured takes less time than in a plain script: it does less, or is not "
        "waited for",
        Outcome.UNDECIDED: _noisy(others),
    }
    outcomes = {Outcome.SAME: CheckOutcome.OK, Outcome.UNDECIDED: CheckOutcome.UNDECIDED}
    outcome = outcomes.get(judged.outcome, CheckOutcome.NOT_OK)
    if outcome is CheckOutcome.NOT_OK and (others or 0.0) > MARGIN:
        # The scheduler shares a busy core out as it likes, and may favour one of two equal loops for minutes.
        return Finding(measured=measured, outcome=CheckOutcome.UNDECIDED, reason=_noisy(others))
    reason = reasons.get(judged.outcome, "")
    return Finding(measured=measured, outcome=outcome, reason=reason, scatters=_scatters(outcome, others))


def _others_share(values: Values) -> float | None:
    """Return the share of the time for which others had the probe's cores; None where that is not known."""
    shares = values.get("others_share")  # older ledgers have how long threads waited, for whomever
    return max(0.0, median(shares)) if shares else None  # two clocks tick apart: a little below 0 is 0


def _noisy(others: float | None) -> str:
    """Return why something is undecided, given the share of the time for which others had the probe's cores."""
    if others is None:
        return NOISY
    if others > MARGIN:
        return f"other processes had its cores for {_percent(others)} of the time: {NOISY}"
    return (
        f"other processes hardly used its cores ({_percent(others)} of the time); a busy other core, and caches and "
        "memory that cores share, are not ruled out: more rounds decide"
    )


def _scatters(outcome: CheckOutcome, others: float | None) -> bool:
    """Whether something is undecided though others did not have the probe's cores."""
    return outcome is CheckOutcome.UNDECIDED and others is not None and others <= MARGIN


def _outwards(judged: Judgement) -> tuple[float, float] | None:
    """Return the interval with its ends rounded away from each other; None without one.

    What is undecided lies beyond the margin, and must not look as if it did not.
    """
    if judged.low is None:
        return None
    return math.floor(1000 * judged.low + 1e-6) / 1000, math.ceil(1000 * judged.high - 1e-6) / 1000


def agrees_with_stopwatch(runs: RunSet) -> list[Check]:
    """Return whether epochs take as long by a clock of another process."""
    expected = f"1, within {_percent(CLOCK_MARGIN)}"
    return of_probe(
        runs, "epoch", name="Times agree with a stopwatch outside", expected=expected, find=_outside
    )


def _outside(values: Values) -> Finding:
    if values["outside_s"] is None:
        reason = "the stopwatch did not see every epoch"
        return Finding(measured="", outcome=CheckOutcome.NOT_OK, reason=reason)
    outcome, ratios = _agree(values["outside_s"], values["epoch_s"])
    others = _others_share(values)
    reasons = {
        CheckOutcome.NOT_OK: "the clock that times epochs goes wrong, or does not begin and end with them",
        CheckOutcome.UNDECIDED: _noisy(others),
    }
    return Finding(
        measured=f"{_ratio(ratios)} of the time by the stopwatch",
        outcome=outcome,
        reason=reasons.get(outcome, ""),
        scatters=_scatters(outcome, others),
    )


def _agree(other_s: Sequence[float], epoch_s: Sequence[float]) -> tuple[CheckOutcome, list[float]]:
    """Return whether two clocks agree, and the ratios: epochs as they are measured / by the other clock."""
    ratios = [ours / others for ours, others in zip(epoch_s, other_s, strict=True)]
    return within(ratios, 1 - CLOCK_MARGIN, 1 + CLOCK_MARGIN)[0], ratios


def _ratio(ratios: Sequence[float]) -> str:
    return f"{median(ratios):.4f}{_ends(within(ratios, 0, 0)[1], decimals=4)}"


def _ends(ends: tuple[float, float] | None, *, decimals: int = 3, scale: float = 1.0, unit: str = "") -> str:
    return f" ({interval(scale * ends[0], scale * ends[1], decimals)}{unit})" if ends else ""


def _percent(share: float) -> str:
    return f"{significant(100 * share, 2)} %"
