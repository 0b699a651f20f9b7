"""How long a run may take and how much memory, before it is measured. Rough, and runs nothing.

Earlier runs of the same trial tell the time better.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from trainspeed.conduct.plan import Planned
from trainspeed.conduct.turn_plan import lead_in_of
from trainspeed.conduct.turns import ROUNDS, TURN_S, shortest_turn_s, turn_of_calls, turns_of_epochs
from trainspeed.conduct.workers import WorkerKind
from trainspeed.core.convolution import CPU_LIBRARIES, AnyTrial, Conv2dTrial
from trainspeed.core.errors import UserError
from trainspeed.core.format import counted, gigabytes
from trainspeed.core.layer_table import PASSES
from trainspeed.core.library_model import find_library_model, is_library_model
from trainspeed.core.phase import LINK
from trainspeed.core.probe import IN_ROUNDS, WITHOUT_FRAMEWORK, Probe
from trainspeed.core.programs import SHARE, again_s, compiles_anew, makes_programs
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FOLDED_IMAGES, WIDE_RESNET, Trial
from trainspeed.worker.convolution.calls import MAX_STAGED, RESIDENT_SHARE, STAGED_S, WARM_UP_S
from trainspeed.worker.probes import epoch
from trainspeed.worker.probes.energy import SPAN_S
from trainspeed.worker.probes.energy import WARM_UP_S as WARM_UP_GPU_S
from trainspeed.worker.probes.leftover import PAUSE_S
from trainspeed.worker.turns import EPOCHS_BEFORE_TURNS

# For a training: building the model and tracing its first epoch, of cnn10 in a fork of a worker that is warm, and what
# a CPU core computes in a second. TensorFlow traces once more for each of several devices.
# Source: data/measured/xeon-amx-2-cores; another machine of 2 cores agreed within a sixth
TRACE_S = {"tensorflow": 1.8, "torch": 0.15, "jax": 3.0}
CPU_CORE_FLOP_PER_S = 1e11
# Of a further worker, from a warm disk; see `forecast.WORKERS_START_S` for those that start side by side.
IMPORT_S = {"tensorflow": 5.0, "torch": 3.0, "jax": 3.0}
# Of a large GPU: ResNet-50 trains on 2,000 to 5,000 images of 224 px a second in 16 bits, on about two thirds in TF32.
GPU_FLOP_PER_S = {"fp32": 3e13, "tf32": 5e13, "fp16": 8e13, "bf16": 8e13}
GPU_DEFAULT_FLOP_PER_S = GPU_FLOP_PER_S["tf32"]  # convolutions take TF32 where nothing else is asked for
# On a GPU each process makes a context of the device, and its first steps load and choose kernels. On an H100 torch
# took 1 s for a context and a model, and half a second more for the first epoch, JAX 5 s for its first operations and
# 3 s for a step, of which it tries the algorithms. Source: data/measured/nvidia-h100; JAX's from a report in `smoke`
CONTEXT_S = 1.0
KERNELS_S = {"tensorflow": 2.0, "torch": 0.3, "jax": 5.0}
JOIN_S = 0.5  # for each further device of a run, to find the others
LAUNCH_S = 3e-3  # of a step's kernels: the least that a step of a small batch takes
# Until a compiler is done, with empty caches. Inductor took 28 s for ResNet-50 (twice the depth of cnn10) in
# training, about twice that on another machine, and 22 s for cnn10 on an H100. JAX always compiles: its tracing and
# kernels hold it. Source: https://github.com/pytorch/benchmark/pull/1547; data/measured/nvidia-h100-switches
COMPILE_S = {"tensorflow": 5.0, "torch": 20.0, "jax": 0.0}
CNN10_TRAIN_FLOP = 1.6e9  # per 32x32 image, forward and backward
CNN_KERAS_TRAIN_FLOP = 0.12e9
WIDE_RESNET_TRAIN_FLOP = 31.5e9 / 10**2  # times the width squared
# As counted by `layer_table.training_flops`, brought to 32 pixels; EfficientNet B1 to B5 roughly.
ZOO_TRAIN_FLOP = {"vgg16": 1.9e9, "mobilenet": 0.07e9, "resnet50": 0.5e9, "efficientnet_b0": 0.05e9}
ZOO_TRAIN_FLOP |= {f"efficientnet_b{n}": 0.05e9 * 1.45**n for n in range(1, 6)}
LIBRARY_FLOP = 8e9  # of a forward pass at its own size, where it could not be counted: ResNet-50's
DATA_SET_IMAGES = {"cifar10": 60_000, "mnist": 70_000, "digits": 1_797}
IMAGE_BYTES_PER_PX = 3 * 4  # three channels, float32
# For a convolution, roughly: what a CPU library computes in a second, and how long it takes to call it once.
CONV2D_FLOP_PER_S = {"scipy_signal": 4e8, "scipy_ndimage": 6e8, "scipy_fft": 8e8, "scipy_oaconvolve": 3e8}
CONV2D_FLOP_PER_S |= {"opencv": 3e9}
CPU_BYTES_PER_S, PLANE_S = 3e9, 1e-5
DEVICE_FLOP_PER_S = 1e10  # of a framework on one CPU core with few channels; a GPU is faster
CEILING_EPOCH_S = 1.0  # of whatever it repeats; finding out how often takes about as long once more
LINK_EPOCH_S = 1.2  # of sums of every size, on a link that is not too slow for the largest
PROBE_S = 0.5  # of a probe that trains nothing
COUNT_S = 2.0  # of one that counts what a step computes, beside what its framework traces
START_S = 0.4  # of a run, until its first call
COPIES = 3  # of images and results on the host: padded or the device's, and an earlier result


def estimates_s(
    plan: Iterable[Planned],
    known: Iterable[Run],
    device: str,
    turn_s: float = TURN_S,
    *,
    rounds: int = ROUNDS,
) -> list[float]:
    """Return about how long each run will take, in seconds: as it took before, else by its arithmetic.

    Args:
        rounds: Of turns, for those that take turns.
    """
    whole = (
        RunSet(tuple(known)).ok().where(lambda run: bool(run.stages_s))
    )  # a failed run tells nothing about it
    before = whole.by_trial()
    plan = list(plan)
    together_s: dict[tuple[int, int], list[float]] = defaultdict(list)
    for planned in plan:
        together_s[planned.block, planned.group].append(_trained_s(planned.trial, device))
    ahead = {(one.block, one.group) for one in plan if lead_in_of([one.trial])}
    anew = [compiles_anew(planned.label, planned.block) for planned in plan]
    return [
        _took_s(before[spec], anew=is_anew)
        if (spec := planned.trial.spec) in before
        else run_s(
            spec,
            device,
            rounds=rounds if len(together_s[planned.block, planned.group]) > 1 else 0,
            together_s=together_s[planned.block, planned.group],
            turn_s=turn_s,
            lead_in=int((planned.block, planned.group) in ahead),
            anew=is_anew,
        )
        for planned, is_anew in zip(plan, anew, strict=True)
    ]


def _took_s(runs: Iterable[Run], *, anew: bool) -> float:
    """Return how long runs of a trial took on average: those that compiled all anew, or as later ones take."""
    known = list(runs)
    whole_s = [run.busy_s for run in known if run.compiled_anew] if anew else []
    return fmean(whole_s or map(again_s, known))


def imports_s(trials: Iterable[AnyTrial]) -> float:
    """Return about how long it takes to import the frameworks of these trials in the environments that levers set.

    The plain workers are not among them: they start once, side by side.
    """
    return sum(IMPORT_S[kind.framework] for kind in set(map(WorkerKind.of, trials)) if kind.settings)


def run_s(
    trial: AnyTrial,
    device: str,
    *,
    rounds: int = 0,
    together_s: Sequence[float] = (),
    turn_s: float = TURN_S,
    lead_in: int = 0,
    anew: bool = True,
) -> float:
    """Return about how long a run takes by its arithmetic, in seconds, without its waits for turns.

    Args:
        rounds: Of turns; 0 for a run that takes none.
        together_s: Seconds of an epoch of all that it takes turns with, itself among them: all have as many epochs.
        lead_in: Epochs of a turn that do not count: see `lead_in_of`.
        anew: False where it takes programs of earlier runs again: see `programs`.
    """
    if isinstance(trial, Conv2dTrial):
        return _calls_s(trial, rounds or ROUNDS, turn_s, device)
    if isinstance(trial, Probe):
        return _probe_s(trial, device)
    # It says so at once.
    gpus_only = (trial.framework, trial.strategy) == ("torch", "data_parallel") or trial.precision == "tf32"
    if gpus_only and device == "cpu":
        return TRACE_S["torch"]
    begin_s = CONTEXT_S + JOIN_S * (trial.devices - 1) if device == "gpu" else 0.0
    if trial.phase.ceiling:
        return begin_s + TRACE_S["torch"] + (trial.epochs + 1) * CEILING_EPOCH_S
    if trial.phase is LINK:
        return begin_s + TRACE_S["torch"] + (trial.epochs + 1) * LINK_EPOCH_S
    if not trial.phase.traced:
        return begin_s + TRACE_S["torch"]
    depth, epoch_s = _epoch_s(trial, device)
    compile_s = COMPILE_S[trial.framework] if trial.compile else 0.0
    trace_s = TRACE_S[trial.framework] * (trial.devices if trial.strategy == "mirrored" else 1) + compile_s
    if not anew and makes_programs(trial, device):
        trace_s -= SHARE[trial.framework] * (compile_s or trace_s)  # JAX's tracing holds its compiling
    if device == "gpu":
        trace_s += KERNELS_S[trial.framework]
    epochs = trial.epochs
    if rounds:
        fitting = {"shortest_s": shortest_turn_s(device), "rounds": rounds, "lead_in": lead_in}
        turns = turns_of_epochs(together_s or [epoch_s], turn_s, trial.epochs, **fitting)
        epochs = EPOCHS_BEFORE_TURNS + turns.rounds * turns.each.epochs
    return begin_s + trace_s * depth + epochs * epoch_s


def _trained_s(trial: AnyTrial, device: str) -> float:
    """Return about how long an epoch takes; 0 of what trains no model, as input alone, which takes little."""
    trains = isinstance(trial, Trial) and trial.phase.traced and not trial.phase.ceiling
    return _epoch_s(trial, device)[1] if trains else 0.0


def _epoch_s(trial: Trial, device: str) -> tuple[float, float]:
    """Return how many times as deep as cnn10 a model is, and about how long an epoch of a training takes."""
    wide, of_library = WIDE_RESNET.fullmatch(trial.model), is_library_model(trial.model)
    if wide:
        flop = WIDE_RESNET_TRAIN_FLOP * int(wide[1]) ** 2
    elif of_library:
        flop = _library_flop(trial.model)
    else:
        flop = (ZOO_TRAIN_FLOP | {"cnn_keras": CNN_KERAS_TRAIN_FLOP}).get(trial.model, CNN10_TRAIN_FLOP)
    deep = of_library or (trial.model in ZOO_TRAIN_FLOP and trial.model != "vgg16")
    depth = 2 if deep else 1.5 if wide else 0.25 if trial.model == "cnn_keras" else 1
    gpu_flop_per_s = GPU_FLOP_PER_S.get(trial.precision, GPU_DEFAULT_FLOP_PER_S)
    rate = (gpu_flop_per_s if device == "gpu" else CPU_CORE_FLOP_PER_S) * trial.devices
    epoch_s = trial.images_per_epoch * (trial.image_size / 32) ** 2 * flop / rate
    if device == "gpu":
        epoch_s = max(epoch_s, trial.steps_per_epoch * LAUNCH_S * depth)
    return depth, epoch_s


def _probe_s(probe: Probe, device: str) -> float:
    """Return about how long a probe takes; the one that compares loops, all its rounds."""
    if probe.name in WITHOUT_FRAMEWORK:
        return PROBE_S
    begin_s = CONTEXT_S + KERNELS_S[probe.framework] if device == "gpu" else 0.0
    if probe.name in IN_ROUNDS:
        _, epoch_s = _epoch_s(epoch.trial_of(probe.framework, device), device)
        rest_s = PAUSE_S if device == "cpu" else 0.0
        turns = 2 * (1 + probe.rounds)  # the first round traces
        return begin_s + TRACE_S[probe.framework] + turns * (epoch.EPOCHS * epoch_s + rest_s)
    if probe.name == "energy":
        return begin_s + (WARM_UP_GPU_S + SPAN_S if device == "gpu" else 0.0)
    return begin_s + (TRACE_S[probe.framework] + COUNT_S if probe.name == "work" else PROBE_S)


def _library_flop(model: str) -> float:
    """Return the FLOPs of a training step of a library's model, brought to an image of 32 pixels."""
    found = find_library_model(model)
    return PASSES * (found.forward_flops or LIBRARY_FLOP) * (32 / found.px) ** 2


