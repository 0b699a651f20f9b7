"""What can be measured: one training configuration. Knows no framework and runs nothing."""

from __future__ import annotations

import difflib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import PurePath
from typing import Any

from trainspeed.errors import UserError

FRAMEWORKS = ("tensorflow", "torch", "jax")
LAYOUTS = ("channels_first", "channels_last")
PRECISIONS = ("fp32", "tf32", "fp16", "bf16")
SINGLE = "single"
# What spreads a batch over devices, per framework. Keras's `multi_gpu_model` of 2019 is gone.
STRATEGIES = {
    "tensorflow": (SINGLE, "mirrored"),
    "torch": (SINGLE, "ddp", "data_parallel"),
    "jax": (SINGLE, "data_parallel"),
}
PIPELINES = ("arrays", "generator", "threads", "processes", "tf_data", "in_model", "resize")
PLAIN_PIPELINES = ("arrays", "resize")  # they do not augment
WITH_WORKERS = ("threads", "processes")
PARTS = ("both", "input", "compute", "fit", "exchange", "latency", "matmul", "conv", "copy")
CEILINGS = ("matmul", "conv", "copy")  # parts that no model has a part in: what the device can do at most
LATENCY_BYTES = 4096  # message of the part "latency"
OWN_DATA = "own"  # what the function `data` of a model of the user's own returns
DATASETS = ("auto", "cifar10", "mnist", "digits", OWN_DATA)
# Models of others: keras.applications, and timm for torch.
ZOO = ("vgg16", "mobilenet", "resnet50", *(f"efficientnet_b{n}" for n in range(6)))
MODEL_NAMES = ("cnn10", "cnn_keras", "wrn28_10", *ZOO)  # wrn28_<width> is valid for every width of at least 1
ZOO_LEAST_PX = 32  # they halve the image five times
CNN_KERAS_LEAST_PX = 12  # smaller images have no pixel left after its second pooling
WIDE_RESNET = re.compile(r"wrn28_([1-9]\d?)")
# A model of the user's own: a function in a file, whose path is below the folder that the user works in.
OWN_MODEL = re.compile(r"(.+\.py):([A-Za-z_]\w*)")
LEAST = {
    "devices": 1,
    "batch_size": 1,
    "images_per_epoch": 1,
    "image_size": 8,
    "workers": 0,
    "queue": 1,
    "seed": 0,
}
# Beyond these a slip of the pen would fill the memory, or start thousands of processes.
MOST = {"image_size": 1024, "workers": 512}
# Field of a trial -> the notebooks' parameter that lists it.
LISTS = {"framework": "frameworks", "model": "models", "layout": "layouts", "precision": "precisions"}
LISTS |= {"batch_size": "batch_sizes"}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One configuration to measure: frozen, hashable, JSON.

    Attributes:
        model: A name of `MODEL_NAMES`, a wide ResNet, or `file.py:function` of the user's own.
        compile: XLA (TensorFlow, JAX) or torch.compile. JAX is always compiled.
        strategy: What spreads a batch over the devices; "single" on one.
        part: Of a training step, what is run: "both" input and compute, only "input", "compute" (the
            same batch again and again), "fit" (both, and as in Keras's tutorials validation and a
            checkpoint within each epoch), "exchange" (as many gradients as the model has, summed over the
            devices), "latency" (the same with a message of LATENCY_BYTES); and of no training step, but of
            what the device can do at most: "matmul", "conv", "copy".
        devices: GPUs; where there is none, CPU cores of one thread each.
        batch_size: Images per step, summed over all devices.
        image_size: Height and width of the input, in pixels.
        images_per_epoch: Images asked for; a run records how many it consumed.
        folds: Of a cross-validation over the first images of the data set; None: the data set's own split.
        fold: The one that is held out, from 0.
        weights: "imagenet" for a model of others (`ZOO`) that starts from there; None: random ones.
        seed: Of the weights and of the data order.
    """

    framework: str
    model: str
    layout: str
    batch_size: int
    images_per_epoch: int
    epochs: int
    precision: str = "fp32"
    compile: bool = False
    strategy: str = "single"
    devices: int = 1
    pipeline: str = "arrays"
    workers: int = 0
    queue: int = 10
    part: str = "both"
    augment: bool = False
    dataset: str = "auto"
    image_size: int = 32
    folds: int | None = None
    fold: int | None = None
    weights: str | None = None
    seed: int = 0

    on_cpu = False  # where there is a GPU; a convolution may be: `conv2d_trial`

    def __post_init__(self) -> None:
        check_name("framework", self.framework, FRAMEWORKS)
        check_model(self.model)
        check_name("layout", self.layout, LAYOUTS)
        check_name("precision", self.precision, PRECISIONS)
        check_name("pipeline", self.pipeline, PIPELINES)
        check_name("part", self.part, PARTS)
        check_name("dataset", self.dataset, DATASETS)
        for name in ("compile", "augment"):
            if not isinstance(getattr(self, name), bool):
                raise UserError(f"{name} (={getattr(self, name)!r}) must be true or false.")
        for name, least in LEAST.items():
            check_least(name, getattr(self, name), least)
        for name, most in MOST.items():
            if getattr(self, name) > most:
                raise UserError(f"{name} (={getattr(self, name)}) is too large: {most} or less.")
        check_least("epochs", self.epochs, 3, "the first is shown apart and the rest need a median")
        check_strategy(self.framework, self.strategy, self.devices)
        check_pipeline(self.framework, self.pipeline, self.workers, self.augment)
        least_px = (
            CNN_KERAS_LEAST_PX if self.model == "cnn_keras" else ZOO_LEAST_PX if self.model in ZOO else 0
        )
        if self.image_size < least_px:
            raise UserError(
                f"image_size (={self.image_size}) is too small for {self.model}: {least_px} px or more."
            )
        if self.model in ZOO and self.weights is not None:
            check_name("weights", self.weights, ("imagenet",))
        if self.folds is not None:
            check_least("folds", self.folds, 2, "one is held out, the others are trained on")
        if self.batch_size % self.devices:
            near = self.batch_size - self.batch_size % self.devices
            choices = " or ".join(str(n) for n in (near, near + self.devices) if n)
            raise UserError(
                f"batch_size (={self.batch_size}) must be divisible by devices (={self.devices}): "
                f"try {choices}."
            )
        if self.batch_size > self.images_per_epoch:
            raise UserError(
                f"batch_size (={self.batch_size}) is larger than the epoch: "
                f"images_per_epoch (={self.images_per_epoch}). Raise images_per_epoch or lower batch_size."
            )

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch; a last partial batch is dropped (it would be traced anew)."""
        return self.images_per_epoch // self.batch_size

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: every field, in order."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Trial:
        """Return the trial that `as_dict` was called on."""
        return cls(**{field.name: data[field.name] for field in fields(cls) if field.name in data})

    def in_block(self, block: int) -> Trial:
        """Return the trial as block `block` runs it: with a seed and, where there are folds, a fold of its own."""
        fold = None if self.folds is None else block % self.folds
        return replace(self, seed=self.seed + block, fold=fold)

    def without_seed(self) -> Trial:
        """Return the trial that is the same in every block: the seed and the fold change between blocks."""
        return replace(self, seed=0, fold=None)

    def program(self) -> Trial:
        """Return what is the same for trials that run the same layers in the same layout."""
        return replace(self.without_seed(), batch_size=self.devices)


