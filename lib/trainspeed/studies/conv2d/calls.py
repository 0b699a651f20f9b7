"""The runs of each convolution and what is read off them: first calls, warm calls, stages. Judges nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from statistics import median
from typing import Any

from trainspeed.core.convolution import CPU_LIBRARIES, FIRST_STAGES, LIBRARIES, Conv2dTrial, library_of
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.studies.conv2d.trials import on_device

Value = Callable[[Run], float | None]  # in seconds; None: it was not measured
warm_call_s: Value = attrgetter("median_call_s")


def first_call_s(run: Run) -> float:
    """Return how long the first call took, with all that only it does but without the import, in seconds."""
    return sum(run.stages_s.get(stage, 0.0) for stage in FIRST_STAGES)


def warm_stage_s(stage: str) -> Value:
    """Return a function that reads the median of a warm call's stage off a run."""
    return lambda run: median(run.warm_s[stage]) if run.warm_s.get(stage) else None


@dataclass(frozen=True)
class Calls:
    """The runs of one trial that ended well, one per block; the trial is without seed."""

    trial: Conv2dTrial
    runs: tuple[Run, ...] = ()

    @property
    def names(self) -> dict[str, Any]:
        """What frames say of the trial: library, framework, devices, on_device, case (its size in words).

        The framework is what gives the colour: of the CPU's own libraries the library; None where one of a
        framework runs on the CPU beside a GPU.
        """
        trial = self.trial
        own = trial.library if trial.library in CPU_LIBRARIES else None
        return {
            "library": library_of(trial),
            "framework": own if trial.on_cpu else trial.framework,
            "devices": trial.devices,
            "on_device": on_device(trial),
            "case": ", ".join(trial.describe(without=("library", "devices"))),
        }

    def by_block(self, value: Value = warm_call_s) -> dict[int, float]:
        """Return a value of each run that has it, by block."""
        return {run.block: seconds for run in self.runs if (seconds := value(run)) is not None}

    def median(self, value: Value = warm_call_s) -> float | None:
        """Return the median over the blocks; None where no run has the value."""
        known = self.by_block(value)
        return median(known.values()) if known else None


def calls_of(runs: Iterable[Run]) -> dict[Conv2dTrial, Calls]:
    """Return the calls of each trial; trials by size, then by library."""
    convolutions = RunSet(tuple(runs)).ok().data().where(lambda run: run.trial.phase.calls).by_trial()
    by_block = {trial: {run.block: run for run in alike} for trial, alike in convolutions.items()}
    return {trial: Calls(trial, tuple(by_block[trial].values())) for trial in sorted(by_block, key=_sort_key)}


def calls_at(calls: Mapping[Conv2dTrial, Calls], trial: Conv2dTrial) -> Calls:
    """Return the calls of a trial, whatever its seed; without runs where it did not run."""
    return calls.get(trial.spec, Calls(trial.spec))


def paired(*arms: Mapping[int, float]) -> list[list[float]]:
    """Return the values of each arm in the blocks that all arms have.

    Args:
        arms: Values by block, as returned by `Calls.by_block`.
    """
    blocks = sorted(set.intersection(*map(set, arms)))
    return [[arm[block] for block in blocks] for arm in arms]


def _sort_key(trial: Conv2dTrial) -> tuple:
    """Sort by size, then by library in the order of `LIBRARIES`, then by devices."""
    size = trial.filter_size, trial.channels, trial.filters, trial.images, trial.height, trial.width
    return *size, [*LIBRARIES].index(trial.library), trial.mode, trial.devices, trial.processor
