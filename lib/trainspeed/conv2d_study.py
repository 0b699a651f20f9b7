"""Which convolutions the conv2d notebook measures, and the runs of each. Runs nothing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from trainspeed.conv2d_estimates import call_s
from trainspeed.conv2d_trial import CPU_LIBRARIES, FIRST_STAGES, LIBRARIES, AnyTrial, Conv2dTrial
from trainspeed.errors import UserError
from trainspeed.run import Run, Status
from trainspeed.schedule import AUXILIARY
from trainspeed.trial import check_least, check_name
from trainspeed.wording import describe_conv2d

ARTICLE = ("tensorflow", "scipy_signal")  # what article 004 compared: a device's library and the CPU's
VARIED = ("library", "mode", "devices", "processor")
BISECTED = "bisected"  # label of runs at sizes that depend on what was found
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
    if len(modes) > 1:
        raise UserError(f"library {spec!r} has two modes, {' and '.join(modes)}: name them one by one.")
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
    for count in asked:
        check_least("devices", count, 1)
        if count > available:
            raise UserError(
                f"devices (={count}) is more than there are: {available} to use here. Lower devices."
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
    for name, specs, on_cpu in (
        ("device_libraries", device_libraries, False),
        ("cpu_libraries", cpu_libraries, True),
    ):
        for spec in specs:
            if library_trial(spec, images=1, height=1, width=1).on_cpu != on_cpu:
                instead = (
                    f"write '{spec} cpu'" if on_cpu else "name a framework: tensorflow, keras, torch, jax"
                )
                raise UserError(
                    f"{name}: {spec!r} runs on {'the device' if on_cpu else 'the CPU'}: {instead}."
                )
    check_least("filters", filters, 0, "0 means as many as channels")
    if not longest_call_s > 0:
        raise UserError(f"longest_call_s (={longest_call_s!r}) must be positive seconds.")
    return tuple(
        trial
        for trial in sweep_at(device_libraries, cpu_libraries, sweeps, filters, sizes)
        if call_s(trial) <= longest_call_s
    )


def sweep_at(
    device_libraries: Sequence[str],
    cpu_libraries: Sequence[str],
    sweeps: Mapping[str, Sequence[int]],
    filters: int,
    sizes: Mapping[str, int],
) -> list[Conv2dTrial]:
    """Return the libraries at every size of each sweep; of channels with as many filters, or so many."""
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
        f"Left out: {', '.join(describe_conv2d(trial))}: a call would take about {call_s(trial):.3g} s "
        f"(longest_call_s is {longest_call_s:g})."
        for trial in sweep_at(device_libraries, cpu_libraries, sweeps, filters, sizes)
        if call_s(trial) > longest_call_s
    ]


def on_device(trial: AnyTrial) -> bool:
    """Whether it is a convolution by a framework on its device, rather than one of the CPU's baselines."""
    return isinstance(trial, Conv2dTrial) and not trial.on_cpu


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


# What was found.


def call_times(runs: Iterable[Run]) -> dict[Conv2dTrial, dict[int, Run]]:
    """Return the runs that ended well: trial without seed -> block -> run; trials by size, then by library."""
    found: dict[Conv2dTrial, dict[int, Run]] = defaultdict(dict)
    for run in runs:
        if isinstance(run.trial, Conv2dTrial) and run.status == Status.OK and run.label not in AUXILIARY:
            found[run.trial.without_seed()][run.block] = run
    return {trial: found[trial] for trial in sorted(found, key=_place)}


def first_call_s(run: Run) -> float:
    """Return how long the first call took with what only it does, without the import, in seconds."""
    return sum(run.stages_s.get(stage, 0.0) for stage in FIRST_STAGES)


def _place(trial: Conv2dTrial) -> tuple:
    """The order of tables: by size, then as `LIBRARIES` has them, then by devices."""
    size = trial.filter_size, trial.channels, trial.filters, trial.images, trial.height, trial.width
    return *size, [*LIBRARIES].index(trial.library), trial.mode, trial.devices, trial.processor
