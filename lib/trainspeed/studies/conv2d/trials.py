"""Which convolutions the conv2d notebook measures. Runs nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from trainspeed.conduct.estimates import call_s
from trainspeed.core.check import check_name, check_whole
from trainspeed.core.convolution import CPU_LIBRARIES, LIBRARIES, AnyTrial, Conv2dTrial
from trainspeed.core.errors import UserError

ARTICLE = ("tensorflow", "scipy_signal")  # what article 004 compared: a device's library and the CPU's
COMPARED_FACTORS = ("library", "mode", "devices", "processor")
CPU_WORD = "cpu"  # after a library's name: on the CPU, also where there is a GPU


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A size that a sweep makes larger.

    Attributes:
        unit: What its sizes are called in a sentence.
        title, axis: Of its panel in a chart.
        follower: Field that grows along, where its own size is not given.
        kept: Says of a trial what a description of the size says beside it.
    """

    unit: str
    title: str
    axis: str
    follower: str | None = None
    kept: Callable[[Conv2dTrial], str] | None = None


SWEEPS = {
    "images": Growth(
        unit="images",
        title="Number of images",
        axis="images in a call",
        kept=lambda trial: f"of {trial.height}×{trial.width}",
    ),
    "channels": Growth(unit="channels", title="Number of channels", axis="channels", follower="filters"),
    "filter_size": Growth(
        unit="px of filter", title="Size of the filter", axis="filter size in pixels (k of k×k)"
    ),
}


def grown(factor: str, size: int, filters: int = 0) -> dict[str, int]:
    """Return the fields of a trial at one size of a sweep.

    Args:
        filters: So many; 0 for as many as channels, where these grow.
    """
    follower = SWEEPS[factor].follower
    return {factor: size} | ({follower: filters or size} if follower else {})


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
    if len(modes) > 1:
        raise UserError(f"library {spec!r} has two modes, {' and '.join(modes)}: name them one by one.")
    processor = "cpu" if CPU_WORD in words and library not in CPU_LIBRARIES else "device"
    mode = modes[0] if modes else LIBRARIES[library][0]
    return Conv2dTrial(library=library, mode=mode, processor=processor, **sizes)


def call_device_counts(asked: Sequence[int], available: int, images: int, most: int = 0) -> list[int]:
    """Return the numbers of devices to share the images: those asked for, else all that can, as in the article.

    Args:
        most: No more than so many where none are named; 0 for all.
    """
    if most < 0:
        raise UserError("max_devices", most, "must be 0, for all, or more.")
    for count in asked:
        check_whole("devices", count, 1)
        if count > available:
            raise UserError(
                "devices", count, f"is more than there are: {available} to use here. Lower devices."
            )
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


def control_trials(
    controls: Sequence[str], libraries: Sequence[str], **sizes: int
) -> tuple[Conv2dTrial, ...]:
    """Return those of the libraries that are measured twice in each block.

    Raises:
        UserError: One that is not among the libraries.
    """
    compared = core_trials(libraries, (), (), **sizes)
    twice = tuple(library_trial(spec, **sizes) for spec in controls)
    for spec, trial in zip(controls, twice, strict=True):
        if trial not in compared:
            raise UserError(
                f"controls: {spec!r} is not among libraries (={list(libraries)}): add it there, too."
            )
    return twice


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

    def at(self, spec: str, factor: str, size: int) -> Conv2dTrial:
        """Return a library at one size of a sweep."""
        return library_trial(spec, **{**self.equal, **grown(factor, size, self.filters)})

    def trials(self) -> tuple[Conv2dTrial, ...]:
        """Return the libraries at every size of each sweep; what would take too long is left out."""
        return tuple(trial for trial in self._every() if call_s(trial) <= self.longest_call_s)

    def left_out_sentences(self) -> list[str]:
        """Return what `trials` has left out, and why."""
        return [
            f"Left out: {', '.join(trial.describe())}: a call would take about {call_s(trial):.3g} s "
            f"(longest_call_s is {self.longest_call_s:g})."
            for trial in self._every()
            if call_s(trial) > self.longest_call_s
        ]

    def pairs(self, factor: str) -> list[tuple[Conv2dTrial, Conv2dTrial]]:
        """Return every (device, CPU) at the first size of a sweep, without seed; none where it has no sizes."""
        return [
            tuple(self.at(spec, factor, size).spec for spec in pair)
            for size in self.sizes.get(factor, ())[:1]
            for pair in product(self.device_libraries, self.cpu_libraries)
        ]

    def _every(self) -> list[Conv2dTrial]:
        specs = (*self.device_libraries, *self.cpu_libraries)
        sizes = [(factor, size) for factor, values in self.sizes.items() for size in values]
        return list(dict.fromkeys(self.at(spec, factor, size) for factor, size in sizes for spec in specs))


def _check_processors(name: str, specs: Sequence[str], *, on_cpu: bool) -> None:
    for spec in specs:
        if library_trial(spec, images=1, height=1, width=1).on_cpu != on_cpu:
            instead = f"write '{spec} cpu'" if on_cpu else "name a framework: tensorflow, keras, torch, jax"
            raise UserError(f"{name}: {spec!r} runs on {'the device' if on_cpu else 'the CPU'}: {instead}.")


def on_device(trial: AnyTrial) -> bool:
    """Whether it is a convolution by a framework on its device, rather than one of the CPU's baselines."""
    return trial.phase.calls and not trial.on_cpu


def pair_of(core: Sequence[Conv2dTrial]) -> tuple[Conv2dTrial, Conv2dTrial | None]:
    """Return the article's pair, TensorFlow and SciPy; where one is not there, the first that stands for it."""
    alone = [trial for trial in core if trial.devices == 1]
    devices = [trial for trial in alone if on_device(trial)]
    cpus = [trial for trial in alone if not on_device(trial)]
    device, cpu = (
        next((trial for trial in several if trial.library == name), several[0] if several else None)
        for name, several in zip(ARTICLE, (devices, cpus), strict=True)
    )
    return device or alone[0], cpu
