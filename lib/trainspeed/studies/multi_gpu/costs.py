"""Where the time of a step on several devices goes.

Pure functions on trials and runs; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from trainspeed.core.format import NAMES, devices_of, model_of, percent, three
from trainspeed.core.phase import EXCHANGE
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS, Trial
from trainspeed.judge.overlap import LEAST_EXCHANGE_SHARE
from trainspeed.studies.multi_gpu.links import BlockKey, gradient_sizes, one_device_share, overlap_of

MEASURED_COSTS = ["step_s", "compute_s", "exchange_s", "exchange_bytes"]
NOT_MEASURED = "Not measured here: it needs whole steps on several devices and one device's share of them."


def share_trials(trials: Iterable[Trial]) -> tuple[Trial, ...]:
    """Return, for every trial on several devices, the trial of one device with its share of the batch."""
    return tuple(dict.fromkeys(one_device_share(trial) for trial in trials if trial.devices > 1))


def step_costs(runs: Sequence[Run]) -> pd.DataFrame:
    """Return what a step is made of, in seconds: a row for each trial on several devices that finished.

    A step and one device's share of it are medians over the blocks that have both, where there are any: a machine is
    not equally fast in all.

    Columns, NaN where not measured:
        framework, what, devices: The trial; `what` and `devices` in words.
        share: Images of one device in a step.
        step_s: The whole step.
        compute_s: Step of one device alone, with its share of the batch.
        exchange_s: Sum of all gradients alone, with no computing to hide behind; of ddp only.
        exchange_bytes: Size of all gradients.
        overlap: How much of the exchange hides behind computing, an `Overlap`; None where that cannot be seen.
        rest_s: What neither part explains: launching, waiting, shared memory. Below 0 where the parts overlap.
    """
    seconds, sizes = step_seconds(runs), gradient_sizes(runs)
    sums = {
        (t.strategy, t.model, t.devices, t.nodes): sum_s
        for t, sum_s in seconds.items()
        if t.phase is EXCHANGE
    }

    def position(trial: Trial) -> tuple:
        return FRAMEWORKS.index(trial.framework), trial.model, trial.strategy, trial.devices, trial.batch_size

    trials = sorted((t for t in seconds if t.whole_steps and t.devices > 1), key=position)
    blocks = _steps_by_block(runs)
    parts = {trial: _with_share(trial, blocks) for trial in trials}
    rows = [
        {
            "framework": trial.framework,
            "what": f"{model}, batch {trial.batch_size}",
            "devices": devices_of(trial),
            "share": trial.batch_size // trial.devices,
            "step_s": parts[trial][0],
            "compute_s": parts[trial][1],
            "exchange_s": sums.get((trial.strategy, trial.model, trial.devices, trial.nodes)),
            "exchange_bytes": sizes.get((trial.framework, trial.model)),
            "overlap": overlap_of(runs, trial),
        }
        for trial, model in zip(trials, _models(trials), strict=True)
    ]
    costs = pd.DataFrame(rows, columns=["framework", "what", "devices", "share", *MEASURED_COSTS, "overlap"])
    costs = costs.astype(dict.fromkeys(MEASURED_COSTS, float))
    return costs.assign(rest_s=costs["step_s"] - costs["compute_s"] - costs["exchange_s"].fillna(0))


def step_seconds(runs: Iterable[Run]) -> dict[Trial, float]:
    """Return the median step of each trial, in seconds; for an exchange this is one sum."""
    return RunSet(tuple(runs)).medians(lambda run: run.step_s)


def _steps_by_block(runs: Iterable[Run]) -> dict[Trial, dict[BlockKey, float]]:
    """Return the step of each trial in each block, in seconds."""
    known = RunSet(tuple(runs)).ok().where(lambda run: run.step_s is not None).by_trial()
    return {trial: {(run.block, run.node): run.step_s for run in own} for trial, own in known.items()}


def _with_share(trial: Trial, blocks: Mapping[Trial, Mapping[BlockKey, float]]) -> tuple[float, float | None]:
    """Return a trial's step, and that of one device's share of it; None where that was not measured."""
    step_s, share_s = blocks[trial], blocks.get(one_device_share(trial), {})
    both = step_s.keys() & share_s.keys()
    step, share = (([s[block] for block in both] or [*s.values()]) for s in (step_s, share_s))
    return median(step), median(share) if share else None


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
            size = f" of {three(cost.exchange_bytes / 1e6)} MB" if pd.notna(cost.exchange_bytes) else ""
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
            f"alone takes {_ms(cost.compute_s)} for its share of {cost.share} images{exchange}. {rest}{_hidden(cost)}"
        )
    return sentences


def _hidden(cost: Any) -> str:
    """Return how much of the exchange hides behind computing; nothing of a row without an exchange of its own."""
    if pd.isna(cost.exchange_s):
        return ""
    if cost.overlap is None:
        least = percent(LEAST_EXCHANGE_SHARE)
        return f" How much of the exchange hides behind computing is not measured: it is under {least} of the step."
    return f" Of the exchange, {cost.overlap.words} hides behind computing."


def _ms(seconds: float) -> str:
    return f"{three(1000 * seconds)} ms"
