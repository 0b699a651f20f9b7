"""Which convolutions the conv2d notebook measures at the article's size. Runs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from trainspeed.core.convolution import CPU_LIBRARIES, LIBRARIES, AnyTrial, Conv2dTrial
from trainspeed.core.errors import UserError, check_name, check_some, check_whole
from trainspeed.core.run import Run, Status

ARTICLE = ("tensorflow", "scipy_signal")  # what article 004 compared: a device's library and the CPU's
LIBRARY_FACTORS = ("library", "mode", "devices", "processor")  # in which compared trials differ
CPU_WORD = "cpu"  # after a library's name: on the CPU, also where there is a GPU


def library_trial(spec: str, **sizes: int) -> Conv2dTrial:
    """Return the trial of a library, its mode and its processor.

    Args:
        spec: Such as "tensorflow", "tensorflow eager" or "torch cpu".
        sizes: The other fields of the trial.
    Raises:
        UserError: A name that does not exist, or a size that a library cannot compute.
    """
    if not isinstance(spec, str) or not spec.split():
        raise UserError(f"library {spec!r} must be a name: one of {', '.join(LIBRARIES)}.")
    library, *options = spec.split()
    check_name("library", library, tuple(LIBRARIES))
    modes = [option for option in options if option != CPU_WORD]
    for mode in modes:
        check_name(f"mode of {library}", mode, LIBRARIES[library])
    if len(modes) > 1:
        raise UserError(f"library {spec!r} has two modes, {' and '.join(modes)}: name them one by one.")
    processor = "cpu" if CPU_WORD in options and library not in CPU_LIBRARIES else "device"
    mode = modes[0] if modes else LIBRARIES[library][0]
    return Conv2dTrial(library=library, mode=mode, processor=processor, **sizes)


def call_device_counts(asked: Sequence[int], available: int, images: int, most: int = 0) -> list[int]:
    """Return on how many devices to measure: 1 and the numbers asked for.

    Where none are asked for, these are all numbers that divide the images, as in the article.

    Args:
        most: The largest number where none are asked for; 0 for all devices.
    """
    if most < 0:
        raise UserError("max_devices", most, "must be 0, for all, or more.")
    for count in asked:
        check_whole("devices", count, 1)
    top = min(available, most or available)
    return sorted({1, *asked}) if asked else [n for n in range(1, top + 1) if images % n == 0]


def core_trials(
    libraries: Sequence[str], device_libraries: Sequence[str], counts: Sequence[int], **sizes: int
) -> tuple[Conv2dTrial, ...]:
    """Return every library at the article's size, and some of them on every number of devices.

    Raises:
        UserError: No library, one that `library_trial` refuses, or a CPU library on several devices.
    """
    check_some("libraries", libraries, "name at least one.")
    alone = [library_trial(spec, **sizes) for spec in libraries]
    spread = [library_trial(spec, devices=count, **sizes) for count in counts for spec in device_libraries]
    return tuple(dict.fromkeys([*alone, *spread]))


def control_trials(
    controls: Sequence[str], libraries: Sequence[str], **sizes: int
) -> tuple[Conv2dTrial, ...]:
    """Return the trials of the libraries that are measured twice in each block.

    Raises:
        UserError: A control that is not among the libraries.
    """
    compared = core_trials(libraries, (), (), **sizes)
    twice = tuple(library_trial(spec, **sizes) for spec in controls)
    for spec, trial in zip(controls, twice, strict=True):
        if trial not in compared:
            raise UserError(
                f"controls: {spec!r} is not among libraries (={list(libraries)}): add it there, too."
            )
    return twice


def on_device(trial: AnyTrial) -> bool:
    """Return whether a framework convolves on its device; the CPU's baselines do not."""
    return trial.phase.calls and not trial.on_cpu


def on_one_device(core: Iterable[Conv2dTrial]) -> tuple[list[Conv2dTrial], list[Conv2dTrial]]:
    """Return the trials on one device, without seed: those of frameworks, and the baselines of the CPU."""
    alone = [trial.spec for trial in core if trial.devices == 1]
    return [t for t in alone if on_device(t)], [t for t in alone if not on_device(t)]


def that_ran(core: Iterable[Conv2dTrial], runs: Iterable[Run]) -> tuple[Conv2dTrial, ...]:
    """Return the core without the libraries that never ran here, such as those not installed; all where none ran."""
    ran = {run.trial.library for run in runs if run.status is Status.OK and run.trial.phase.calls}
    asked = tuple(core)
    return tuple(trial for trial in asked if trial.library in ran) or asked


def pair_of(core: Iterable[Conv2dTrial]) -> tuple[Conv2dTrial, Conv2dTrial | None]:
    """Return the article's pair, TensorFlow and SciPy, without seed.

    Where one of the two was not asked for, the first framework or the first baseline stands for it. Without
    any framework a baseline stands for the device; without any baseline the second is None.
    """
    sides = on_one_device(core)
    device, cpu = (
        next((trial for trial in side if trial.library == name), side[0] if side else None)
        for name, side in zip(ARTICLE, sides, strict=True)
    )
    return device or sides[1][0], cpu
