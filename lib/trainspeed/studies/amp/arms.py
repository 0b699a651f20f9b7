"""Why 16 bits are not 16 times as fast here: ceilings, FLOPs and shares of a step, from the runs.

Pure functions on runs; the model is `trainspeed.judge.roofline`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

import pandas as pd

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.result import precision_text
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.roofline import Ceiling, Work, gain_sentence, mfu

POINTS = [
    "framework",
    "model",
    "precision",
    "intensity",
    "flop_per_s",
    "mfu",
    "flops_per_image",
    "parameters",
]


def points(runs: Iterable[Run], ceilings: dict[str, Ceiling]) -> pd.DataFrame:
    """Return a row per framework, model and precision: where it stands under the roofs.

    Columns: framework, model, precision, intensity (FLOPs per byte), flop_per_s, mfu (share of the ceiling),
    flops_per_image, parameters; None where not known.
    """
    runs = list(runs)
    rows = []
    for trial, several in _whole_steps(runs).items():
        seconds = [run.step_s for run in several if run.step_s]
        work, count = _work(several), _first(several, "parameters")
        if not seconds or work.flops is None:
            continue
        step_s = median(seconds)
        ceiling = ceilings.get(trial.precision)
        rows.append(
            {
                "framework": trial.framework,
                "model": trial.model,
                "precision": trial.precision,
                "intensity": work.intensity(trial.precision),
                "flop_per_s": work.flops / step_s,
                "mfu": mfu(work, step_s, ceiling),
                "flops_per_image": work.flops / trial.batch_size,
                "parameters": count,
            }
        )
    return pd.DataFrame(rows, columns=POINTS)


def gain_sentences(
    runs: Sequence[Run], verdicts: Iterable[Verdict], ceilings: dict[str, Ceiling]
) -> list[str]:
    """Return, for each model and precision, how much could be gained at best, and how much was."""
    arms = _whole_steps(runs)
    sentences = []
    for verdict in verdicts:
        base, candidate = verdict.baseline, verdict.candidate
        if not base.whole_steps or verdict.quantity != "time" or base not in arms:
            continue
        sentences.append(
            gain_sentence(
                base.framework,
                base.model,
                _work(arms[base]),
                ceilings.get(base.precision, Ceiling(precision=base.precision)),
                ceilings.get(candidate.precision, Ceiling(precision=candidate.precision)),
                matrix_share=(_first(arms[base], "profile") or {}).get("matrix_share"),
                speedup=verdict.speedup,
                low=verdict.low,
                high=verdict.high,
            )
        )
    return sentences


def kernel_frame(runs: Iterable[Run]) -> pd.DataFrame:
    """Return what really ran: a row per arm with its dtype, its matrix share and its first kernel."""
    columns = ["framework", "model", "precision", "dtype", "matrix_share", "kernel"]
    rows = []
    for trial, several in _whole_steps(runs).items():
        profile = _first(several, "profile") or {}
        kernels = profile.get("kernels") or [None]
        dtype = precision_text(_first(several, "effective_precision"))
        if dtype is not None:
            found = (
                trial.framework,
                trial.model,
                trial.precision,
                dtype,
                profile.get("matrix_share"),
                kernels[0],
            )
            rows.append(dict(zip(columns, found, strict=True)))
    return pd.DataFrame(rows, columns=columns)


def cost_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that `cost.cost_frame` wants, medians over the blocks: a row per arm."""
    arm = ["framework", "model", "precision"]
    data = frame[frame["status"] == "ok"]
    # Mean power of all epochs times a later epoch: the first one compiles, and would weigh on few epochs.
    energy_j = data["energy_j"].astype(float) / data["timed_s"] * data["median_epoch_s"].astype(float)
    data = data.assign(energy_j_per_epoch=energy_j, images_per_epoch=data["images_consumed"])
    values = ["images_per_s", "training_s", "energy_j_per_epoch", "images_per_epoch"]
    numbers = data[[*arm, *values]].astype(dict.fromkeys(values, float))
    return numbers.groupby(arm, as_index=False, sort=False).median()


def _whole_steps(runs: Iterable[Run]) -> dict[AnyTrial, RunSet]:
    return RunSet(tuple(runs)).ok().where(lambda run: run.trial.whole_steps).by_trial()


def _work(runs: Iterable[Run]) -> Work:
    runs = list(runs)
    return Work(flops=_first(runs, "step_flops"), bytes=_first(runs, "step_bytes"))


def _first(runs: Iterable[Run], name: str) -> object:
    """Return what the first run that was looked at found; None where none was."""
    return next((value for run in runs if (value := getattr(run, name)) is not None), None)
