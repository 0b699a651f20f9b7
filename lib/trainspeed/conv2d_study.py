"""Which convolutions the conv2d notebook measures, and which sizes it looks for a crossover at next. Runs nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from trainspeed.conv2d_estimates import call_s
from trainspeed.conv2d_trial import CPU_LIBRARIES, LIBRARIES, Conv2dTrial
from trainspeed.crossover import Crossover, Kind, crossover, crossover_sentence, judged, next_size
from trainspeed.errors import UserError
from trainspeed.run import Run, Status
from trainspeed.schedule import AUXILIARY, Part
from trainspeed.trial import check_name
from trainspeed.wording import describe_conv2d, library_of

ARTICLE = ("tensorflow", "scipy_signal")  # what article 004 compared: a device's library and the CPU's
VARIED = ("library", "mode", "devices", "processor")
CPU_WORD = "cpu"  # after a library's name: on the CPU, also where there is a GPU
# What a sweep changes -> what its sizes are called.
SWEEPS = {"images": "images", "channels": "channels", "filter_size": "px of filter"}


def library_trial(spec: str, **sizes: int) -> Conv2dTrial:
    """Return the trial of a library, its mode and its processor: "tensorflow", "tensorflow eager", "torch cpu".

    Raises:
        UserError: A name that does not exist, or a size that a library cannot do.
    """
    if not isinstance(spec, str) or not spec.split():
        raise UserError(f"library {spec!r} must be a name: one of {', '.join(LIBRARIES)}.")
    library, *words = spec.split()
    check_name("library", library, tuple(LIBRARIES))
    modes = [word for word in words if word != CPU_WORD]
    for mode in modes:
        check_name(f"mode of {library}", mode, LIBRARIES[library])
    processor = "cpu" if CPU_WORD in words and library not in CPU_LIBRARIES else "device"
    mode = modes[0] if modes else LIBRARIES[library][0]
    return Conv2dTrial(library=library, mode=mode, processor=processor, **sizes)


def device_counts(asked: Sequence[int], available: int, images: int, most: int = 0) -> list[int]:
    """Return the numbers of devices to share the images: those asked for, else all that can, as in the article.

    Args:
        most: No more than so many where none are named; 0 for all.
    """
    if most < 0:
        raise UserError(f"max_devices (={most}) must be 0, for all, or more.")
    top = min(available, most) if most else available
    return sorted({1, *asked}) if asked else [n for n in range(1, top + 1) if images % n == 0]


def core_trials(
    libraries: Sequence[str], device_libraries: Sequence[str], counts: Sequence[int], **sizes: int
) -> tuple[Conv2dTrial, ...]:
    """Return every library at the article's size, and some of them on every number of devices.

    Raises:
        UserError: As of `library_trial`; a CPU library asked for on several devices.
    """
    if not libraries:
        raise UserError("libraries is an empty list: name at least one.")
    alone = [library_trial(spec, **sizes) for spec in libraries]
    spread = [library_trial(spec, devices=count, **sizes) for count in counts for spec in device_libraries]
    return tuple(dict.fromkeys([*alone, *spread]))


def sweep_trials(
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweeps: Mapping[str, Sequence[int]],
    *,
    filters: int,
    longest_call_s: float,
    **sizes: int,
) -> tuple[Conv2dTrial, ...]:
    """Return the libraries at every size of each sweep; what would take too long is left out.

    Args:
        sweeps: Field of a trial -> its values; all else is as in `sizes`.
        filters: Output channels in the sweep over channels; 0: as many as there are channels.
        longest_call_s: A call that is estimated to take longer is not measured: see `left_out_sentences`.
    """
    return tuple(
        trial
        for trial in _sweeps(device_libraries, cpu_libraries, sweeps, filters, sizes)
        if call_s(trial) <= longest_call_s
    )


def _sweeps(
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweeps: Mapping[str, Sequence[int]],
    filters: int,
    sizes: Mapping[str, int],
) -> list[Conv2dTrial]:
    trials = []
    for name, values in sweeps.items():
        check_name("sweep", name, tuple(SWEEPS))
        for value in values:
            own = {**sizes, name: value}
            own |= {"filters": filters or value} if name == "channels" else {}
            trials += [library_trial(spec, **own) for spec in (*device_libraries, *cpu_libraries)]
    return list(dict.fromkeys(trials))


def left_out_sentences(
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweeps: Mapping[str, Sequence[int]],
    *,
    filters: int,
    longest_call_s: float,
    **sizes: int,
) -> list[str]:
    """Return what `sweep_trials` has left out, and why."""
    return [
        f"Left out: {', '.join(describe_conv2d(trial))}: a call would take about {call_s(trial):.0f} s "
        f"(longest_call_s is {longest_call_s:g})."
        for trial in _sweeps(device_libraries, cpu_libraries, sweeps, filters, sizes)
        if call_s(trial) > longest_call_s
    ]


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
    trials = {name: _sweeps(*first, {name: values[:1]}, filters, sizes) for name, values in sweeps.items()}
    return {name: tuple(t.without_seed() for t in pair) for name, pair in trials.items() if pair}


# What was found.


def call_times(runs: Iterable[Run]) -> dict[Conv2dTrial, dict[int, Run]]:
    """Return the runs that ended well: trial without seed -> block -> run; trials by size, then by library."""
    found: dict[Conv2dTrial, dict[int, Run]] = defaultdict(dict)
    for run in runs:
        if isinstance(run.trial, Conv2dTrial) and run.status == Status.OK and run.label not in AUXILIARY:
            found[run.trial.without_seed()][run.block] = run
    return {trial: found[trial] for trial in sorted(found, key=_place)}


def _place(trial: Conv2dTrial) -> tuple:
    """The order of tables: by size, then as `LIBRARIES` has them, then by devices."""
    size = trial.filter_size, trial.channels, trial.filters, trial.images, trial.height, trial.width
    return *size, [*LIBRARIES].index(trial.library), trial.mode, trial.devices, trial.processor


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """A device's library against one on the CPU, while one size grows.

    Attributes:
        factor: Of `SWEEPS`.
        device, cpu: The two at any of the sizes.
    """

    factor: str
    device: Conv2dTrial
    cpu: Conv2dTrial
    found: Crossover

    @property
    def sentence(self) -> str:
        """From what size on the device is faster."""
        names = {"device": library_of(self.device), "cpu": library_of(self.cpu)}
        if not self.device.on_cpu and self.cpu.on_cpu:
            names["cpu"] += "" if "CPU" in names["cpu"] else " on the CPU"
        shape = ", ".join(describe_conv2d(self.device, without=("library", *held_with(self.factor))))
        text = crossover_sentence(self.found, unit=SWEEPS[self.factor], **names)
        return f"{text[:-1]} ({shape})."


def told(sweeps: Iterable[Sweep]) -> list[Sweep]:
    """Return the first pair's sweeps, and those of the others that found a crossover: the table has all."""
    sweeps = list(sweeps)
    first = {sweep.factor: sweep for sweep in reversed(sweeps)}
    return [s for s in sweeps if s is first[s.factor] or s.found.kind in (Kind.FOUND, Kind.SEVERAL)]