def _calls_s(trial: Conv2dTrial, rounds: int, turn_s: float, device: str) -> float:
    """Return about how long a convolution takes with its first call, its warm-up and its turns."""
    one_s = call_s(trial)
    before_s = START_S + one_s + max(one_s, WARM_UP_S)
    if device == "gpu" and not trial.on_cpu:
        before_s += CONTEXT_S + JOIN_S * (trial.devices - 1) + KERNELS_S[trial.framework]
    # One is not timed: before the stages, and at the beginning of each turn.
    one_turn_s = one_s + max(turn_of_calls(turn_s, trial.calls, rounds=rounds).calls * one_s, turn_s)
    if trial.library not in CPU_LIBRARIES:
        before_s += one_s + max(one_s, min(MAX_STAGED * one_s, STAGED_S))
        one_turn_s += max(one_s, RESIDENT_SHARE * turn_s)
    return before_s + rounds * one_turn_s


def call_s(trial: Conv2dTrial) -> float:
    """Return about how long a call takes on one CPU core, in seconds: a device may well be faster."""
    rate = CONV2D_FLOP_PER_S.get(trial.library, DEVICE_FLOP_PER_S)
    planes = trial.images * trial.channels * trial.filters if trial.library in CPU_LIBRARIES else 1
    return planes * PLANE_S + trial.flops / rate + trial.bytes / CPU_BYTES_PER_S


