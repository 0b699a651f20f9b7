"""Reasons to distrust a study, each with a remedy. Pure functions on runs; they decide no verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from trainspeed.core.names import NAMES
from trainspeed.core.notes import Note
from trainspeed.core.run import Run, Status
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.notes import DRIFT_SHARE, SHORT_EPOCH_S, EpochsDrifted, EpochsShort, StepsSkipped, text
from trainspeed.judge.verdict import MIN_BLOCKS


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
            ", ".join(verdict.baseline.describe(without=("precision", "compile"))),
        )
        if judged.low is None:
            doubts.append(
                f"The A/A control ({name}) has {judged.blocks} of the {MIN_BLOCKS} blocks that an interval "
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


def run_doubts(run: Run) -> list[Note]:
    """Doubts about one run: what it noted itself, and what its epochs show."""
    doubts: list[Note] = list(run.notes)
    if run.trial.phase.calls:
        return doubts
    steps = run.trial.steps_per_epoch * run.trial.epochs
    if run.skipped_steps and 2 * run.skipped_steps >= steps:
        doubts.append(StepsSkipped(skipped=run.skipped_steps, steps=steps))
    steady = run.epoch_s[1:] if run.trial.phase.compared else ()
    if len(steady) >= 2:
        middle = median(steady)
        if abs(steady[-1] - steady[0]) > DRIFT_SHARE * middle:
            doubts.append(EpochsDrifted())
        if middle < SHORT_EPOCH_S:
            doubts.append(EpochsShort())
    return doubts


def _counted(runs: Sequence[Run]) -> list[str]:
    """Count equal doubts over runs, so that 60 runs do not make 60 lines; the largest stands for them."""
    groups: dict[tuple, list[tuple[Note, Run]]] = {}
    for run in runs:
        for note in run_doubts(run):
            groups.setdefault((note.kind, note.subject), []).append((note, run))
    sentences = []
    for group in sorted(groups.values(), key=len, reverse=True):
        frameworks = ", ".join(sorted({NAMES[run.trial.framework] for _, run in group}))
        largest = max((note for note, _ in group), key=lambda note: note.amounts)
        sentences.append(f"{len(group)} of {len(runs)} runs ({frameworks}): {text(largest)}")
    return sentences
