"""Which trials a study runs, in which order, and how long that may take. Runs nothing."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from trainspeed import conv2d_estimates
from trainspeed.conv2d_trial import AnyTrial, Conv2dTrial
from trainspeed.errors import UserError
from trainspeed.run import FINAL, Run, Status
from trainspeed.trial import CEILINGS, FRAMEWORKS, WIDE_RESNET, Trial, check_name

CONTROL, CONTROL_AGAIN = "A", "A again"
DEFAULT_ALLOCATION = "default allocation"
MOST_BLOCKS = 1000  # 6 to 10 decide most comparisons
AUXILIARY = (CONTROL_AGAIN, DEFAULT_ALLOCATION)  # runs that are no data of their trial's own


@dataclass(frozen=True, kw_only=True)
class Part:
    """Trials of a study that are repeated equally often.

    Attributes:
        blocks: How often every trial runs; 6 or more give an interval.
        controls: Trials among `trials` that run twice in each block: their difference is noise.
        factors: Names of the fields that are compared: in a block, trials that differ in nothing else
            follow each other, so that a machine that gets slower or faster meanwhile meets both.
        label: What the trials are for, where that is not to be compared with each other.
        parameter: Of the notebook, that says how many blocks; only `blocks` itself must not be 0.
    """

    trials: tuple[AnyTrial, ...]
    blocks: int
    controls: tuple[AnyTrial, ...] = ()
    label: str = ""
    factors: tuple[str, ...] = ()
    parameter: str = "blocks"

    def __post_init__(self) -> None:
        least, why = (0, "0 leaves it out")
        if self.parameter == "blocks":
            least, why = (1, "6 or more give an interval")
        whole = isinstance(self.blocks, int) and not isinstance(self.blocks, bool)
        if not whole or not least <= self.blocks <= MOST_BLOCKS:
            raise UserError(
                f"{self.parameter} (={self.blocks!r}) must be a whole number from {least} to {MOST_BLOCKS}: {why}."
            )


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One run to do. The trial's seed is the block's own."""

    block: int
    label: str
    trial: AnyTrial

    @property
    def key(self) -> tuple[str, int, AnyTrial]:
        """As `Run.key`."""
        return self.label, self.block, self.trial

    @property
    def kind(self) -> tuple[str, AnyTrial]:
        """What is the same in every block."""
        return self.label, self.trial.without_seed()


def schedule(parts: Sequence[Part], seed: int) -> tuple[Planned, ...]:
    """Return every run of a study: block after block, in a fresh random order in each.

    The trials of a comparison are neighbours, in random order too. The order comes from the seed alone.
    A trial that two parts name runs once, by the first of them.
    """
    plan: list[Planned] = []
    for block in range(max((part.blocks for part in parts), default=0)):
        runs: dict[tuple[str, AnyTrial], Planned] = {}
        groups: dict[Planned, Any] = {}
        named: set[AnyTrial] = set()
        for part in parts:
            if block < part.blocks:
                for label, trial in _labelled(part, named):
                    runs[label, trial] = Planned(block=block, label=label, trial=trial.in_block(block))
                    groups[runs[label, trial]] = _without(part.factors, trial)
        order = list(runs.values())
        random.Random(f"{seed}:{block}").shuffle(order)
        first: dict[Any, int] = {}
        for place, planned in enumerate(order):
            first.setdefault(groups[planned], place)
        plan += sorted(order, key=lambda planned: first[groups[planned]])
    return tuple(plan)


def _without(factors: tuple[str, ...], trial: AnyTrial) -> Any:
    return tuple(item for item in trial.as_dict().items() if item[0] not in factors)


def _labelled(part: Part, named: set[AnyTrial]) -> Iterable[tuple[str, AnyTrial]]:
    for trial in part.trials:
        if part.label:
            yield part.label, trial
        elif trial not in named:
            named.add(trial)
            yield (CONTROL if trial in part.controls else ""), trial
            if trial in part.controls:
                yield CONTROL_AGAIN, trial


def one_per_framework(trials: Sequence[Trial], frameworks: Sequence[str] | None = None) -> tuple[Trial, ...]:
    """Return one trial of each framework: the last layout of its first model and batch size.

    Args:
        frameworks: Only of these; of all by default.
    Raises:
        UserError: A framework that does not exist.
    """
    for name in frameworks or ():
        check_name("framework", name, FRAMEWORKS)
    first = {trial.framework: trial for trial in reversed(trials)}
    last_layout: dict[str, Trial] = {}
    for trial in trials:
        if replace(trial, layout=first[trial.framework].layout) == first[trial.framework]:
            last_layout[trial.framework] = trial
    return tuple(t for name, t in last_layout.items() if frameworks is None or name in frameworks)


def still_to_do(plan: Sequence[Planned], done: Iterable[Run]) -> tuple[Planned, ...]:
    """Return what a resumed session has left: all but what ended well or would end the same again.

    A framework that was not installed (its row has no versions) may be there by now.
    """
    done = list(done)
    finished = {run.key for run in done if run.status == Status.OK}
    hopeless = {(run.label, run.trial.without_seed()) for run in done if run.status in FINAL and run.versions}
    return tuple(p for p in plan if p.key not in finished and p.kind not in hopeless)


