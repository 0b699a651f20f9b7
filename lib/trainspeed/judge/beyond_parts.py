"""Whole steps that are faster than a part of them alone: one of the two measured something else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from trainspeed.core.format import fixed
from trainspeed.core.phase import COMPUTE, INPUT, Phase
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import SINGLE, Trial
from trainspeed.judge.comparison import judge_runs
from trainspeed.judge.verdict import Outcome

MOST_NAMED = 3  # in a sentence
PART_WORDS = {INPUT.name: "their input", COMPUTE.name: "their computing"}


@dataclass(frozen=True, kw_only=True)
class BeyondPart:
    """Whole steps that took less time than a part of them alone, by more than noise and margin.

    Attributes:
        trial: The whole steps.
        phase: The part.
        times: How many times as fast they were, the median over the blocks.
    """

    trial: Trial
    phase: Phase
    times: float


def input_alone(trial: Trial) -> Trial:
    """Return the trial that makes only the input; augmentation in the model is part of the compute.

    With ddp, each rank makes its share of the input with workers of its own. Elsewhere one process makes the
    input for all devices, so it takes as long as for one device.
    """
    if trial.pipeline == "in_model":
        trial = replace(trial, pipeline="arrays", workers=0, augment=False)
    if trial.strategy != "ddp":
        trial = replace(trial, devices=1, nodes=1, strategy=SINGLE)
    return trial.only(INPUT)


def compute_alone(trial: Trial) -> Trial:
    """Return the trial that only computes, on the same arrays again and again, whatever the pipeline of the steps."""
    return replace(trial, pipeline="arrays", workers=0, augment=False).only(COMPUTE)


def beyond_parts(runs: Iterable[Run]) -> list[BeyondPart]:
    """Return the whole steps that a verdict calls faster than a part of them alone, the farthest beyond first.

    Only blocks count in which both took turns with one another, and 6 of them are needed: else the machine, or a single
    process, may have been another one.
    """
    arms = RunSet(tuple(runs)).data().ok().where(lambda run: run.trial.phase.of_model).by_trial()
    found = []
    for trial in (trial for trial in arms if trial.whole_steps):
        parts = dict.fromkeys(
            (input_alone(trial), trial.only(INPUT), compute_alone(trial), trial.only(COMPUTE))
        )
        for part in (part for part in parts if part in arms):
            judged = judge_runs(*_together(arms[part], arms[trial]))
            if judged.outcome is Outcome.FASTER:
                found.append(BeyondPart(trial=trial, phase=part.phase, times=judged.speedup))
    return sorted(found, key=lambda one: one.times, reverse=True)


def _together(*arms: RunSet) -> list[RunSet]:
    """Return the runs of these arms that took turns with one of each other arm."""
    turns = set.intersection(*({(run.block, run.alive_with) for run in arm} for arm in arms))
    return [arm.where(lambda run: (run.block, run.alive_with) in turns) for arm in arms]


def part_doubts(runs: Iterable[Run]) -> list[str]:
    """Return what to make of whole steps that are faster than a part of them, in a sentence; none where none is."""
    if not (found := beyond_parts(runs)):
        return []
    steps = [
        f"{', '.join(one.trial.describe())}, {fixed(one.times, 2)} times as fast as {PART_WORDS[one.phase.name]}"
        for one in found[:MOST_NAMED]
    ]
    more = [f"{len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else []
    return [
        f"Whole steps were faster than a part of them alone: {'; '.join([*steps, *more])}. The part alone may wait for "
        "what whole steps overlap, or these leave work out: do not rely there on which part is the bottleneck."
    ]
