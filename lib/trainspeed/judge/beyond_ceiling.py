"""Trainings that did more arithmetic a second than their device did at most: something is not what it is taken for.

Knows only runs: whether an algorithm with fewer operations ran, it cannot tell.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import fixed, listed
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.ceilings import ceiling_in, ceilings_of


@dataclass(frozen=True, kw_only=True)
class BeyondCeiling:
    """An arm beyond the ceiling of its precision, by more than that ceiling itself scatters.

    Attributes:
        flop_per_s: Of a step of the model as counted, by the median time over the arm's runs.
        ceiling_flop_per_s: What the arm's devices did in the quickest epoch of a ceiling.
    """

    trial: AnyTrial
    flop_per_s: float
    ceiling_flop_per_s: float

    @property
    def times(self) -> float:
        """How many times the ceiling."""
        return self.flop_per_s / self.ceiling_flop_per_s


def beyond_ceiling(runs: Iterable[Run]) -> list[BeyondCeiling]:
    """Return the arms of whole steps that are beyond the ceilings among these runs, the farthest first."""
    ok = RunSet(tuple(runs)).ok()
    if not (ceilings := ceilings_of(ok, quickest=True)):
        return []
    found = []
    for trial, arm in ok.where(lambda run: run.trial.whole_steps).by_trial().items():
        flops, seconds = _known(arm, "step_flops"), [run.step_s for run in arm if run.step_s]
        peak = ceiling_in(trial.precision, _known(arm, "tf32"), ceilings).peak_flop_per_s
        if not (flops and seconds and peak):
            continue
        rate, most = flops / median(seconds), trial.devices * peak
        if rate > most:
            found.append(BeyondCeiling(trial=trial, flop_per_s=rate, ceiling_flop_per_s=most))
    return sorted(found, key=lambda one: one.times, reverse=True)


def _known(arm: Iterable[Run], name: str) -> Any:
    """Return a field of the first run that has it, since not every run is profiled; None where none has."""
    return next((value for run in arm if (value := getattr(run, name)) is not None), None)


def ceiling_doubts(runs: Iterable[Run]) -> list[str]:
    """Return what to make of arms beyond their ceiling, in a sentence; none where there is none."""
    if not (found := beyond_ceiling(runs)):
        return []
    arms = listed([f"{', '.join(one.trial.describe())} ({fixed(one.times, 2)} times)" for one in found])
    return [
        f"Faster than the device's own ceiling in the same precision: {arms}. A convolution may take fewer "
        "operations than are counted (Winograd, FFT), the ceiling may have been measured too low, or a step may "
        "leave work out: do not rely on shares of the ceiling there."
    ]
