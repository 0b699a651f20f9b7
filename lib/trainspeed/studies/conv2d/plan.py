"""What the conv2d notebook measures: libraries at the article's size, sweeps, and sizes near a crossover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainspeed.conduct.machine import devices_here
from trainspeed.conduct.plan import Plan, TrialSet, planner
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.judge.ceilings import ceiling_trials
from trainspeed.studies.conv2d import trials
from trainspeed.studies.conv2d.sweeps import Bisection, SweepGrid


@dataclass(frozen=True, kw_only=True)
class Conv2dPlan(Plan):
    """The plan of the conv2d notebook.

    Attributes:
        core: The libraries at the article's size, on one device and on several.
        sweep: Libraries of the device and of the CPU at sizes around it.
        survey: Further libraries and the ceilings of the device, with fewer blocks.
        grid: The sizes of the sweeps, and what they hold equal.
    """

    core: TrialSet
    sweep: TrialSet
    survey: TrialSet
    grid: SweepGrid

    @property
    def at_article_size(self) -> tuple[Conv2dTrial, ...]:
        """Every library at the size of the article, once."""
        return tuple(dict.fromkeys([*self.core, *(trial for trial in self.survey if trial.phase.calls)]))


@planner
def plan_conv2d(
    *,
    libraries: Sequence[str],
    survey_libraries: Sequence[str],
    images: int,
    height: int,
    width: int,
    filter_size: int,
    devices: Sequence[int],
    max_devices: int,
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweep_images: int,
    image_counts: Sequence[int],
    channels: Sequence[int],
    filters: int,
    filter_sizes: Sequence[int],
    bisections: int,
    longest_call_s: float,
    calls: int,
    blocks: int,
    survey_blocks: int,
    controls: Sequence[str],
    seed: int,
) -> Conv2dPlan:
    """Return the plan of the notebook's parameters; the parameter cell explains them.

    Raises:
        UserError: A value that cannot be measured.
    """
    counts = trials.call_device_counts(devices, devices_here("conv2d")[0], images, max_devices)
    equal = {"height": height, "width": width, "calls": calls, "seed": seed}
    article = {"images": images, "filter_size": filter_size, **equal}
    core = trials.core_trials(libraries, device_libraries, counts, **article)
    survey = [trials.library_trial(spec, **article) for spec in survey_libraries]
    grid = SweepGrid(
        device_libraries=device_libraries,
        cpu_libraries=cpu_libraries,
        sizes={"images": image_counts, "channels": channels, "filter_size": filter_sizes},
        equal={"images": sweep_images, "filter_size": filter_size, **equal},
        filters=filters,
        longest_call_s=longest_call_s,
    )
    twice = trials.control_trials(controls, libraries, **article)
    ceilings = ceiling_trials(["fp32"], dataset="digits", seed=seed)
    return Conv2dPlan(
        core=TrialSet(trials=core, blocks=blocks, controls=twice, factors=trials.LIBRARY_FACTORS),
        sweep=TrialSet(trials=grid.trials(), blocks=blocks, factors=trials.LIBRARY_FACTORS),
        survey=TrialSet(trials=(*survey, *ceilings), blocks=survey_blocks, parameter="survey_blocks"),
        more=Bisection(grid, bisections, blocks),
        grid=grid,
        seed=seed,
    )
