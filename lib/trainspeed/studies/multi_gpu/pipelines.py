"""What the multi-GPU notebook asks of the input pipelines: which part of a step holds the other back?

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from trainspeed.core.check import check_name, check_some
from trainspeed.core.errors import UserError
from trainspeed.core.names import NAMES, devices_of, model_of, pipeline_of
from trainspeed.core.phase import COMPUTE, INPUT, WHOLE
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import (
    FRAMEWORKS,
    PIPELINES,
    PLAIN_PIPELINES,
    SINGLE,
    STRATEGIES,
    WITH_WORKERS,
    Trial,
)
from trainspeed.judge.comparison import Verdict, compare_with

GENERATOR_QUESTION = (
    "Does another input pipeline train faster than a Python generator in the training thread?"
)
# Field of a trial -> the parameter of the notebook that it comes from.
PARAMETERS = {name: f"pipeline_{name}" for name in ("batch_size", "devices", "images_per_epoch")}


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Median epoch of one pipeline, in seconds: its input alone, the compute alone, and both together.

    Attributes:
        trial: The whole steps.
    """

    trial: Trial
    input_s: float | None
    compute_s: float | None
    both_s: float | None


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
                trials += [fed.only(WHOLE), _input_alone(fed)]
    return tuple(dict.fromkeys(trials))


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


def _input_alone(trial: Trial) -> Trial:
    """Return the trial that makes only the input; augmentation in the model is part of the compute.

    With ddp, each rank makes its share of the input with workers of its own. Elsewhere one process makes the
    input for all devices, so it takes as long as for one device.
    """
    if trial.pipeline == "in_model":
        trial = replace(trial, pipeline="arrays", workers=0, augment=False)
    if trial.strategy != "ddp":
        trial = replace(trial, devices=1, strategy=SINGLE)
    return trial.only(INPUT)


def pipeline_balances(runs: Sequence[Run]) -> list[Balance]:
    """Return a balance for every pipeline and number of devices whose whole steps were tried."""
    seconds = RunSet(tuple(runs)).medians(lambda run: run.median_epoch_s)
    tried = dict.fromkeys(run.trial.spec for run in runs if run.trial.whole_steps)

    def position(trial: Trial) -> tuple:
        framework, pipeline = FRAMEWORKS.index(trial.framework), PIPELINES.index(trial.pipeline)
        return framework, trial.model, trial.devices, pipeline, trial.workers

    return [
        Balance(
            trial=trial,
            input_s=seconds.get(_input_alone(trial)),
            compute_s=seconds.get(replace(trial, pipeline="arrays", workers=0, augment=False).only(COMPUTE)),
            both_s=seconds.get(trial),
        )
        for trial in sorted(tried, key=position)
    ]


def balance_sentences(balances: Sequence[Balance]) -> list[str]:
    """Return, for each pipeline that was measured in all parts, what holds it back and how far."""
    sentences = []
    for balance in balances:
        name = f"{_where(balance.trial)}, {pipeline_of(balance.trial)}"
        input_s, compute_s, both_s = balance.input_s, balance.compute_s, balance.both_s
        if not (input_s and compute_s and both_s):
            sentences.append(f"{name}: not measured in all parts.")
            continue
        shorter_s, longer_s = sorted((input_s, compute_s))
        times = longer_s / shorter_s
        bottleneck, other = ("input", "compute") if input_s > compute_s else ("compute", "input")
        extra = round(100 * (both_s / longer_s - 1))
        comparison = "as long as"
        if extra:
            comparison = f"{extra} % longer than" if extra > 0 else f"{-extra} % less time than"
        sentences.append(
            f"{name}: an epoch takes {both_s:.3g} s, its input alone {input_s:.3g} s, its compute alone "
            f"{compute_s:.3g} s. The {bottleneck} is the bottleneck ({times:.{1 if times < 10 else 0}f} "
            f"times the {other}); whole steps take {comparison} the {bottleneck} alone."
        )
    return sentences


def balance_frame(balances: Sequence[Balance]) -> pd.DataFrame:
    """Return a row per balance: where, pipeline, input_s, compute_s, both_s; None where not measured."""
    seconds = ["input_s", "compute_s", "both_s"]
    rows = [
        {
            "where": _where(balance.trial),
            "pipeline": pipeline_of(balance.trial),
            **{name: getattr(balance, name) for name in seconds},
        }
        for balance in balances
    ]
    return pd.DataFrame(rows, columns=["where", "pipeline", *seconds])


def _where(trial: Trial) -> str:
    return f"{NAMES[trial.framework]}, {model_of(trial.model)}, {devices_of(trial)}"


def pipeline_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return every augmenting pipeline against the generator, on the same devices."""

    def generator(trial: Trial) -> list[Trial]:
        if not trial.whole_steps or trial.pipeline in ("generator", "arrays"):
            return []
        return [replace(trial, pipeline="generator", workers=0)]

    return compare_with(runs, generator, "pipeline", question=GENERATOR_QUESTION)
