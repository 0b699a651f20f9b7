"""The trials and the verdicts of the input pipelines. What of a step holds it back: see `balances`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from trainspeed.core.errors import UserError, check_name, check_some
from trainspeed.core.phase import COMPUTE, WHOLE
from trainspeed.core.run import Run
from trainspeed.core.trial import (
    FRAMEWORKS,
    PIPELINES,
    PLAIN_PIPELINES,
    SINGLE,
    STRATEGIES,
    WITH_WORKERS,
    Trial,
)
from trainspeed.judge.beyond_parts import input_alone
from trainspeed.judge.comparison import Verdict, compare_with

GENERATOR = "generator"  # images made in Python in the thread that trains
# Field of a trial -> the parameter of the notebook that it comes from.
PARAMETERS = {name: f"pipeline_{name}" for name in ("batch_size", "devices", "images_per_epoch")}


def pipeline_trials(
    frameworks: Sequence[str],
    models: Sequence[str],
    pipelines: Sequence[str],
    workers: Sequence[int],
    counts: Sequence[int],
    *,
    crossed: Sequence[str] = (),
    **fields: Any,
) -> tuple[Trial, ...]:
    """Return whole steps and input alone of every pipeline, and compute alone, on each number of devices.

    Every pipeline but `arrays` augments. Only TensorFlow has `tf_data`.

    Args:
        workers: Numbers of workers; each is one trial of every pipeline that has workers.
        counts: Numbers of devices; several use the first strategy that a framework has.
        crossed: Pipelines that are measured on every number of devices, the others on one; empty: all.
        fields: Fields of `Trial` that all share; `batch_size` is that of all devices together.
    Raises:
        UserError: A pipeline that does not exist, or an empty list of what it is to be measured with.
    """
    for pipeline in (*pipelines, *crossed):
        check_name("pipeline", pipeline, PIPELINES)
    if not pipelines:
        return ()
    if any(pipeline in WITH_WORKERS for pipeline in pipelines):
        check_some("workers", workers, "name at least one number of workers.")
    for name, values in (("pipeline_frameworks", frameworks), ("pipeline_models", models)):
        check_some(name, values, "name at least one, or measure no input: pipelines: [].")
    trials: list[Trial] = []
    for model, framework, count in product(models, frameworks, counts):
        check_name("framework", framework, FRAMEWORKS)
        compute = _compute_alone(framework, model, count, fields)
        trials.append(compute)
        for pipeline in pipelines:
            if pipeline == "tf_data" and framework != "tensorflow":
                continue
            if count > 1 and crossed and pipeline not in crossed:
                continue
            augment = pipeline not in PLAIN_PIPELINES
            for number in workers if pipeline in WITH_WORKERS else [0]:
                fed = replace(compute, pipeline=pipeline, workers=number, augment=augment)
                trials += [fed.only(WHOLE), input_alone(fed)]
    return tuple(dict.fromkeys(trials))


def baselines(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the whole steps that the other pipelines are compared with; all whole steps where there is no such."""
    whole = tuple(trial for trial in trials if trial.whole_steps)
    return tuple(trial for trial in whole if trial.pipeline == GENERATOR) or whole


def worker_counts(workers: Sequence[int], cores: int) -> list[int]:
    """Return the numbers of workers to measure: those asked for, else 1, 2, 4 … as far as there are cores."""
    return list(workers) or [2**k for k in range(max(1, cores).bit_length())]


def _compute_alone(framework: str, model: str, count: int, fields: dict[str, Any]) -> Trial:
    try:
        return Trial(
            framework=framework,
            model=model,
            devices=count,
            strategy=SINGLE if count == 1 else STRATEGIES[framework][1],
            compile=framework == "jax",
            part=COMPUTE.name,
            **fields,
        )
    except UserError as problem:
        raise problem.named(PARAMETERS) from None


def pipeline_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return every augmenting pipeline against the generator, on the same devices."""

    def generator(trial: Trial) -> list[Trial]:
        if not trial.whole_steps or trial.pipeline in (GENERATOR, "arrays"):
            return []
        return [replace(trial, pipeline=GENERATOR, workers=0)]

    question = "Does another input pipeline train faster than a Python generator in the training thread?"
    return compare_with(runs, generator, "pipeline", question=question)
