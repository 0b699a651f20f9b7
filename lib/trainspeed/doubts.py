"""Reasons to distrust a study, each with a remedy. Pure functions on runs; they decide no verdict."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from trainspeed.comparison import Verdict
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.run import Run, Status
from trainspeed.verdict import LEAST_BLOCKS
from trainspeed.wording import NAMES, describe

DRIFT_SHARE = 0.10  # of the median epoch: the last against the second
NUMBER = re.compile(r"GPU \d+|\d")  # which GPU it was is no mere number
COMPARED_PARTS = ("both", "fit", "compute")  # the others are short by nature, and no verdict is made of them
SHORT_EPOCH_S = 0.05  # below, the framework's own overhead per epoch weighs more than the training


def study_doubts(runs: Sequence[Run], control: Iterable[Verdict]) -> list[str]:
    """Return the doubts about a study, the weightiest first."""
    ok = [run for run in runs if run.status == Status.OK]
    return [*control_doubts(list(control)), *_counted(ok)]


def control_doubts(control: Sequence[Verdict]) -> list[str]:
    """Doubts from measuring the same trial twice: does the interval cover 1, and how wide is it?"""
    if not control:
        return ["No A/A control ran: nothing here shows how far apart two equal runs are. Add one."]
    doubts = []
    for verdict in control:
        judged, name = (
            verdict.judgement,
            ", ".join(describe(verdict.baseline, without=("precision", "compile"))),
        )
        if judged.low is None:
            doubts.append(
                f"The A/A control ({name}) has {judged.blocks} of the {LEAST_BLOCKS} blocks that an interval "
                "needs: raise blocks."
            )
        elif not judged.low <= 1 <= judged.high:
            doubts.append(
                f"The A/A control ({name}) misses 1: {judged.low:.3f} to {judged.high:.3f}. That happens "
                "about once in 20 by chance; a smaller effect than this is not to be believed. Measure again."
            )
    return doubts


def resolution(verdict: Verdict) -> float | None:
    """Return how far from 1 the control's interval reaches, as a ratio such as 1.03; None without one."""
    judged = verdict.judgement
    return None if judged.low is None else max(judged.high, 1 / judged.low)


def run_doubts(run: Run) -> list[str]:
    """Doubts about one run: what it noted itself, and what its epochs show."""
    doubts = list(run.notes)
    if isinstance(run.trial, Conv2dTrial):
        return doubts
    steps = run.trial.steps_per_epoch * run.trial.epochs
    if run.skipped_steps and 2 * run.skipped_steps >= steps:
        doubts.append(
            f"The loss scaler left out {run.skipped_steps} of {steps} steps while it looked for its scale: the "
            "accuracy is that of few steps. Train more epochs."
        )
    steady = run.epoch_s[1:] if run.trial.part in COMPARED_PARTS else ()
    if len(steady) >= 2:
        middle = median(steady)
        if abs(steady[-1] - steady[0]) > DRIFT_SHARE * middle:
            doubts.append(
                f"The epoch time changed by more than {100 * DRIFT_SHARE:.0f} % during a run: "
                "heat, another process or tracing in epoch 2. Train more epochs."
            )
        if middle < SHORT_EPOCH_S:
            doubts.append(f"Epochs were shorter than {SHORT_EPOCH_S} s: raise images_per_epoch.")
    return doubts


def _counted(runs: Sequence[Run]) -> list[str]:
    """Count equal doubts over runs, numbers in them aside, so that 60 runs do not make 60 lines.

    The one with the largest numbers stands for them.
    """
    examples: dict[str, str] = {}
    counts: Counter[str] = Counter()
    frameworks: dict[str, set[str]] = {}
    for run in runs:
        for doubt in run_doubts(run):
            kind = NUMBER.sub(lambda found: found[0] if found[0].startswith("GPU") else "", doubt)
            examples[kind] = max(examples.get(kind, doubt), doubt, key=_numbers)
            counts[kind] += 1
            frameworks.setdefault(kind, set()).add(NAMES[run.trial.framework])
    return [
        f"{count} of {len(runs)} runs ({', '.join(sorted(frameworks[kind]))}): {examples[kind]}"
        for kind, count in counts.most_common()
    ]


def _numbers(doubt: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", doubt)]
