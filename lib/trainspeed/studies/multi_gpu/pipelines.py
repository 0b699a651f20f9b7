"""What the multi-GPU notebook asks of the input pipelines: which part of a step holds the other back?

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import pandas as pd

from trainspeed.core.check import check_name, check_some
from trainspeed.core.errors import UserError
from trainspeed.core.format import percent
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

QUESTION = "Does another input pipeline train faster than a Python generator in the training thread?"
BASELINE = "generator"
COMPARED_FACTORS = ("pipeline", "workers", "part", "augment")
# Fields of a trial that are other parameters of the notebook.
PARAMETERS = {name: f"pipeline_{name}" for name in ("batch_size", "devices", "images_per_epoch")}


@dataclass(frozen=True, kw_only=True)
class Balance:
    """Median epoch of one pipeline: its input alone, the compute alone, and both. Seconds.

    Attributes:
        trial: Of the whole steps.
    """

    trial: Trial
    input_s: float | None
    compute_s: float | None
    both_s: float | None

    @property
    def bottleneck(self) -> str | None:
        """Return "input" or "compute", the longer one; None where one was not measured."""
        if self.input_s is None or self.compute_s is None:
            return None
        return "input" if self.input_s > self.compute_s else "compute"


def pipeline_trials(
    frameworks: Sequence[str],
    pipelines: Sequence[str],
    workers: Sequence[int],
    counts: Sequence[int],
    *,
    model: str | Sequence[str],
    crossed: Sequence[str] = (),
    **fields: Any,
) -> tuple[Trial, ...]:
    """Return whole steps and input alone of every pipeline, and compute alone, on each number of devices.

    Every pipeline but `arrays` augments. `tf_data` is TensorFlow's only.

    Args:
        workers: Of the pipelines that have them, one trial each.
        counts: Numbers of devices, with the first strategy that a framework has.
        model: One, or several.
        crossed: Pipelines that are measured on every number of devices, the others on one; empty: all.
        fields: As of `Trial`, the same in all; `batch_size` is that of all devices together.
    Raises:
        UserError: A pipeline that does not exist, or an empty list of what it is to be measured with.
    """
    for pipeline in (*pipelines, *crossed):
        check_name("pipeline", pipeline, PIPELINES)
    if not pipelines:
        return ()
    if any(p in WITH_WORKERS for p in pipelines):
        check_some("workers", workers, "name at least one number of workers.")
    models = [model] if isinstance(model, str) else model
    for name, values in (("pipeline_frameworks", frameworks), ("pipeline_models", models)):
        check_some(name, values, "name at least one, or measure no input: pipelines: [].")
    trials: list[Trial] = []
    for base in _computing(frameworks, models, counts, fields):
        trials.append(base)
        for pipeline in pipelines:
            if pipeline == "tf_data" and base.framework != "tensorflow":
                continue
            if base.devices > 1 and crossed and pipeline not in crossed:
                continue
            for number in workers if pipeline in WITH_WORKERS else [0]:
                how = {"pipeline": pipeline, "workers": number, "augment": pipeline not in PLAIN_PIPELINES}
                whole = replace(base, **how).only(WHOLE)
                trials += [whole, _input_of(whole)]
    return tuple(dict.fromkeys(trials))


def worker_counts(workers: Sequence[int], cores: int) -> list[int]:
    """Return the numbers of workers to measure: those asked for, else 1, 2, 4 … as far as there are cores."""
    return list(workers) or [2**k for k in range(max(1, cores).bit_length())]


def _computing(
    frameworks: Sequence[str], models: Sequence[str], counts: Sequence[int], fields: Mapping[str, Any]
) -> Iterator[Trial]:
    """Yield the compute alone of every framework, model and number of devices."""
    for model, framework, count in product(models, frameworks, counts):
        check_name("framework", framework, FRAMEWORKS)
        how = {"devices": count, "strategy": SINGLE if count == 1 else STRATEGIES[framework][1]}
        how |= {"compile": framework == "jax", "part": COMPUTE.name}
        try:
            yield Trial(framework=framework, model=model, **how, **fields)
        except UserError as problem:
            raise problem.named(PARAMETERS) from None


def _input_of(trial: Trial) -> Trial:
    """Return the input alone of whole steps. The model's own augmentation is computing.

    Ranks of ddp each make their share of the input, with workers of their own; elsewhere one process
    makes it for all devices, and so on one device.
    """
    if trial.pipeline == "in_model":
        trial = replace(trial, pipeline="arrays", workers=0, augment=False)
    if trial.strategy != "ddp":
        trial = replace(trial, devices=1, strategy=SINGLE)
    return trial.only(INPUT)


def balances(runs: Sequence[Run]) -> list[Balance]:
    """Return a balance for every pipeline and number of devices whose whole steps were tried."""
    seconds = RunSet(tuple(runs)).medians(lambda run: run.median_epoch_s)
    whole = dict.fromkeys(run.trial.spec for run in runs if run.trial.whole_steps)
    result = []
    for trial in whole:
        plain = replace(trial, pipeline="arrays", workers=0, augment=False)
        result.append(
            Balance(
                trial=trial,
                input_s=seconds.get(_input_of(trial)),
                compute_s=seconds.get(plain.only(COMPUTE)),
                both_s=seconds.get(trial),
            )
        )
    return sorted(result, key=_place)


def _place(balance: Balance) -> tuple:
    trial = balance.trial
    order = FRAMEWORKS.index(trial.framework), trial.model, trial.devices
    return *order, PIPELINES.index(trial.pipeline), trial.workers


def balance_sentences(found: Sequence[Balance]) -> list[str]:
    """Return, for each pipeline that was measured in all parts, what holds it back and how far."""
    sentences = []
    for balance in found:
        trial = balance.trial
        where = (
            f"{NAMES[trial.framework]}, {model_of(trial.model)}, {devices_of(trial)}, {pipeline_of(trial)}"
        )
        if not (balance.input_s and balance.compute_s and balance.both_s):
            sentences.append(f"{where}: not measured in all parts.")
            continue
        longer, shorter = balance.input_s, balance.compute_s
        other = "compute"
        if balance.bottleneck == "compute":
            longer, shorter, other = balance.compute_s, balance.input_s, "input"
        times = f"{longer / shorter:.{1 if longer < 10 * shorter else 0}f} times the {other}"
        lost = balance.both_s / longer - 1
        sentences.append(
            f"{where}: an epoch takes {balance.both_s:.3g} s, its input alone {balance.input_s:.3g} s, its "
            f"compute alone {balance.compute_s:.3g} s. The {balance.bottleneck} is the bottleneck ({times}); "
            f"together they take {percent(lost, sign='+')} against it alone."
        )
    return sentences


def balance_frame(found: Sequence[Balance]) -> pd.DataFrame:
    """Return a row per balance: where, pipeline, input_s, compute_s, both_s; None where not measured."""
    columns = ["where", "pipeline", "input_s", "compute_s", "both_s"]
    rows = [
        {
            "where": f"{NAMES[b.trial.framework]}, {model_of(b.trial.model)}, {devices_of(b.trial)}",
            "pipeline": pipeline_of(b.trial),
            "input_s": b.input_s,
            "compute_s": b.compute_s,
            "both_s": b.both_s,
        }
        for b in found
    ]
    return pd.DataFrame(rows, columns=columns)


def pipeline_verdicts(runs: Sequence[Run]) -> list[Verdict]:
    """Return every augmenting pipeline against the generator, on the same devices."""

    def generator(trial: Trial) -> list[Trial]:
        if not trial.whole_steps or trial.pipeline in (BASELINE, "arrays"):
            return []
        return [replace(trial, pipeline=BASELINE, workers=0)]

    return compare_with(runs, generator, "pipeline", question=QUESTION)
