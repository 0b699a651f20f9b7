"""One size grows: what is measured, from what size on a device wins, which size is next. Runs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

from trainspeed.conduct.estimates import call_s
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.convolution import Conv2dTrial, library_of
from trainspeed.core.errors import UserError, check_name, check_whole
from trainspeed.core.format import counted, listed, three
from trainspeed.core.run import Role, Run
from trainspeed.judge.crossover import (
    Crossover,
    CrossoverKind,
    crossover,
    crossover_sentence,
    judged_points,
    next_size,
)
from trainspeed.judge.pairs import paired_s
from trainspeed.studies.conv2d.calls import calls_at, calls_of
from trainspeed.studies.conv2d.trials import LIBRARY_FACTORS, library_trial


class Growth(NamedTuple):
    """A size that grows: its unit in a sentence, the title of its panel, the label of its axis, and its plural."""

    unit: str
    title: str
    axis: str
    plural: str


LEAST_SIZES = 2  # below, nothing has grown
SWEEPS = {
    "images": Growth("images", "Number of images", "images in a call", "numbers of images"),
    "channels": Growth("channels", "Number of channels", "channels", "numbers of channels"),
    "filter_size": Growth(
        "px of filter", "Size of the filter", "filter size in pixels (k of k×k)", "filter sizes"
    ),
}


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A device's library against one of the CPU, while one size grows.

    Attributes:
        factor: The size that grows, one of `SWEEPS`.
        device, cpu: The two trials at any of the sizes, without seed.
        filters_follow: Whether there are as many filters as channels.
        crossover: From what size on the device is faster.
    """

    factor: str
    device: Conv2dTrial
    cpu: Conv2dTrial
    filters_follow: bool
    crossover: Crossover

    def at(self, size: int) -> tuple[Conv2dTrial, Conv2dTrial]:
        """Return the trials of the device and of the CPU at a size."""
        sizes = {self.factor: size} | ({"filters": size} if self.filters_follow else {})
        return replace(self.device, **sizes), replace(self.cpu, **sizes)

    @property
    def sentence(self) -> str:
        """From what size on the device is faster, and what was held equal."""
        trial = self.device
        followers = ["filters"] if self.filters_follow else []
        equal = [f"of {trial.height}×{trial.width}"] if self.factor == "images" else []
        equal += [f"as many {name}" for name in followers]
        equal += trial.describe(without=["library", "devices", self.factor, *followers])
        names = {"device": library_of(trial), "cpu": library_of(self.cpu)}
        text = crossover_sentence(self.crossover, unit=SWEEPS[self.factor].unit, **names)
        return f"{text[:-1]} ({', '.join(equal)})."


@dataclass(frozen=True, kw_only=True)
class SweepGrid:
    """Libraries on the device and on the CPU at sizes that grow one at a time.

    Attributes:
        sizes: Field of a trial, one of `SWEEPS` -> the sizes that it takes.
        equal: The other fields.
        filters: Output channels in the sweep over channels; 0: as many as there are channels.
        longest_call_s: A call that is estimated to take longer is not measured: see `left_out_sentences`.
    Raises:
        UserError: A value that cannot be measured.
    """

    device_libraries: Sequence[str]
    cpu_libraries: Sequence[str]
    sizes: Mapping[str, Sequence[int]]
    equal: Mapping[str, int]
    filters: int = 0
    longest_call_s: float = math.inf

    def __post_init__(self) -> None:
        _check_processors("device_libraries", self.device_libraries, on_cpu=False)
        _check_processors("cpu_libraries", self.cpu_libraries, on_cpu=True)
        check_whole("filters", self.filters, 0, "0 means as many as channels")
        if not self.longest_call_s > 0:
            raise UserError("longest_call_s", self.longest_call_s, "must be positive seconds.")
        for name in self.sizes:
            check_name("sweep", name, tuple(SWEEPS))

    def trials(self) -> tuple[Conv2dTrial, ...]:
        """Return the libraries at every size of each sweep, but for those that would take too long."""
        return tuple(trial for trial in self._all_trials() if call_s(trial) <= self.longest_call_s)

    def left_out_sentences(self) -> list[str]:
        """Return which trials take too long to be measured."""
        return [
            f"Left out: {', '.join(trial.describe())}: a call would take about {three(call_s(trial))} s "
            f"(longest_call_s is {self.longest_call_s:g})."
            for trial in self._all_trials()
            if call_s(trial) > self.longest_call_s
        ]

    def sweeps(self, factor: str) -> list[Sweep]:
        """Return a sweep for each pair of libraries, before any run; none where the factor has no sizes."""
        return [
            Sweep(
                factor=factor,
                device=self._at(device, factor, size).spec,
                cpu=self._at(cpu, factor, size).spec,
                filters_follow=factor == "channels" and not self.filters,
                crossover=crossover([]),
            )
            for size in self.sizes.get(factor, ())[:1]
            for device, cpu in product(self.device_libraries, self.cpu_libraries)
        ]

    def _at(self, spec: str, factor: str, size: int) -> Conv2dTrial:
        filters = {"filters": self.filters or size} if factor == "channels" else {}
        return library_trial(spec, **{**self.equal, factor: size, **filters})

    def _all_trials(self) -> list[Conv2dTrial]:
        specs = (*self.device_libraries, *self.cpu_libraries)
        sizes = [(factor, size) for factor, values in self.sizes.items() for size in values]
        return list(dict.fromkeys(self._at(spec, factor, size) for factor, size in sizes for spec in specs))


