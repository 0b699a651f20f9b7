"""What a device does at most: the trials that measure matrix products, convolutions, copies; their results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

import pandas as pd

from trainspeed.core.phase import CONV, COPY, MATMUL, Phase
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import PRECISIONS, Trial
from trainspeed.judge.roofline import Ceiling

CEILING_STEPS = 5  # in an epoch of a ceiling


def ceiling_trials(precisions: Sequence[str], *, dataset: str, seed: int) -> tuple[Trial, ...]:
    """Return the trials that measure the device's ceilings in each precision, and its memory bandwidth."""
    base = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_last",
        batch_size=1,
        images_per_epoch=CEILING_STEPS,
        epochs=4,
        image_size=32,
        dataset=dataset,
        seed=seed,
    )
    rates = [replace(base.only(phase), precision=p) for p in precisions for phase in (MATMUL, CONV)]
    return (*rates, base.only(COPY))


def ceilings_of(runs: Iterable[Run]) -> dict[str, Ceiling]:
    """Return what the device did at most, by precision; those that were not measured are left out."""
    rates: dict[tuple[str, Phase], list[float]] = {}
    for run in runs:
        phase = run.trial.phase
        work = getattr(run, phase.work) if phase.ceiling else None
        if run.status == Status.OK and run.step_s and work:
            rates.setdefault((run.trial.precision, phase), []).append(work / run.step_s)
    medians = {key: median(values) for key, values in rates.items()}
    return {
        precision: Ceiling(
            precision=precision,
            matmul_flop_per_s=medians.get((precision, MATMUL)),
            conv_flop_per_s=medians.get((precision, CONV)),
            bandwidth_bytes_per_s=medians.get(("fp32", COPY)),
        )
        for precision in PRECISIONS
        if (precision, MATMUL) in medians or (precision, CONV) in medians
    }


def ceiling_frame(ceilings: Iterable[Ceiling]) -> pd.DataFrame:
    """Return a row per precision, as `show.roofline.plot_roofline` takes it."""
    columns = ["precision", "peak_flop_per_s", "bandwidth_bytes_per_s"]
    return pd.DataFrame([[getattr(c, name) for name in columns] for c in ceilings], columns=columns)
