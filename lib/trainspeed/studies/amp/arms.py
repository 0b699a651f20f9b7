"""What each arm of the amp notebook did, and what held it back: its work, kernels, possible gain and cost.

Pure functions on runs; the model of what could be gained is that of `judge.roofline`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any

import pandas as pd

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import STRICT
from trainspeed.judge.ceilings import ceiling_in
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.cost import KEY_COLUMNS, MEASURED
from trainspeed.judge.gpu_busy import waiting_sentence
from trainspeed.judge.roofline import Ceiling, Work, gain_sentence, mfu

ROOFLINE_NUMBERS = ["intensity", "flop_per_s", "mfu", "flops_per_image", "parameters"]


def roofline_points(runs: Iterable[Run], ceilings: dict[str, Ceiling]) -> pd.DataFrame:
    """Return where each framework, model and precision stands under the roofs, a row per arm.

    Columns: framework, model, precision, intensity (FLOPs per byte), flop_per_s, mfu (share of the ceiling),
    flops_per_image, parameters; NaN where not known.
    """
    rows = []
    for trial, arm in trained_arms(runs).items():
        seconds = [run.step_s for run in arm if run.step_s]
        work = _work(arm)
        if not seconds or work.flops is None:
            continue
        step_s = median(seconds)
        rows.append(
            {
                **{name: getattr(trial, name) for name in KEY_COLUMNS},
                "intensity": work.intensity(trial.precision),
                "flop_per_s": work.flops / step_s,
                "mfu": mfu(work, step_s, _ceiling(arm, ceilings)),
                "flops_per_image": work.flops / trial.batch_size,
                "parameters": first_known(arm, "parameters"),
            }
        )
    points = pd.DataFrame(rows, columns=[*KEY_COLUMNS, *ROOFLINE_NUMBERS])
    return points.astype(dict.fromkeys(ROOFLINE_NUMBERS, float))


def gain_sentences(
    runs: Iterable[Run], verdicts: Iterable[Verdict], ceilings: dict[str, Ceiling]
) -> list[str]:
    """Return, for each model and precision, how much could be gained at best, how much was, and if the GPU waits."""
    arms = trained_arms(runs)
    sentences = []
    for verdict in verdicts:
        base, candidate = verdict.baseline, verdict.candidate
        if verdict.quantity != "time" or base not in arms or candidate.precision == STRICT:
            continue  # 32 bits are no way to gain
        gain = gain_sentence(
            base.framework,
            base.model,
            _work(arms[base]),
            _ceiling(arms[base], ceilings),
            ceilings.get(candidate.precision, Ceiling(precision=candidate.precision)),
            verdict.judgement,
            matrix_share=(first_known(arms[base], "profile") or {}).get("matrix_share"),
        )
        waits = waiting_sentence(arms[base], arms.get(candidate, ()))
        sentences.append(" ".join(filter(None, [gain, waits])))
    return sentences


def cost_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns that `judge.cost.cost_frame` takes: a row per arm, medians over the blocks."""
    data = frame[frame["status"] == "ok"]
    data = data.rename(columns={"epoch_energy_j": "energy_j_per_epoch"})
    numbers = data[[*KEY_COLUMNS, *MEASURED]].astype(dict.fromkeys(MEASURED, float))
    return numbers.groupby(list(KEY_COLUMNS), as_index=False, sort=False).median()


def trained_arms(runs: Iterable[Run]) -> dict[AnyTrial, RunSet]:
    """Return the runs of whole steps that ended well, by trial."""
    return RunSet(tuple(runs)).ok().where(lambda run: run.trial.whole_steps).by_trial()


def _ceiling(arm: RunSet, ceilings: Mapping[str, Ceiling]) -> Ceiling:
    """Return what the device does at most in an arm's precision, as that was in effect."""
    return ceiling_in(arm[0].trial.precision, first_known(arm, "tf32"), ceilings)


def _work(arm: Sequence[Run]) -> Work:
    return Work(flops=first_known(arm, "step_flops"), bytes=first_known(arm, "step_bytes"))


def first_known(arm: Sequence[Run], name: str) -> Any:
    """Return a field of the first run that has it, since not every run is profiled; None where none has."""
    return next((value for run in arm if (value := getattr(run, name)) is not None), None)
