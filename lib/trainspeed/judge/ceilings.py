"""What a device does at most: the trials that measure matrix products, convolutions, copies; their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

import pandas as pd

from trainspeed.core.format import DEFAULT_PRECISION
from trainspeed.core.phase import CONV, COPY, MATMUL, Phase
from trainspeed.core.result import CONVOLUTIONS, PRODUCTS, TF32_WORK
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import PRECISIONS, STRICT, Trial
from trainspeed.judge.roofline import Ceiling

CEILING_STEPS = 5  # in an epoch of a ceiling


def ceiling_trials(precisions: Iterable[str], *, dataset: str, seed: int) -> tuple[Trial, ...]:
    """Return the trials that measure the device's ceilings in each precision, and its memory bandwidth.

    The default precision has none of its own: see `ceiling_in`.
    """
    base = Trial(
        framework="torch",
        precision=STRICT,
        model="cnn10",
        layout="channels_last",
        batch_size=1,
        images_per_epoch=CEILING_STEPS,
        epochs=4,
        image_size=32,
        dataset=dataset,
        seed=seed,
    )
    measured = dict.fromkeys(STRICT if p == DEFAULT_PRECISION else p for p in precisions)
    rates = [replace(base.only(phase), precision=p) for p in measured for phase in (MATMUL, CONV)]
    return (*rates, base.only(COPY))


def ceilings_of(runs: Iterable[Run], *, quickest: bool = False) -> dict[str, Ceiling]:
    """Return what the device did at most, by precision; those that were not measured are left out.

    Args:
        quickest: Whether of all epochs that count the quickest does, where a ceiling's own scatter ends, in
            place of medians.
    """
    rates: dict[tuple[str, Phase], list[float]] = {}
    for run in runs:
        phase = run.trial.phase
        work = getattr(run, phase.work) if phase.ceiling else None
        if run.status == Status.OK and run.step_s and work:
            share = median(run.later_epoch_s) / min(run.later_epoch_s) if quickest else 1.0
            rates.setdefault((run.trial.precision, phase), []).append(share * work / run.step_s)
    at_most = {key: (max if quickest else median)(values) for key, values in rates.items()}
    return {
        precision: Ceiling(
            precision=precision,
            matmul_flop_per_s=at_most.get((precision, MATMUL)),
            conv_flop_per_s=at_most.get((precision, CONV)),
            bandwidth_bytes_per_s=at_most.get((STRICT, COPY)),
        )
        for precision in PRECISIONS
        if (precision, MATMUL) in at_most or (precision, CONV) in at_most
    }


def ceiling_in(precision: str, tf32: Sequence[str] | None, ceilings: Mapping[str, Ceiling]) -> Ceiling:
    """Return what the device does at most in a precision; in the default one, by what the framework allows there.

    That is the ceiling of tf32 for the kinds of work in which TF32 is allowed, and of fp32 for the others. Unless both
    were measured, it has no peak: one that is too low would be exceeded.

    Args:
        tf32: As in `core.result.RunResult`.
        ceilings: As returned by `ceilings_of`.
    """
    if precision != DEFAULT_PRECISION:
        return ceilings.get(precision, Ceiling(precision=precision))
    known = {kind: ceilings.get("tf32" if kind in (tf32 or ()) else STRICT) for kind in TF32_WORK}
    bandwidths = (ceiling.bandwidth_bytes_per_s for ceiling in ceilings.values())
    bandwidth = next((b for b in bandwidths if b is not None), None)
    if tf32 is None or None in known.values():
        return Ceiling(precision=precision, bandwidth_bytes_per_s=bandwidth)
    return Ceiling(
        precision=precision,
        matmul_flop_per_s=known[PRODUCTS].matmul_flop_per_s,
        conv_flop_per_s=known[CONVOLUTIONS].conv_flop_per_s,
        bandwidth_bytes_per_s=bandwidth,
    )


def ceiling_frame(ceilings: Iterable[Ceiling]) -> pd.DataFrame:
    """Return a row per precision, as `show.roofline.plot_roofline` takes it."""
    columns = ["precision", "peak_flop_per_s", "bandwidth_bytes_per_s"]
    return pd.DataFrame([[getattr(c, name) for name in columns] for c in ceilings], columns=columns)
