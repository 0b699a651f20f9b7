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
from trainspeed.judge.forecast import Forecast, Interconnect, fit_interconnect, forecast, forecast_sentence
from trainspeed.studies.multi_gpu.scaling import STRONG, scaling_of

FP32_BYTES = 4  # gradients are summed in fp32, under mixed precision too
SUMS_PER_EPOCH = 16  # in an "epoch" of nothing but sums


@dataclass(frozen=True, kw_only=True)
class StepCosts:
    """What a training step on several devices is made of. Seconds; None where it was not measured.

    Attributes:
        trial: Of the whole steps.
        compute_s: Of one device alone, with as many images as its share of the batch.
        exchange_s: Of the sum of all gradients alone, with nothing to hide behind.
        exchange_bytes: Size of all gradients.
    """

    trial: Trial
    step_s: float
    compute_s: float | None = None
    exchange_s: float | None = None
    exchange_bytes: int | None = None

    @property
    def rest_s(self) -> float | None:
        """What neither explains: launching, waiting for the slower, shared memory; below 0 where they overlap."""
        return None if self.compute_s is None else self.step_s - self.compute_s - (self.exchange_s or 0.0)


def share_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return one device with its share of the batch, for every trial on several."""
    return tuple(dict.fromkeys(_share(trial) for trial in trials if trial.devices > 1))


def _share(trial: Trial) -> Trial:
    share = trial.batch_size // trial.devices
    return replace(trial, devices=1, strategy=SINGLE, batch_size=share)


def exchange_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return torch's sum of gradients alone, and of a small message, for each model and number of devices.

    The other frameworks hide the sum in their graph; on GPUs its transport is the same, NCCL.
    """
    found = {
        (trial.model, trial.devices): replace(
            trial,
            layout="channels_last",
            precision="fp32",
            compile=False,
            images_per_epoch=SUMS_PER_EPOCH * trial.batch_size,
        )
        for trial in trials
        if trial.strategy == "ddp"
    }
    return tuple(trial.only(phase) for trial in found.values() for phase in (EXCHANGE, LATENCY))


def step_costs(runs: Sequence[Run]) -> list[StepCosts]:
    """Return the costs of every trial on several devices that finished, torch's with its exchange."""
    seconds = _steps(runs)
    sums = {(t.framework, t.model, t.devices): s for t, s in seconds.items() if t.phase is EXCHANGE}
    counts = _parameters(runs)
    found = []
    for trial, step_s in seconds.items():
        if trial.whole_steps and trial.devices > 1:
            count = counts.get((trial.framework, trial.model))
            found.append(
                StepCosts(
                    trial=trial,
                    step_s=step_s,
                    compute_s=seconds.get(_share(trial)),
                    exchange_s=sums.get((trial.framework, trial.model, trial.devices))
                    if trial.strategy == "ddp"
                    else None,
                    exchange_bytes=None if count is None else FP32_BYTES * count,
                )
            )
    return sorted(found, key=_place)


def _place(cost: StepCosts) -> tuple:
    trial = cost.trial
    return FRAMEWORKS.index(trial.framework), trial.model, trial.strategy, trial.devices, trial.batch_size


def _steps(runs: Iterable[Run]) -> dict[Trial, float]:
    """Return each trial's median step, in seconds; of an exchange, that of a sum."""
    return RunSet(tuple(runs)).medians(lambda run: run.step_s)


def _parameters(runs: Iterable[Run]) -> dict[tuple[str, str], int]:
    return {(r.trial.framework, r.trial.model): r.parameters for r in runs if r.parameters is not None}


def cost_sentences(costs: Iterable[StepCosts]) -> list[str]:
    """Return what a step is made of, where one device alone was measured with its share of the batch."""
    sentences = []
    for cost in costs:
        if cost.compute_s is None:
            continue
        trial, share = cost.trial, cost.trial.batch_size // cost.trial.devices
        words = [
            f"{NAMES[trial.framework]}, {model_of(trial.model)}, batch {trial.batch_size}, {devices_of(trial)}: a step "
            f"takes {_ms(cost.step_s)}. One device alone takes {_ms(cost.compute_s)} for its share of {share} images"
        ]
        if cost.exchange_s is not None:
            size = "" if cost.exchange_bytes is None else f" of {cost.exchange_bytes / 1e6:.3g} MB"
            words.append(f"; summing the gradients{size} takes {_ms(cost.exchange_s)} with nothing beside it")
        if cost.rest_s >= 0:
            exchange = "the exchange, " if cost.exchange_s is None else ""
            words.append(
                f". The other {_ms(cost.rest_s)} ({percent(cost.rest_s / cost.step_s)}) are {exchange}launching, "
                "waiting for the slower device, and what the devices share."
            )
        else:
            words.append(
                f". Together that is {_ms(-cost.rest_s)} more than the step: so much ran side by side."
            )
        sentences.append("".join(words))
    return sentences


