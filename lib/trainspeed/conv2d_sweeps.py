"""One size grows: from what size on a device is faster, and which size to measure next. Runs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trainspeed.conv2d_estimates import call_s
from trainspeed.conv2d_study import BISECTED, SWEEPS, VARIED, call_times, library_trial, sweep_at
from trainspeed.conv2d_trial import Conv2dTrial
from trainspeed.crossover import Crossover, Kind, crossover, crossover_sentence, judged, next_size
from trainspeed.run import Run
from trainspeed.schedule import Part
from trainspeed.trial import check_least
from trainspeed.wording import describe_conv2d, library_of


def crossover_base(
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweeps: Mapping[str, Sequence[int]],
    *,
    filters: int,
    **sizes: int,
) -> dict[str, tuple[Conv2dTrial, Conv2dTrial]]:
    """Return of each sweep that has sizes the first (device, CPU) pair, at its first size."""
    if not device_libraries or not cpu_libraries:
        return {}
    first = (device_libraries[:1], cpu_libraries[:1])
    trials = {name: sweep_at(*first, {name: values[:1]}, filters, sizes) for name, values in sweeps.items()}
    return {name: tuple(t.without_seed() for t in pair) for name, pair in trials.items() if pair}


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
        words = describe_conv2d(self.device, without=("library", "devices", self.factor))
        if self.factor == "images":
            words = [f"of {self.device.height}×{self.device.width}", *words]
        if self.filters_follow:
            words = [
                "as many filters",
                *describe_conv2d(self.device, without=("library", "channels", "filters")),
            ]
        text = crossover_sentence(self.found, unit=SWEEPS[self.factor], **names)
        return f"{text[:-1]} ({', '.join(words)})."


def told(sweeps: Iterable[Sweep]) -> list[Sweep]:
    """Return the first pair's sweeps, and those of the others that found a crossover: the table has all."""
    sweeps = list(sweeps)
    first = {sweep.factor: sweep for sweep in reversed(sweeps)}
    return [s for s in sweeps if s is first[s.factor] or s.found.kind in (Kind.FOUND, Kind.SEVERAL)]


def crossovers(
    runs: Iterable[Run],
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweeps: Mapping[str, Sequence[int]],
    *,
    filters: int,
    **sizes: int,
) -> list[Sweep]:
    """Return, for each sweep and each pair of libraries, from what size on the device is faster."""
    times = call_times(runs)
    found = []
    for factor, values in sweeps.items():
        if not values:
            continue
        for device_spec in device_libraries:
            for cpu_spec in cpu_libraries:
                own = {**sizes, factor: values[0]}
                own |= {"filters": filters or values[0]} if factor == "channels" else {}
                device, cpu = library_trial(device_spec, **own), library_trial(cpu_spec, **own)
                found.append(_sweep(times, factor, device.without_seed(), cpu.without_seed(), bool(filters)))
    return found


def _sweep(
    times: Mapping[Conv2dTrial, Mapping[int, Run]],
    factor: str,
    device: Conv2dTrial,
    cpu: Conv2dTrial,
    filters_fixed: bool,
) -> Sweep:
    pairs = {}
    for trial, blocks in times.items():
        size = getattr(trial, factor)
        if sized(device, factor, size, filters_fixed) != trial:
            continue
        beside = times.get(sized(cpu, factor, size, filters_fixed), {})
        both = sorted(blocks.keys() & beside.keys())
        if both:
            of_cpu, of_device = ([s[b].median_s for b in both] for s in (beside, blocks))
            pairs[size] = of_cpu, of_device
    follow = factor == "channels" and not filters_fixed
    return Sweep(factor=factor, device=device, cpu=cpu, found=crossover(judged(pairs)), filters_follow=follow)


def sized(trial: Conv2dTrial, factor: str, size: int, filters_fixed: bool) -> Conv2dTrial:
    """Return a trial at another size of a sweep."""
    changes = {factor: size}
    if factor == "channels" and not filters_fixed:
        changes["filters"] = size
    return replace(trial, **changes)


def _sizes(trials: Iterable[Conv2dTrial], arm: Conv2dTrial, sweep: Sweep) -> set[int]:
    """Return at which sizes of a sweep one of its two sides is among the trials."""
    sizes = ((getattr(trial, sweep.factor), trial) for trial in trials)
    return {size for size, t in sizes if t == sized(arm, sweep.factor, size, not sweep.filters_follow)}


@dataclass
class Bisection:
    """What to measure next, so that each crossover's bracket halves: so many sizes of each sweep, then nothing.

    Its runs carry `BISECTED`, so that a resumed report knows how many there were.

    Attributes:
        looked_for: Returns the sweeps of the runs so far.
        filters: As of `sweep_trials`, and so is `longest_call_s`.
        seed: Of the trials.
    """

    looked_for: Callable[[Sequence[Run]], Iterable[Sweep]]
    rounds: int
    blocks: int
    filters: int
    longest_call_s: float
    seed: int = 0

    def __post_init__(self) -> None:
        check_least("bisections", self.rounds, 0, "0 measures no size between")

    def __call__(self, runs: Sequence[Run]) -> list[Part]:
        """Return the trials at the next sizes, on both sides of every crossover; none after the last round."""
        asked = {run.trial.without_seed() for run in runs if run.label == BISECTED}
        wanted: list[Conv2dTrial] = []
        for sweep in self.looked_for(runs):
            size = next_size(sweep.found.points)
            if size is None:
                continue
            pair = [sized(t, sweep.factor, size, bool(self.filters)) for t in (sweep.device, sweep.cpu)]
            before = set.intersection(*(_sizes(asked, arm, sweep) for arm in (sweep.device, sweep.cpu)))
            new = size not in before
            if len(before) + new <= self.rounds and all(call_s(t) <= self.longest_call_s for t in pair):
                wanted += pair
        trials = tuple(replace(t, seed=self.seed) for t in dict.fromkeys(wanted))
        return [Part(trials=trials, blocks=self.blocks, factors=VARIED, label=BISECTED)] if trials else []
