"""Where the time of a step on several devices goes, and what more devices would give.

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from trainspeed.core.errors import UserError
from trainspeed.core.format import percent
from trainspeed.core.names import NAMES, devices_of, model_of
from trainspeed.core.phase import EXCHANGE, LATENCY
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, LATENCY_BYTES, SINGLE, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.forecast import Interconnect, fit_interconnect, forecast, forecast_sentence
from trainspeed.studies.multi_gpu.scaling import STRONG, scaling_frame, scaling_of

GRADIENT_BYTES = 4  # gradients are summed in fp32, under mixed precision too
SUMS_PER_EPOCH = 16  # in an "epoch" of nothing but sums
NO_FORECAST = (
    "No forecast: it needs the interconnect of several GPUs, or link_alpha_s and link_bytes_per_s. CPU cores "
    "have none: they share a memory."
)


@dataclass(frozen=True, kw_only=True)
class StepCosts:
    """What a training step on several devices is made of, in seconds; None where it was not measured.

    Attributes:
        trial: The whole steps on several devices.
        step_s: Median duration of a step.
        compute_s: Step of one device alone, with as many images as its share of the batch.
        exchange_s: Sum of all gradients alone, with no computing to hide behind.
        exchange_bytes: Size of all gradients.
    """

    trial: Trial
    step_s: float
    compute_s: float | None = None
    exchange_s: float | None = None
    exchange_bytes: int | None = None

    @property
    def rest_s(self) -> float | None:
        """What neither part explains: launching, waiting, shared memory. Below 0 where the parts overlap."""
        return None if self.compute_s is None else self.step_s - self.compute_s - (self.exchange_s or 0.0)


def share_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return, for every trial on several devices, the trial of one device with its share of the batch."""
    return tuple(dict.fromkeys(_share(trial) for trial in trials if trial.devices > 1))