# Training and test images: all are resized before training, but for folds and the pipeline "resize".
FOLDED_IMAGES = 1000  # training images of a data set that is cross-validated: as many as in article 003
DATA_SET_IMAGES = {"cifar10": 60_000, "mnist": 70_000, "digits": 1_797}
IMAGE_BYTES_PER_PX = 3 * 4  # three channels, float32


def check_memory(
    plan: Iterable[Planned], allowance_bytes: int, gpus: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Raise a UserError where the images of a run alone take more memory than it may have.

    The processes of a run share the data set; of an epoch, each rank of ddp has a copy.
    """
    for trial in dict.fromkeys(planned.trial.without_seed() for planned in plan):
        if isinstance(trial, Conv2dTrial):
            conv2d_estimates.check_memory(trial, allowance_bytes, gpus)
            continue
        if trial.pipeline == "resize" or trial.part in CEILINGS:
            continue
        there = DATA_SET_IMAGES.get(trial.dataset, 0) if trial.folds is None else FOLDED_IMAGES
        copies = trial.devices if trial.strategy == "ddp" else 1
        copied = copies * trial.steps_per_epoch * trial.batch_size
        needed = (there + copied) * trial.image_size**2 * IMAGE_BYTES_PER_PX
        if needed > allowance_bytes:
            raise UserError(
                f"{trial.images_per_epoch} images per epoch with an image_size of {trial.image_size} need "
                f"{needed / 1e9:.1f} GB of memory, with the data set {trial.dataset}, and "
                f"{allowance_bytes / 1e9:.1f} GB are there for a run: lower images_per_epoch or image_size."
            )


def most_devices(plan: Iterable[Planned]) -> int:
    """Return the largest number of devices that a run uses."""
    return max((planned.trial.devices for planned in plan), default=1)


def check_devices(plan: Sequence[Planned], count: int, kind: str) -> None:
    """Raise a UserError where a run needs more devices than there are.

    Args:
        kind: "GPU" or "CPU core".
    """
    if (most := most_devices(plan)) > count:
        plural = "s" if count > 1 else ""
        raise UserError(
            f"devices (={most}) is more than there are: {count} {kind}{plural} to use here. Lower devices."
        )


# Rough costs for the first estimate; after that, runs of the same trial in the ledger tell.
TRACE_S = {"tensorflow": 4.0, "torch": 0.5, "jax": 3.0}
CPU_CORE_FLOP_PER_S, GPU_FLOP_PER_S = 5e10, 1e13
CNN10_TRAIN_FLOP = 1.6e9  # per 32x32 image, forward and backward
WIDE_RESNET_TRAIN_FLOP = 31.5e9 / 10**2  # times the width squared
# As counted by `layers.training_flops`, brought to 32 pixels; EfficientNet B1 to B5 roughly.
ZOO_TRAIN_FLOP = {"vgg16": 1.9e9, "mobilenet": 0.07e9, "resnet50": 0.5e9, "efficientnet_b0": 0.05e9}
CNN_KERAS_TRAIN_FLOP = 0.12e9
ZOO_TRAIN_FLOP |= {f"efficientnet_b{n}": 0.05e9 * 1.45**n for n in range(1, 6)}


def estimates_s(plan: Iterable[Planned], known: Iterable[Run], device: str) -> list[float]:
    """Return about how long each run will take, in seconds: as it took before, else by its arithmetic."""
    before: dict[AnyTrial, list[float]] = defaultdict(list)
    for run in known:
        if run.status == Status.OK and run.stages_s:  # a failed run says nothing of a whole one
            before[run.trial.without_seed()].append(sum(run.stages_s.values()))
    trials = [planned.trial.without_seed() for planned in plan]
    return [fmean(before[trial]) if trial in before else _by_arithmetic_s(trial, device) for trial in trials]


def estimate_s(planned: Planned, known: Iterable[Run], device: str) -> float:
    """Return about how long one run will take, in seconds."""
    return estimates_s([planned], known, device)[0]


def _by_arithmetic_s(trial: AnyTrial, device: str) -> float:
    if isinstance(trial, Conv2dTrial):
        return conv2d_estimates.run_s(trial)
    if device == "cpu" and (trial.framework, trial.strategy) == ("torch", "data_parallel"):
        return TRACE_S["torch"]  # it is for GPUs only, and says so at once
    if trial.part in ("input", "exchange", "latency"):  # nothing is traced, and no layer is run
        return TRACE_S["torch"]
    wide = WIDE_RESNET.fullmatch(trial.model)
    flop = WIDE_RESNET_TRAIN_FLOP * int(wide[1]) ** 2 if wide else CNN10_TRAIN_FLOP
    flop = ZOO_TRAIN_FLOP.get(trial.model, CNN_KERAS_TRAIN_FLOP if trial.model == "cnn_keras" else flop)
    rate = GPU_FLOP_PER_S if device == "gpu" else CPU_CORE_FLOP_PER_S * trial.devices
    images = trial.images_per_epoch * trial.epochs * (trial.image_size / 32) ** 2
    deep = wide or trial.model in ZOO_TRAIN_FLOP
    return TRACE_S[trial.framework] * (3 if deep else 1) + images * flop / rate
