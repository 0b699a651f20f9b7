"""What more devices would give, on links as they were measured: rows for the charts, and a sentence for each.

Pure functions on runs and verdicts; every sentence with a result in it is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from trainspeed.core.format import NAMES, listed, model_of
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.forecast import forecast, forecast_sentence
from trainspeed.judge.overlap import Overlap, given_overlap
from trainspeed.studies.multi_gpu.costs import step_seconds
from trainspeed.studies.multi_gpu.links import Links, gradient_sizes, overlap_of
from trainspeed.studies.multi_gpu.scaling import STRONG, scaling_frame, scaling_of

NO_FORECAST = (
    "No forecast: it needs the links between several GPUs or between nodes, or link_alpha_s and link_bytes_per_s. CPU "
    "cores have none: they share a memory."
)


def forecasts(
    runs: Sequence[Run],
    verdicts: Sequence[Verdict],
    devices: Sequence[int],
    links: Links,
    *,
    overlap: float | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Return what more devices would give: rows for the charts, and a sentence for each with its error.

    There is one forecast for each framework, strategy, kind of scaling and class of link: it extends the comparison
    with the most blocks.

    Args:
        runs: Of whole steps, and of their parts alone.
        overlap: As the user gave it; None for as measured.
    """
    if not devices:
        return scaling_frame([]), []
    seconds, sizes = step_seconds(runs), gradient_sizes(runs)
    rows, sentences, done = [], _unfit_sentences(links), set()
    for verdict in sorted(verdicts, key=lambda verdict: -verdict.blocks):
        trial, scaling = verdict.candidate, scaling_of(verdict)
        kind = (trial.framework, trial.strategy, scaling, trial.nodes > 1)
        size_bytes = sizes.get((trial.framework, trial.model))
        gathered = kind[:2] == ("torch", "data_parallel")  # to one device, not in a ring
        if gathered or kind in done or size_bytes is None or verdict.baseline not in seconds:
            continue
        done.add(kind)
        ring, batch_size = links.ring(trial), verdict.baseline.batch_size
        shared = [count for count in devices if scaling != STRONG or count <= batch_size]
        hidden = given_overlap(overlap) or _measured_overlap(runs, verdicts, verdict)
        share = hidden.share if hidden else 0.0
        expected = shared and forecast(
            seconds[verdict.baseline], size_bytes, shared, ring, scaling=scaling, overlap=share
        )
        if not any(row.devices > 1 for row in expected):
            continue
        measured = {
            v.candidate.devices: v.speedup
            for v in verdicts
            if v.speedup is not None and _line(v) == _line(verdict)
        }
        sentence = forecast_sentence(
            expected,
            measured,
            ring,
            size_bytes=size_bytes,
            scaling=scaling,
            overlap=hidden,
            batch_size=batch_size,
            per_node=trial.devices_per_node if trial.nodes > 1 else None,
        )
        if too_many := [count for count in devices if count not in shared]:
            sentence += f" A batch of {batch_size} images has none for each of {listed(too_many)} devices."
        sentences.append(f"{NAMES[trial.framework]}, {model_of(trial.model)}, {trial.strategy}: {sentence}")
        rows += [
            trial.as_dict() | {"scaling": scaling, "devices": one.devices, "speedup": one.speedup}
            for one in expected
        ]
    return pd.DataFrame(rows, columns=scaling_frame([]).columns), sentences


def _measured_overlap(runs: Sequence[Run], verdicts: Sequence[Verdict], verdict: Verdict) -> Overlap | None:
    """Return the overlap on the most devices that were measured of a verdict's line."""
    of_line = {v.candidate.devices: v.candidate for v in verdicts if _line(v) == _line(verdict)}
    found = (overlap_of(runs, of_line[count]) for count in sorted(of_line, reverse=True))
    return next(filter(None, found), None)


def _unfit_sentences(links: Links) -> list[str]:
    return [
        f"No forecast over the links {link}: the times of their sums are those of no ring, since a larger one took "
        "less than its share. Look at the doubts below, and measure again."
        for link in links.unfit
    ]


def _line(verdict: Verdict) -> tuple:
    """Return what verdicts on different numbers of devices, placed alike, have in common."""
    trial = verdict.candidate
    per_node = trial.devices_per_node if trial.nodes > 1 else None
    return verdict.baseline, trial.strategy, scaling_of(verdict), per_node