def step_cost_frame(costs: Iterable[StepCosts]) -> pd.DataFrame:
    """Return a row per trial: where, framework, step_s, compute_s, exchange_s, rest_s; None where not measured."""
    columns = ["where", "framework", "step_s", "compute_s", "exchange_s", "rest_s"]
    rows = [
        {
            "where": f"{model_of(cost.trial.model)}, batch {cost.trial.batch_size}\n{devices_of(cost.trial)}",
            "framework": cost.trial.framework,
            "step_s": cost.step_s,
            "compute_s": cost.compute_s,
            "exchange_s": cost.exchange_s,
            "rest_s": cost.rest_s,
        }
        for cost in costs
    ]
    return pd.DataFrame(rows, columns=columns)


def interconnect_of(
    runs: Iterable[Run], *, alpha_s: float | None, bytes_per_s: float | None
) -> Interconnect | None:
    """Return what is known of the interconnect: as given, else as measured between GPUs, else None.

    CPU cores have no interconnect: they share a memory.
    """
    if given := given_interconnect(alpha_s, bytes_per_s):
        return given
    runs = [run for run in runs if run.machine.get("device") == "gpu"]
    counts, points = _parameters(runs), []
    for trial, sum_s in _steps(runs).items():
        count = counts.get((trial.framework, trial.model))
        if trial.phase is LATENCY:
            points.append((trial.devices, LATENCY_BYTES, sum_s))
        elif trial.phase is EXCHANGE and count is not None:
            points.append((trial.devices, FP32_BYTES * count, sum_s))
    sizes = {devices: {size for p, size, _ in points if p == devices} for devices, _, _ in points}
    points = [point for point in points if len(sizes[point[0]]) > 1]
    return fit_interconnect(points) if points else None


def given_interconnect(alpha_s: float | None, bytes_per_s: float | None) -> Interconnect | None:
    """Return the interconnect that the user gave; None where none was.

    Raises:
        UserError: One constant without the other, or one that makes no sense.
    """
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
    """Raise a UserError for what a forecast cannot be made with, before anything is measured."""
    link = given_interconnect(alpha_s, bytes_per_s)
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
    """Return what more devices would give: rows for the charts, and a sentence each with its error.

    One for each framework, strategy and kind of scaling: of the comparison with the most blocks.
    """
    columns = ["framework", "strategy", "scaling", "devices", "speedup"]
    if interconnect is None:
        return pd.DataFrame(columns=columns), []
    seconds, counts = _steps(runs), _parameters(runs)
    rows, sentences, done = [], [], set()
    for verdict in sorted(verdicts, key=lambda verdict: -verdict.blocks):
        trial, scaling = verdict.candidate, scaling_of(verdict)
        kind = (trial.framework, trial.strategy, scaling)
        count = counts.get((trial.framework, trial.model))
        gathered = kind[:2] == ("torch", "data_parallel")  # to one device, not in a ring
        if gathered or kind in done or count is None or verdict.baseline not in seconds:
            continue
        done.add(kind)
        size_bytes = FP32_BYTES * count
        expected = forecast(
            seconds[verdict.baseline], size_bytes, devices, interconnect, scaling=scaling, overlap=overlap
        )
        measured = _measured_like(verdict, verdicts)
        told = forecast_sentence(
            expected, measured, interconnect, size_bytes=size_bytes, scaling=scaling, overlap=overlap
        )
        sentences.append(f"{NAMES[trial.framework]}, {model_of(trial.model)}, {trial.strategy}: {told}")
        rows += [_row(kind, one) for one in expected]
    return pd.DataFrame(rows, columns=columns), sentences


def _row(kind: tuple[str, str, str], expected: Forecast) -> dict[str, object]:
    framework, strategy, scaling = kind
    return {
        "framework": framework,
        "strategy": strategy,
        "scaling": scaling,
        "devices": expected.devices,
        "speedup": expected.speedup,
    }


def _measured_like(verdict: Verdict, verdicts: Iterable[Verdict]) -> dict[int, float]:
    """Return the measured speed-ups of other numbers of devices over the same baseline, by devices."""
    kind = verdict.baseline, verdict.candidate.strategy, scaling_of(verdict)
    return {
        v.candidate.devices: v.speedup
        for v in verdicts
        if (v.baseline, v.candidate.strategy, scaling_of(v)) == kind and v.speedup is not None
    }


def no_forecast() -> str:
    """Return why there is no forecast, and how to get one."""
    return (
        "No forecast: it needs the interconnect of several GPUs, or link_alpha_s and link_bytes_per_s. CPU cores "
        "have none: they share a memory."
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms"