def grid(**factors: Any) -> tuple[Trial, ...]:
    """Return every combination of the factors: a list is a factor, anything else is held equal.

    JAX has no uncompiled training worth the name, so its trials are always compiled, once each.
    """
    if unknown := sorted(set(factors) - {field.name for field in fields(Trial)}):
        raise UserError(
            f"unknown factor {unknown[0]!r}{_suggest(unknown[0], [f.name for f in fields(Trial)])}"
        )
    axes = [value if _is_list(value) else [value] for value in factors.values()]
    for name, axis in zip(factors, axes, strict=True):
        if not axis:
            name = LISTS.get(name, name)
            raise UserError(f"{name} is an empty list: name at least one, or leave the parameter out.")
    trials = (Trial(**dict(zip(factors, values, strict=True))) for values in itertools.product(*axes))
    normal = (replace(t, compile=True) if t.framework == "jax" else t for t in trials)
    return tuple(dict.fromkeys(normal))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _suggest(value: str, known: Iterable[str]) -> str:
    known = list(known)
    close = difflib.get_close_matches(str(value), known, n=1)
    return (f": did you mean {close[0]!r}?" if close else ":") + f" Known: {', '.join(known)}."


def check_name(field: str, value: object, known: Sequence[str], others: str = "") -> None:
    """Raise a UserError with a suggestion where a name is not a known one."""
    if value not in known:
        suggestion = _suggest(str(value), known).removesuffix(".")
        raise UserError(f"unknown {field} {value!r}{suggestion}{', ' + others if others else ''}.")


def check_model(model: object) -> None:
    """Raise a UserError where a model is none of the known ones, and no `file.py:function` either."""
    if isinstance(model, str) and WIDE_RESNET.fullmatch(model):
        return
    if not isinstance(model, str) or ".py" not in model:
        others = "wrn28_<width> for widths from 1 to 99, and your own as file.py:function"
        check_name("model", model, MODEL_NAMES, others)
    elif not (own := OWN_MODEL.fullmatch(model)):
        raise UserError(
            f"model {model!r} must be file.py:function, such as 'examples/small_cnn.py:build_torch'."
        )
    elif PurePath(own[1]).is_absolute() or ".." in PurePath(own[1]).parts:
        raise UserError(
            f"model {model!r} must be a path below the folder that you work in, without '..', since it is kept "
            "in the ledger: work there, or give it as MODEL, which may be anywhere."
        )


def check_strategy(framework: str, strategy: str, devices: int) -> None:
    """Raise a UserError where a framework lacks a strategy, or the strategy cannot use so many devices."""
    known = STRATEGIES[framework]
    if strategy not in known:
        raise UserError(f"{framework} has no strategy {strategy!r}: it has {', '.join(known)}.")
    if strategy == SINGLE and devices != 1:
        raise UserError(f"strategy 'single' uses one device, not {devices}: choose {' or '.join(known[1:])}.")


def check_pipeline(framework: str, pipeline: str, workers: int, augment: bool) -> None:
    """Raise a UserError where a pipeline lacks its workers, has them in vain, or cannot augment."""
    if (pipeline in WITH_WORKERS) != (workers > 0):
        needed = "needs workers of at least 1" if pipeline in WITH_WORKERS else "has no workers: use 0"
        raise UserError(f"pipeline {pipeline!r} {needed}, not {workers}.")
    if pipeline in PLAIN_PIPELINES and augment:
        raise UserError(f"pipeline {pipeline!r} does not augment images: use 'in_model' or another pipeline.")
    if pipeline == "tf_data" and framework != "tensorflow":
        raise UserError(f"pipeline 'tf_data' needs TensorFlow, not {framework}.")


def check_least(field: str, value: object, least: int, why: str = "") -> None:
    """Raise a UserError where a value is no whole number, or below the least."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(
            f"{field} (={value!r}) must be a whole number of at least {least}{': ' + why if why else ''}."
        )
