"""What A/A controls, one trial measured twice in each block, say against the differences that a study called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.coverage import Coverage
from trainspeed.core.factors import RECIPE
from trainspeed.core.format import MAX_DECIMALS, interval
from trainspeed.judge.commands import command_with_time
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome


def control_doubts(control: Sequence[Verdict], coverage: Coverage | None = None) -> dict[str, Verdict | None]:
    """Return the doubts about the same trial, measured twice: has it an interval, and does that cover 1?

    Each comes with its control; that there is none, with None.

    One that misses 1 within the margin is the same twice: no doubt.

    Args:
        coverage: What of its plan the study had time for; None where it had no limit.
    """
    if not control:
        return {_no_control(coverage): None}
    doubts: dict[str, Verdict | None] = {}
    for verdict in control:
        name = ", ".join(verdict.baseline.describe(without=("precision", "compile")))
        if verdict.low is None:
            doubt = f"has {verdict.blocks} of the {MIN_BLOCKS} blocks that an interval needs"
            doubts[f"The A/A control ({name}) {doubt}: {_more_blocks(verdict, coverage)}."] = verdict
        elif not verdict.low <= 1 <= verdict.high and verdict.outcome is not Outcome.SAME:
            doubt = (
                f"The A/A control ({name}) misses 1: {_beside_1(verdict)}. That happens "
                "about once in 20 by chance; a smaller effect than this is not to be believed. Measure again."
            )
            doubts[doubt] = verdict
    return doubts


def _more_blocks(control: Verdict, coverage: Coverage | None) -> str:
    """Return what gives a control more blocks: more time, where the plan had more of them."""
    for group in coverage.groups if coverage else ():
        if group.arms.count(control.baseline) > 1 and group.blocks < group.most:
            return f"give it more time, `{command_with_time(coverage, group.arms)}`"
    return "raise blocks"


def _beside_1(verdict: Verdict) -> str:
    """Return the interval of a control with as many digits as show that 1 is not in it."""
    decimals = 3
    while round(verdict.low, decimals) <= 1 <= round(verdict.high, decimals) and decimals < MAX_DECIMALS:
        decimals += 1
    return interval(verdict.low, verdict.high, decimals)


def _no_control(coverage: Coverage | None) -> str:
    """Return that no control ran, and what gives one: more time, where the plan has a group with a trial twice."""
    none = "nothing here shows how far apart two equal runs are"
    for group in coverage.left_out if coverage else ():
        arms = group.arms
        if len({*arms}) < len(arms):
            command = command_with_time(coverage, arms)
            return f"There was no time for the A/A control, so {none}. Give it more: `{command}`."
    return f"No A/A control ran: {none}. Add one: name a framework in `controls`."


def noise_doubts(verdicts: Iterable[Verdict], control: Iterable[Verdict]) -> dict[str, Verdict]:
    """Return a doubt about each difference that was called though an A/A control does not rule out one as large.

    Each comes with the difference.

    A difference is held against the control of its model and framework, else against that of its framework, else
    against all, the widest; and training only against training: the calls of a convolution scatter less.
    """
    told = list(verdicts)
    known = [one for one in control if one.low is not None]
    searched = {verdict.study for verdict in told if verdict.factor == RECIPE}
    doubts: dict[str, Verdict] = {}
    for verdict in told:
        called = verdict.outcome in (Outcome.FASTER, Outcome.SLOWER) and not verdict.is_control
        if verdict.quantity != "time" or not called:
            continue
        widest = max(_nearest(verdict, known), key=_reach, default=None)
        if widest and abs(log(verdict.speedup)) < log(_reach(widest)):
            # A framework is not confirmed, nor are two times of the same runs, and a search is from fresh blocks.
            again = (
                verdict.row.choice and verdict.baseline != verdict.candidate and verdict.study not in searched
            )
            doubt = (
                f"{verdict.name}: {size_of(verdict)}, but {_setting(widest, verdict)} measured twice may differ as "
                f"much: {interval_of(widest)} in {widest.blocks} blocks. "
                + ("Believe it once fresh blocks confirm it." if again else "Measure more blocks.")
            )
            doubts[doubt] = verdict
    return doubts


def _reach(control: Verdict) -> float:
    """Return how many times as fast the one of two equal trials may be."""
    return max(control.high, 1 / control.low)


def _nearest(verdict: Verdict, control: Sequence[Verdict]) -> list[Verdict]:
    """Return the controls of what is most like a verdict."""
    trial = verdict.candidate
    alike = [one for one in control if one.baseline.phase.calls == trial.phase.calls]
    framework = [one for one in alike if one.baseline.framework == trial.framework]
    model = [one for one in framework if _model(one.baseline) == _model(trial)]
    return model or framework or alike


def _model(trial: AnyTrial) -> str | None:
    """Return the model of a training; the library of a convolution."""
    return getattr(trial, "model", getattr(trial, "library", None))


def _setting(control: Verdict, verdict: Verdict) -> str:
    """Return what a control measured twice, in words: it may be another setting than the verdict's."""
    trial = control.baseline
    if trial in (verdict.baseline, verdict.candidate):
        return "the same setting"
    return f"one setting ({', '.join(trial.describe(without=('precision', 'compile')))})"