def check_memory(
    plan: Iterable[Planned], allowance_bytes: int, gpus: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Raise a UserError where none of the runs has the memory that it takes: see `shortage`."""
    trials = dict.fromkeys(planned.trial.spec for planned in plan)
    shortages = [shortage(trial, allowance_bytes, gpus) for trial in trials]
    if shortages and None not in shortages:
        raise UserError(shortages[0])


def shortage(trial: AnyTrial, allowance_bytes: int, gpus: Sequence[Mapping[str, Any]] = ()) -> str | None:
    """Return how much more memory a trial takes than a run may have, of the host's or of a GPU's; None where it fits.

    Args:
        gpus: The GPUs that are used, with `memory_bytes`; None where it is not known.
    """
    if isinstance(trial, Conv2dTrial):
        return _shortage_of_call(trial, allowance_bytes, gpus)
    return _shortage_of_images(trial, allowance_bytes) if isinstance(trial, Trial) else None


def _shortage_of_images(trial: Trial, allowance_bytes: int) -> str | None:
    """Look at the images alone. The processes of a run share the data set; each rank of ddp copies the epoch's."""
    if trial.pipeline == "resize" or trial.phase.ceiling:
        return None
    whole = DATA_SET_IMAGES.get(trial.dataset, 0) if trial.folds is None else FOLDED_IMAGES
    copies = trial.devices_per_node if trial.strategy == "ddp" else 1
    copied = copies * trial.steps_per_epoch * trial.batch_size
    needed = (whole + copied) * trial.image_size**2 * IMAGE_BYTES_PER_PX
    if needed <= allowance_bytes:
        return None
    return (
        f"{trial.images_per_epoch} images per epoch with an image_size of {trial.image_size} need "
        f"{gigabytes(needed, 1)} of memory, with the data set {trial.dataset}, and "
        f"{gigabytes(allowance_bytes, 1)} are available for a run: lower images_per_epoch or image_size."
    )


def _shortage_of_call(
    trial: Conv2dTrial, allowance_bytes: int, gpus: Sequence[Mapping[str, Any]]
) -> str | None:
    limits = [("memory", COPIES * (trial.input_bytes + trial.output_bytes), allowance_bytes)]
    sizes = [gpu["memory_bytes"] for gpu in gpus[: trial.devices] if gpu.get("memory_bytes")]
    if sizes and not trial.on_cpu:
        limits.append(("a GPU's memory", trial.device_bytes, min(sizes)))
    for what, needed, available in limits:
        if needed > available:
            size = f"{trial.height}x{trial.width}x{trial.channels}"
            return (
                f"{trial.images} images of {size} with {counted(trial.filters, 'filter')} need about "
                f"{gigabytes(needed, 1)} of {what}, and {gigabytes(available, 1)} are available for a run: lower "
                "images, channels or filters."
            )
    return None
