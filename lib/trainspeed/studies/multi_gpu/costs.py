"""Where the time of a step on several devices goes, and what more devices would give.

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pandas as pd

from trainspeed.core.errors import UserError
from trainspeed.core.format import NAMES, devices_of, model_of, percent
from trainspeed.core.phase import EXCHANGE, LATENCY
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, LATENCY_BYTES, SINGLE, STRICT, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.forecast import Interconnect, fit_interconnect, forecast, forecast_sentence
from trainspeed.studies.multi_gpu.scaling import STRONG, scaling_frame, scaling_of

GRADIENT_BYTES = 4  # gradients are summed in fp32, under mixed precision too
SUMS_PER_EPOCH = 16  # in an "epoch" of nothing but sums
MEASURED_COSTS = ["step_s", "compute_s", "exchange_s", "exchange_bytes"]
NO_FORECAST = (
    "No forecast: it needs the interconnect of several GPUs, or link_alpha_s and link_bytes_per_s. CPU cores "
    "have none: they share a memory."
)


def share_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return, for every trial on several devices, the trial of one device with its share of the batch."""
    return tuple(dict.fromkeys(_share(trial) for trial in trials if trial.devices > 1))


def _share(trial: Trial) -> Trial:
    return replace(trial, devices=1, nodes=1, strategy=SINGLE, batch_size=trial.batch_size // trial.devices)


def exchange_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return PyTorch's sum of gradients alone, and of a small message, for each model and number of devices.

    The other frameworks hide the sum in their graph; on GPUs its transport is the same, NCCL.
    """
    plain = {"layout": "channels_last", "precision": STRICT, "compile": False}
    ranks = {(trial.model, trial.devices): trial for trial in trials if trial.strategy == "ddp"}
    sums = [replace(t, images_per_epoch=SUMS_PER_EPOCH * t.batch_size, **plain) for t in ranks.values()]
    return tuple(trial.only(phase) for trial in sums for phase in (EXCHANGE, LATENCY))


def step_costs(runs: Sequence[Run]) -> pd.DataFrame:
    """Return what a step is made of, in seconds: a row for each trial on several devices that finished.

    Columns, NaN where not measured:
        framework, what, devices: The trial; `what` and `devices` in words.
        share: Images of one device in a step.
        step_s: The whole step.
        compute_s: Step of one device alone, with its share of the batch.
        exchange_s: Sum of all gradients alone, with no computing to hide behind; of ddp only.
        exchange_bytes: Size of all gradients.
        rest_s: What neither part explains: launching, waiting, shared memory. Below 0 where the parts overlap.
    """
    seconds, sizes = _step_seconds(runs), _gradient_sizes(runs)
    sums = {(t.model, t.devices): sum_s for t, sum_s in seconds.items() if t.phase is EXCHANGE}

    def position(trial: Trial) -> tuple:
        return FRAMEWORKS.index(trial.framework), trial.model, trial.strategy, trial.devices, trial.batch_size

    trials = sorted((t for t in seconds if t.whole_steps and t.devices > 1), key=position)
    rows = [
        {
            "framework": trial.framework,
            "what": f"{model}, batch {trial.batch_size}",
            "devices": devices_of(trial),
            "share": trial.batch_size // trial.devices,
            "step_s": seconds[trial],
            "compute_s": seconds.get(_share(trial)),
            "exchange_s": sums.get((trial.model, trial.devices)) if trial.strategy == "ddp" else None,
            "exchange_bytes": sizes.get((trial.framework, trial.model)),
        }
        for trial, model in zip(trials, _models(trials), strict=True)
    ]
    costs = pd.DataFrame(rows, columns=["framework", "what", "devices", "share", *MEASURED_COSTS])
    costs = costs.astype(dict.fromkeys(MEASURED_COSTS, float))
    return costs.assign(rest_s=costs["step_s"] - costs["compute_s"] - costs["exchange_s"].fillna(0))


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


def _models(trials: Sequence[Trial]) -> list[str]:
    """Return the model of each trial, with the settings that vary between them: "cnn10, bf16"."""
    varying = [name for name in ("layout", "precision") if len({getattr(t, name) for t in trials}) > 1]
    if len({trial.compile for trial in trials if trial.framework != "jax"}) > 1:  # JAX always compiles
        varying.append("compile")
    return [", ".join([model_of(t.model), *(t.factor(name).words(t) for name in varying)]) for t in trials]


def cost_sentences(costs: pd.DataFrame) -> list[str]:
    """Return what a step is made of, where one device alone was measured with its share of the batch.

    Args:
        costs: As returned by `step_costs`.
    """
    sentences = []
    for cost in costs.dropna(subset="compute_s").itertuples():
        exchange, hidden = "", "the exchange, "
        if pd.notna(cost.exchange_s):
            size = f" of {cost.exchange_bytes / 1e6:.3g} MB" if pd.notna(cost.exchange_bytes) else ""
            exchange = f"; summing the gradients{size} takes {_ms(cost.exchange_s)} with nothing beside it"
            hidden = ""
        if cost.rest_s >= 0:
            rest = (
                f"The other {_ms(cost.rest_s)} ({percent(cost.rest_s / cost.step_s)}) are {hidden}launching, "
                "waiting for the slower device, and what the devices share."
            )
        else:
            rest = f"Together that is {_ms(-cost.rest_s)} more than the step: so much ran side by side."
        sentences.append(
            f"{NAMES[cost.framework]}, {cost.what}, {cost.devices}: a step takes {_ms(cost.step_s)}. One device "
            f"alone takes {_ms(cost.compute_s)} for its share of {cost.share} images{exchange}. {rest}"
        )
    return sentences


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