def _share(trial: Trial) -> Trial:
    return replace(trial, devices=1, strategy=SINGLE, batch_size=trial.batch_size // trial.devices)


def exchange_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return PyTorch's sum of gradients alone, and of a small message, for each model and number of devices.

    The other frameworks hide the sum in their graph; on GPUs its transport is the same, NCCL.
    """
    plain = {"layout": "channels_last", "precision": "fp32", "compile": False}
    ranks = {(trial.model, trial.devices): trial for trial in trials if trial.strategy == "ddp"}
    sums = [replace(t, images_per_epoch=SUMS_PER_EPOCH * t.batch_size, **plain) for t in ranks.values()]
    return tuple(trial.only(phase) for trial in sums for phase in (EXCHANGE, LATENCY))


def step_costs(runs: Sequence[Run]) -> list[StepCosts]:
    """Return the costs of every trial on several devices that finished; those of ddp with their exchange."""
    seconds, sizes = _step_seconds(runs), _gradient_sizes(runs)
    sums = {(t.model, t.devices): sum_s for t, sum_s in seconds.items() if t.phase is EXCHANGE}
    costs = [
        StepCosts(
            trial=trial,
            step_s=step_s,
            compute_s=seconds.get(_share(trial)),
            exchange_s=sums.get((trial.model, trial.devices)) if trial.strategy == "ddp" else None,
            exchange_bytes=sizes.get((trial.framework, trial.model)),
        )
        for trial, step_s in seconds.items()
        if trial.whole_steps and trial.devices > 1
    ]

    def position(cost: StepCosts) -> tuple:
        trial = cost.trial
        return FRAMEWORKS.index(trial.framework), trial.model, trial.strategy, trial.devices, trial.batch_size

    return sorted(costs, key=position)


def _step_seconds(runs: Iterable[Run]) -> dict[Trial, float]:
    """Return the median step of each trial, in seconds; for an exchange this is one sum."""
    return RunSet(tuple(runs)).medians(lambda run: run.step_s)


def _gradient_sizes(runs: Iterable[Run]) -> dict[tuple[str, str], int]:
    """Return (framework, model) -> bytes of all its gradients, where its parameters were counted."""
    return {
        (run.trial.framework, run.trial.model): GRADIENT_BYTES * run.parameters
        for run in runs
        if run.parameters is not None
    }


def _models(costs: Sequence[StepCosts]) -> list[str]:
    """Return the model of each trial, with the settings that vary between them: "cnn10, bf16"."""
    trials = [cost.trial for cost in costs]
    varying = [name for name in ("layout", "precision") if len({getattr(t, name) for t in trials}) > 1]
    if len({trial.compile for trial in trials if trial.framework != "jax"}) > 1:  # JAX always compiles
        varying.append("compile")
    return [", ".join([model_of(t.model), *(t.factor(name).words(t) for name in varying)]) for t in trials]


def cost_sentences(costs: Sequence[StepCosts]) -> list[str]:
    """Return what a step is made of, where one device alone was measured with its share of the batch."""
    sentences = []
    for cost, model in zip(costs, _models(costs), strict=True):
        if cost.compute_s is None:
            continue
        trial, share = cost.trial, cost.trial.batch_size // cost.trial.devices
        parts = [
            f"{NAMES[trial.framework]}, {model}, batch {trial.batch_size}, {devices_of(trial)}: a step "
            f"takes {_ms(cost.step_s)}. One device alone takes {_ms(cost.compute_s)} for its share of {share} images"
        ]
        if cost.exchange_s is not None:
            size = "" if cost.exchange_bytes is None else f" of {cost.exchange_bytes / 1e6:.3g} MB"
            parts.append(f"; summing the gradients{size} takes {_ms(cost.exchange_s)} with nothing beside it")
        if cost.rest_s >= 0:
            exchange = "the exchange, " if cost.exchange_s is None else ""
            parts.append(
                f". The other {_ms(cost.rest_s)} ({percent(cost.rest_s / cost.step_s)}) are {exchange}launching, "
                "waiting for the slower device, and what the devices share."
            )
        else:
            overlap = _ms(-cost.rest_s)
            parts.append(f". Together that is {overlap} more than the step: so much ran side by side.")
        sentences.append("".join(parts))
    return sentences


def step_cost_frame(costs: Sequence[StepCosts]) -> pd.DataFrame:
    """Return a row per trial: where, framework, step_s, compute_s, exchange_s, rest_s; None where not measured."""
    seconds = ["step_s", "compute_s", "exchange_s", "rest_s"]
    rows = [
        {
            "where": f"{model}, batch {cost.trial.batch_size}\n{devices_of(cost.trial)}",
            "framework": cost.trial.framework,
            **{name: getattr(cost, name) for name in seconds},
        }
        for cost, model in zip(costs, _models(costs), strict=True)
    ]
    return pd.DataFrame(rows, columns=["where", "framework", *seconds])


def interconnect_of(
    runs: Iterable[Run], *, alpha_s: float | None, bytes_per_s: float | None
) -> Interconnect | None:
    """Return what is known of the interconnect: as given, else as measured between GPUs, else None.

    CPU cores have no interconnect: they share a memory.

    Raises:
        UserError: One constant without the other, or one that makes no sense.
    """
    if given := _given_interconnect(alpha_s, bytes_per_s):
        return given
    runs = [run for run in runs if run.machine.get("device") == "gpu"]
    sizes, points = _gradient_sizes(runs), []
    for trial, sum_s in _step_seconds(runs).items():
        size = sizes.get((trial.framework, trial.model))
        if trial.phase is LATENCY:
            points.append((trial.devices, LATENCY_BYTES, sum_s))
        elif trial.phase is EXCHANGE and size is not None:
            points.append((trial.devices, size, sum_s))
    # One size alone cannot tell latency from bandwidth.
    known = {count: {size for devices, size, _ in points if devices == count} for count, _, _ in points}
    points = [point for point in points if len(known[point[0]]) > 1]
    return fit_interconnect(points) if points else None


def _given_interconnect(alpha_s: float | None, bytes_per_s: float | None) -> Interconnect | None:
    """Return the interconnect that the user gave; None where there is none."""
    if (alpha_s is None) != (bytes_per_s is None):
        rule = "and {link_bytes_per_s} go together: give both or neither."
        raise UserError("link_alpha_s", alpha_s, rule, link_bytes_per_s=bytes_per_s)
    if alpha_s is None:
        return None
    if not bytes_per_s > 0:
        raise UserError("link_bytes_per_s", bytes_per_s, "must be positive, for example 25.0e+9.")
    return Interconnect(alpha_s=alpha_s, beta_s_per_byte=1 / bytes_per_s, source="given")


def check_forecast(
    alpha_s: float | None, bytes_per_s: float | None, devices: Sequence[int], overlap: float
) -> None:
    """Raise a UserError, before anything is measured, where a forecast cannot be made with these values."""
    link = _given_interconnect(alpha_s, bytes_per_s)
    link = link or Interconnect(alpha_s=0.0, beta_s_per_byte=1.0, source="a check")
    if devices:
        forecast(1.0, 1.0, devices, link, scaling=STRONG, overlap=overlap)


def forecasts(
    runs: Sequence[Run],
    verdicts: Sequence[Verdict],
    devices: Sequence[int],
    interconnect: Interconnect | None,
    *,
    overlap: float,
) -> tuple[pd.DataFrame, list[str]]:
    """Return what more devices would give: rows for the charts, and a sentence for each with its error.

    There is one forecast for each framework, strategy and kind of scaling: it extends the comparison with the
    most blocks.
    """
    if interconnect is None or not devices:
        return scaling_frame([]), []
    seconds, sizes = _step_seconds(runs), _gradient_sizes(runs)
    rows, sentences, done = [], [], set()
    for verdict in sorted(verdicts, key=lambda verdict: -verdict.blocks):
        trial, scaling = verdict.candidate, scaling_of(verdict)
        kind = (trial.framework, trial.strategy, scaling)
        size_bytes = sizes.get((trial.framework, trial.model))
        gathered = kind[:2] == ("torch", "data_parallel")  # to one device, not in a ring
        if gathered or kind in done or size_bytes is None or verdict.baseline not in seconds:
            continue
        done.add(kind)
        expected = forecast(
            seconds[verdict.baseline], size_bytes, devices, interconnect, scaling=scaling, overlap=overlap
        )
        measured = {
            v.candidate.devices: v.speedup
            for v in verdicts
            if v.speedup is not None and _line(v) == _line(verdict)
        }
        sentence = forecast_sentence(
            expected, measured, interconnect, size_bytes=size_bytes, scaling=scaling, overlap=overlap
        )
        sentences.append(f"{NAMES[trial.framework]}, {model_of(trial.model)}, {trial.strategy}: {sentence}")
        rows += [
            trial.as_dict() | {"scaling": scaling, "devices": one.devices, "speedup": one.speedup}
            for one in expected
        ]
    return pd.DataFrame(rows, columns=scaling_frame([]).columns), sentences


def _line(verdict: Verdict) -> tuple:
    """Return what verdicts on different numbers of devices have in common."""
    return verdict.baseline, verdict.candidate.strategy, scaling_of(verdict)


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"
