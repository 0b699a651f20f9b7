"""The runs of each convolution and what is read off them: first calls, warm ones, their stages. Judges nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from trainspeed.core.convolution import FIRST_STAGES, LIBRARIES, Conv2dTrial, library_of
from trainspeed.core.run import DATA_ROLES, Run, Status
from trainspeed.studies.conv2d.trials import on_device

Value = Callable[[Run], float | None]  # in seconds; None: it was not measured


def warm_call_s(run: Run) -> float | None:
    """Return the median of the warm calls, in seconds."""
    return run.median_s


def first_call_s(run: Run) -> float:
    """Return how long the first call took with what only it does, without the import, in seconds."""
    return sum(run.stages_s.get(stage, 0.0) for stage in FIRST_STAGES)


def warm_stage_s(stage: str) -> Value:
    """Return what reads a stage of a warm call."""
    return lambda run: median(run.warm_s[stage]) if run.warm_s.get(stage) else None


def cold_stage_s(stage: str) -> Value:
    """Return what reads a stage of the first call, or the import before it."""
    return lambda run: run.import_s if stage == "import" else run.stages_s.get(stage)


@dataclass(frozen=True)
class Calls:
    """The runs of one trial that ended well, by block; the trial is its spec."""

    trial: Conv2dTrial
    by_block: Mapping[int, Run]

    @property
    def runs(self) -> list[Run]:
        """The runs, first block first."""
        return list(self.by_block.values())

    @property
    def names(self) -> dict[str, Any]:
        """What a table says of the trial: library, framework, devices, on_device, and its size, `case`."""
        trial = self.trial
        return {
            "library": library_of(trial),
            "framework": trial.framework,
            "devices": trial.devices,
            "on_device": on_device(trial),
            "case": ", ".join(trial.describe(without=("library", "devices"))),
        }

    def values(self, value: Value) -> list[float]:
        """Return a value of each run that has it."""
        return [seconds for run in self.runs if (seconds := value(run)) is not None]

    def median(self, value: Value) -> float | None:
        """Return the median over the blocks; None where no run has the value."""
        several = self.values(value)
        return median(several) if several else None


def calls_of(runs: Iterable[Run]) -> dict[Conv2dTrial, Calls]:
    """Return the calls of each trial; trials by size, then by library."""
    found: dict[Conv2dTrial, dict[int, Run]] = {}
    for run in runs:
        if run.trial.phase.calls and run.status == Status.OK and run.role in DATA_ROLES:
            found.setdefault(run.trial.spec, {})[run.block] = run
    return {trial: Calls(trial, found[trial]) for trial in sorted(found, key=_place)}


def calls_at(calls: Mapping[Conv2dTrial, Calls], trial: Conv2dTrial) -> Calls:
    """Return the calls of a trial, whatever its seed; none where it did not run."""
    return calls.get(trial.spec, Calls(trial, {}))


def paired(several: Iterable[Calls], value: Value = warm_call_s) -> list[list[float]]:
    """Return a value of each of them in the blocks in which all have it."""
    columns = [{b: v for b, run in one.by_block.items() if (v := value(run)) is not None} for one in several]
    blocks = sorted(set.intersection(*map(set, columns)))
    return [[column[block] for block in blocks] for column in columns]


def _place(trial: Conv2dTrial) -> tuple:
    """The order of tables: by size, then as `LIBRARIES` has them, then by devices."""
    size = trial.filter_size, trial.channels, trial.filters, trial.images, trial.height, trial.width
    return *size, [*LIBRARIES].index(trial.library), trial.mode, trial.devices, trial.processor