def held_with(factor: str) -> tuple[str, ...]:
    """Return the fields that change in a sweep."""
    return ("channels", "filters") if factor == "channels" else (factor,)


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
    return Sweep(factor=factor, device=device, cpu=cpu, found=crossover(judged(pairs)))


def sized(trial: Conv2dTrial, factor: str, size: int, filters_fixed: bool) -> Conv2dTrial:
    """Return a trial at another size of a sweep."""
    changes = {factor: size}
    if factor == "channels" and not filters_fixed:
        changes["filters"] = size
    return replace(trial, **changes)


@dataclass
class Bisection:
    """What to measure next, so that each crossover's bracket halves: so many rounds, then nothing.

    Attributes:
        looked_for: Returns the sweeps of the runs so far.
        filters: As of `sweep_trials`, and so is `longest_call_s`.
    """

    looked_for: Callable[[Sequence[Run]], Iterable[Sweep]]
    rounds: int
    blocks: int
    filters: int
    longest_call_s: float

    def __call__(self, runs: Sequence[Run]) -> list[Part]:
        """Return the trials at the next sizes, on both sides of every crossover; none after the last round."""
        if self.rounds < 1:
            return []
        self.rounds -= 1
        trials: list[Conv2dTrial] = []
        for sweep in self.looked_for(runs):
            if (size := next_size(sweep.found.points)) is not None:
                trials += [
                    sized(t, sweep.factor, size, bool(self.filters)) for t in (sweep.device, sweep.cpu)
                ]
        wanted = tuple(t for t in dict.fromkeys(trials) if call_s(t) <= self.longest_call_s)
        return [Part(trials=wanted, blocks=self.blocks, factors=VARIED)] if wanted else []