def _check_processors(name: str, specs: Sequence[str], *, on_cpu: bool) -> None:
    for spec in specs:
        if library_trial(spec, images=1, height=1, width=1).on_cpu != on_cpu:
            instead = f"write '{spec} cpu'" if on_cpu else "name a framework: tensorflow, keras, torch, jax"
            raise UserError(f"{name}: {spec!r} runs on {'the device' if on_cpu else 'the CPU'}: {instead}.")


def crossovers(runs: Iterable[Run], grid: SweepGrid) -> list[Sweep]:
    """Return, for each sweep and each pair of libraries, from what size on the device is faster."""
    calls = calls_of(runs)
    measured = []
    for sweep in (sweep for factor in grid.sizes for sweep in grid.sweeps(factor)):
        times = {}
        for size in {getattr(trial, sweep.factor) for trial in calls}:
            device, cpu = (calls_at(calls, trial) for trial in sweep.at(size))
            pairs = paired_s(cpu.runs, device.runs).values()
            times[size] = [cpu_s for cpu_s, _ in pairs], [device_s for _, device_s in pairs]
        measured.append(replace(sweep, crossover=crossover(judged_points(times))))
    return measured


def halved_sentences(runs: Iterable[Run]) -> list[str]:
    """Return how many sizes were measured to halve the brackets of crossovers; nothing where none was.

    Args:
        runs: Those with that role.
    """
    sizes = {calls.names["case"] for calls in calls_of(runs).values()}
    if not sizes:
        return []
    more = counted(len(sizes), "more size")
    return [
        f"{more} {'was' if len(sizes) == 1 else 'were'} measured, each to halve the bracket of a crossover."
    ]


def grown(sweeps: Iterable[Sweep]) -> list[Sweep]:
    """Return the sweeps over what grew: of which some pair was measured at two sizes or more."""
    sweeps = list(sweeps)
    tried = {s.factor for s in sweeps if len(s.crossover.points) + len(s.crossover.left_out) >= LEAST_SIZES}
    return [sweep for sweep in sweeps if sweep.factor in tried]


def not_grown_sentences(sweeps: Iterable[Sweep]) -> list[str]:
    """Return of what too few sizes were measured to say from which on a library is faster; nothing where of none."""
    sweeps = list(sweeps)
    of_some = {sweep.factor for sweep in grown(sweeps)}
    missing = dict.fromkeys(SWEEPS[s.factor].title.lower() for s in sweeps if s.factor not in of_some)
    if not missing:
        return []
    return [
        f"Not known here: from what {listed(missing, last='or')} on which library is faster; no two sizes were "
        "measured."
    ]


def worth_telling(sweeps: Iterable[Sweep]) -> list[Sweep]:
    """Return the sweeps of the first pair, and those of other pairs with a crossover: the table has all."""
    sweeps = list(sweeps)
    first = {sweep.factor: sweep for sweep in reversed(sweeps)}
    return [
        s
        for s in sweeps
        if s is first[s.factor] or s.crossover.kind in (CrossoverKind.SINGLE, CrossoverKind.SEVERAL)
    ]


@dataclass
class Bisection:
    """Asks for sizes that halve the bracket of each crossover.

    Their runs have the role `bisected`, so that a resumed report knows which sizes it has asked for.

    Attributes:
        rounds: How many sizes are asked for in each sweep.
    """

    grid: SweepGrid
    rounds: int
    blocks: int

    def __post_init__(self) -> None:
        check_whole("bisections", self.rounds, 0, "0 measures no size between")

    def __call__(self, runs: Sequence[Run]) -> list[TrialSet]:
        """Return the trials at the next size of each sweep, for both libraries; none after the last round."""
        asked = {run.trial.spec for run in runs if run.role is Role.BISECTED}
        wanted: list[Conv2dTrial] = []
        for sweep in crossovers(runs, self.grid):
            size = next_size(sweep.crossover.points)
            if size is None:
                continue
            tried = {n for n in {getattr(t, sweep.factor) for t in asked} if asked.issuperset(sweep.at(n))}
            short = all(call_s(trial) <= self.grid.longest_call_s for trial in sweep.at(size))
            if len(tried | {size}) <= self.rounds and short:
                wanted += sweep.at(size)
        seed = self.grid.equal.get("seed", 0)
        trials = tuple(replace(trial, seed=seed) for trial in dict.fromkeys(wanted))
        again = TrialSet(trials=trials, blocks=self.blocks, factors=LIBRARY_FACTORS, label=Role.BISECTED)
        return [again] if trials else []
