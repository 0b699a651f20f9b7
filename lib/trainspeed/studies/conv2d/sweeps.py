"""One size grows: from what size on a device is faster, and which size to measure next. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trainspeed.conduct.estimates import call_s
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.check import check_whole
from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.run import Role, Run
from trainspeed.judge.crossover import (
    Crossover,
    Kind,
    crossover,
    crossover_sentence,
    judged_points,
    next_size,
)
from trainspeed.studies.conv2d.calls import Calls, calls_at, calls_of, paired
from trainspeed.studies.conv2d.trials import COMPARED_FACTORS, SWEEPS, SweepGrid, grown


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A device's library against one on the CPU, while one size grows.

    Attributes:
        factor: Of `SWEEPS`.
        device, cpu: The two at any of the sizes.
        filters_follow: There are as many filters as channels.
    """

    factor: str
    device: Conv2dTrial
    cpu: Conv2dTrial
    found: Crossover
    filters_follow: bool = False

    @property
    def sentence(self) -> str:
        """From what size on the device is faster."""
        names = {"device": library_of(self.device), "cpu": library_of(self.cpu)}
        growth = SWEEPS[self.factor]
        words = [growth.kept(self.device)] if growth.kept else []
        words += [f"as many {growth.follower}"] if self.filters_follow else []
        unsaid = ["library", "devices", self.factor, *[growth.follower] * self.filters_follow]
        words += self.device.describe(without=unsaid)
        text = crossover_sentence(self.found, unit=growth.unit, **names)
        return f"{text[:-1]} ({', '.join(words)})."


def worth_telling(sweeps: Iterable[Sweep]) -> list[Sweep]:
    """Return the first pair's sweeps, and those of the others that found a crossover: the table has all."""
    sweeps = list(sweeps)
    first = {sweep.factor: sweep for sweep in reversed(sweeps)}
    return [s for s in sweeps if s is first[s.factor] or s.found.kind in (Kind.FOUND, Kind.SEVERAL)]


def crossovers(runs: Iterable[Run], grid: SweepGrid) -> list[Sweep]:
    """Return, for each sweep and each pair of libraries, from what size on the device is faster."""
    calls = calls_of(runs)
    return [
        _sweep(calls, factor, *pair, grid.filters > 0) for factor in grid.sizes for pair in grid.pairs(factor)
    ]


def _sweep(
    calls: Mapping[Conv2dTrial, Calls],
    factor: str,
    device: Conv2dTrial,
    cpu: Conv2dTrial,
    filters_fixed: bool,
) -> Sweep:
    times = {}
    for trial, of_device in calls.items():
        size = getattr(trial, factor)
        if sized(device, factor, size, filters_fixed) == trial:
            of_cpu = calls_at(calls, sized(cpu, factor, size, filters_fixed))
            times[size] = paired((of_cpu, of_device))
    follow = bool(SWEEPS[factor].follower) and not filters_fixed
    return Sweep(
        factor=factor, device=device, cpu=cpu, found=crossover(judged_points(times)), filters_follow=follow
    )


def sized(trial: Conv2dTrial, factor: str, size: int, filters_fixed: bool) -> Conv2dTrial:
    """Return a trial at another size of a sweep."""
    return replace(trial, **({factor: size} if filters_fixed else grown(factor, size)))


def _sizes(trials: Iterable[Conv2dTrial], arm: Conv2dTrial, sweep: Sweep) -> set[int]:
    """Return at which sizes of a sweep one of its two sides is among the trials."""
    sizes = ((getattr(trial, sweep.factor), trial) for trial in trials)
    return {size for size, t in sizes if t == sized(arm, sweep.factor, size, not sweep.filters_follow)}


@dataclass
class Bisection:
    """What to measure next, so that each crossover's bracket halves: so many sizes of each sweep, then nothing.

    Its runs have the role `bisected`, so that a resumed report knows how many there were.
    """

    grid: SweepGrid
    rounds: int
    blocks: int

    def __post_init__(self) -> None:
        check_whole("bisections", self.rounds, 0, "0 measures no size between")

    def __call__(self, runs: Sequence[Run]) -> list[TrialSet]:
        """Return the trials at the next sizes, on both sides of every crossover; none after the last round."""
        asked = {run.trial.spec for run in runs if run.role is Role.BISECTED}
        wanted: list[Conv2dTrial] = []
        for sweep in crossovers(runs, self.grid):
            size = next_size(sweep.found.points)
            if size is None:
                continue
            arms = sweep.device, sweep.cpu
            pair = [sized(arm, sweep.factor, size, self.grid.filters > 0) for arm in arms]
            before = set.intersection(*(_sizes(asked, arm, sweep) for arm in arms))
            rounds = len(before | {size})
            if rounds <= self.rounds and all(call_s(trial) <= self.grid.longest_call_s for trial in pair):
                wanted += pair
        seed = self.grid.equal.get("seed", 0)
        trials = tuple(replace(trial, seed=seed) for trial in dict.fromkeys(wanted))
        again = TrialSet(trials=trials, blocks=self.blocks, factors=COMPARED_FACTORS, label=Role.BISECTED)
        return [again] if trials else []
