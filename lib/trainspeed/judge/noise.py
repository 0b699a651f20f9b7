"""What A/A controls, one trial measured twice in each block, say against the differences that a study called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log

from trainspeed.core.format import NAMES
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome


def control_doubts(control: Sequence[Verdict]) -> list[str]:
    """Return the doubts about the same trial, measured twice: has it an interval, and does that cover 1?"""
    if not control:
        return ["No A/A control ran: nothing here shows how far apart two equal runs are. Add one."]
    doubts = []
    for verdict in control:
        name = ", ".join(verdict.baseline.describe(without=("precision", "compile")))
        if verdict.low is None:
            doubts.append(
                f"The A/A control ({name}) has {verdict.blocks} of the {MIN_BLOCKS} blocks that an interval "
                "needs: raise blocks."
            )
        elif not verdict.low <= 1 <= verdict.high:
            doubts.append(
                f"The A/A control ({name}) misses 1: {verdict.low:.3f} to {verdict.high:.3f}. That happens "
                "about once in 20 by chance; a smaller effect than this is not to be believed. Measure again."
            )
    return doubts


def noise_doubts(verdicts: Iterable[Verdict], control: Iterable[Verdict]) -> list[str]:
    """Return a doubt about each difference that was called though its A/A control does not rule out one as large.

    A difference is held against the control of its framework, or against all where that has none, and training only
    against training: the calls of a convolution scatter less.
    """
    known = [one for one in control if one.low is not None]
    doubts = []
    for verdict in verdicts:
        called = verdict.outcome in (Outcome.FASTER, Outcome.SLOWER) and not verdict.is_control
        if verdict.quantity != "time" or not called:
            continue
        trial = verdict.candidate
        alike = [one for one in known if one.baseline.phase.calls == trial.phase.calls]
        own = [one for one in alike if one.baseline.framework == trial.framework] or alike
        widest = max(own, key=lambda one: max(one.high, 1 / one.low), default=None)
        if widest and abs(log(verdict.speedup)) < log(max(widest.high, 1 / widest.low)):
            of = (
                ""
                if widest.baseline.framework == trial.framework
                else f" ({NAMES[widest.baseline.framework]})"
            )
            doubts.append(
                f"{verdict.name}: {size_of(verdict)}, but the same setting measured twice{of} may differ as much: "
                f"{interval_of(widest)} in {widest.blocks} blocks. Believe it once fresh blocks confirm it."
            )
    return doubts
