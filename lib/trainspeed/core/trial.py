"""What can be measured: one training configuration. Knows no framework and runs nothing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Self

from trainspeed.core.errors import (
    NAME_FORM,
    UNKNOWN_FORM,
    UserError,
    check_name,
    check_shared,
    check_some,
    check_whole,
)
from trainspeed.core.factors import TRAINING, BaseTrial
from trainspeed.core.format import DEFAULT_PRECISION, NAMES
from trainspeed.core.levers.host import ALL_CORES, AS_SET, HALF_THREADS
from trainspeed.core.levers.lever import Setting
from trainspeed.core.levers.registry import check_levers, parse_levers
from trainspeed.core.library_model import in_a_library, is_library_model
from trainspeed.core.phase import PHASES, WHOLE, Phase

FRAMEWORKS = ("tensorflow", "torch", "jax")
LAYOUTS = ("channels_first", "channels_last")
STRICT = "fp32"  # 32 bits in every product: no TF32
PRECISIONS = (DEFAULT_PRECISION, STRICT, "tf32", "fp16", "bf16")
# Precision -> the dtype policy that it sets; the default one sets none.
KERAS_POLICIES = {STRICT: "float32", "tf32": "float32", "fp16": "mixed_float16", "bf16": "mixed_bfloat16"}
SINGLE = "single"
# Framework -> what spreads a batch over devices. Keras's `multi_gpu_model` of 2019 is gone.
STRATEGIES = {
    "tensorflow": (SINGLE, "mirrored"),
    "torch": (SINGLE, "ddp", "data_parallel"),
    "jax": (SINGLE, "data_parallel"),
}
# Framework -> its strategies that may be asked for on several nodes; not all of them run there: see the backends.
ACROSS_NODES = {"tensorflow": ("mirrored",), "torch": ("ddp",), "jax": ("data_parallel",)}
PIPELINES = ("arrays", "generator", "threads", "processes", "tf_data", "in_model", "resize")
PLAIN_PIPELINES = ("arrays", "resize")  # they do not augment
WITH_WORKERS = ("threads", "processes")
RUN_AHEAD = ("tf_data",)  # they make batches of later epochs while a training rests between its turns
LATENCY_BYTES = 4096  # size of a message in the phase `LATENCY`
USER_DATA = "own"  # what the function `data` of a user's model returns
DATASETS = ("auto", "cifar10", "mnist", "digits", USER_DATA)
# Training images of a data set that is cross-validated: as many as in article 003.
FOLDED_IMAGES = 1000
# Models of others: keras.applications, and timm for torch.
ZOO = ("vgg16", "mobilenet", "resnet50", *(f"efficientnet_b{n}" for n in range(6)))
MODEL_NAMES = ("cnn10", "cnn_keras", "wrn28_10", *ZOO)  # wrn28_<width> is valid for every width of at least 1
OTHER_MODELS = (
    "wrn28_<width> for widths from 1 to 99, any of timm as timm/<name>, of keras.applications as keras/<name>, and "
    "your own as file.py:function"
)
# Smaller images have no pixel left: the zoo halves them five times, cnn_keras pools twice.
MIN_PX = {"cnn_keras": 12} | dict.fromkeys(ZOO, 32)
WIDE_RESNET = re.compile(r"wrn28_([1-9]\d?)")
# A user's model: a function in a file, whose path is below the folder that the user works in.
USER_MODEL = re.compile(r"(.+\.py):([A-Za-z_]\w*)")
# Field -> its least and its most value: above, a slip of the pen would fill the memory or start thousands of processes.
LIMITS = dict.fromkeys(("devices", "nodes", "batch_size", "images_per_epoch", "queue"), (1, None))
LIMITS |= {"image_size": (8, 1024), "workers": (0, 512), "seed": (0, None)}


@dataclass(frozen=True, kw_only=True)
class Trial(BaseTrial):
    """One configuration to measure: frozen, hashable, JSON.

    Attributes:
        model: A name of `MODEL_NAMES`, a wide ResNet, `timm/<name>`, `keras/<name>`, or a user's `file.py:function`.
        precision: "default" leaves the framework's flags alone, as a plain script does: what it then multiplies in
            is told by `RunResult.tf32`. "fp32" forbids TF32 and "tf32" allows it everywhere; "fp16" and "bf16" are
            mixed precision, with the flags left alone.
        compile: Whether XLA (TensorFlow, JAX) or torch.compile is used. JAX is always compiled.
        strategy: What spreads a batch over the devices; "single" on one.
        part: Name of the `phase` that is run: whole steps, one phase of a step, or a ceiling of the device.
        devices: Number of GPUs on all nodes together; where there is none, of CPU cores of one thread each.
        nodes: Number of machines that the devices are on, as many on each.
        batch_size: Images per step, summed over all devices.
        image_size: Height and width of the input, in pixels.
        images_per_epoch: Images asked for; a run records how many it consumed.
        folds: Number of folds of a cross-validation over the first images of the data set; None uses the data
            set's own split.
        fold: The fold that is held out, from 0.
        levers: (name, value) of each further lever that is not left alone, sorted: see `core.levers`.
        weights: "imagenet" for a model of others (`ZOO`) that starts from there; None starts from random ones.
        seed: Seed of the weights and of the order of the data.
    """

    framework: str
    model: str
    layout: str
    batch_size: int
    images_per_epoch: int
    epochs: int
    precision: str = DEFAULT_PRECISION
    compile: bool = False
    strategy: str = "single"
    devices: int = 1
    nodes: int = 1
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
    levers: tuple[Setting, ...] = ()
    seed: int = 0

    factors = TRAINING
    on_cpu = False  # where there is a GPU; a convolution may be: `core.convolution`

    def __post_init__(self) -> None:
        check_name("framework", self.framework, FRAMEWORKS)
        _check_model(self.model)
        check_name("layout", self.layout, LAYOUTS)
        check_name("precision", self.precision, PRECISIONS)
        check_name("pipeline", self.pipeline, PIPELINES)
        check_name("part", self.part, tuple(PHASES))
        check_name("dataset", self.dataset, DATASETS)
        for name in ("compile", "augment"):
            if not isinstance(value := getattr(self, name), bool):
                raise UserError(name, value, "must be true or false.")
        for name, (least, most) in LIMITS.items():
            check_whole(name, getattr(self, name), least, most=most)
        check_whole("epochs", self.epochs, 3, "the first is shown apart and the rest need a median")
        _check_strategy(self.framework, self.strategy, self.devices)
        _check_nodes(self.framework, self.strategy, self.devices, self.nodes)
        _check_pipeline(self.framework, self.pipeline, self.workers, self.augment)
        if self.image_size < (least := MIN_PX.get(self.model, 0)):
            rule = f"is too small for {self.model}: {least} px or more."
            raise UserError("image_size", self.image_size, rule)
        if self.weights is not None:
            _check_weights(self.model, self.weights)
        if self.folds is not None:
            check_whole("folds", self.folds, 2, "one is held out, the others are trained on")
        check_shared("batch_size", self.batch_size, self.devices)
        object.__setattr__(self, "levers", parse_levers(self.levers))
        check_levers(self)
        if self.batch_size > (images := self.images_per_epoch):
            rule = "is larger than the epoch: {images_per_epoch}. Lower the one or raise the other."
            raise UserError("batch_size", self.batch_size, rule, images_per_epoch=images)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return the trial that `as_dict` was called on; one without a precision is as old as strict fp32."""
        return super().from_dict({"precision": STRICT, **data})

    @property
    def phase(self) -> Phase:
        """The phase that is run."""
        return PHASES[self.part]

    @property
    def whole_steps(self) -> bool:
        """Whether whole training steps are run and nothing else."""
        return self.phase is WHOLE

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in an epoch; a last partial batch is dropped (it would be traced anew)."""
        return self.images_per_epoch // self.batch_size

    def only(self, phase: Phase) -> Trial:
        """Return the trial that runs this phase alone."""
        return replace(self, part=phase.name)

    def strategy_for(self, devices: int) -> str:
        """Return the framework's usual strategy for this number of devices."""
        return SINGLE if devices == 1 else STRATEGIES[self.framework][1]

    @property
    def cores(self) -> int | None:
        return None if {ALL_CORES, HALF_THREADS, AS_SET} & {*self.levers} else self.devices_per_node

    def pulled(self, name: str, value: str | None) -> Trial:
        """Return the trial with a lever that is no field at a value; None leaves it alone."""
        others = tuple(setting for setting in self.levers if setting[0] != name)
        return replace(self, levers=others if value is None else (*others, (name, value)))

    def versions_in_words(self, versions: Mapping[str, str]) -> list[str]:
        """Return the framework that a sentence says it ran on, with its version."""
        return [f"{NAMES[self.framework]} {versions.get(self.framework, '')}".strip()]

    def in_block(self, block: int) -> Trial:
        """Return the trial as block `block` runs it: with its own seed and, where there are folds, its own fold."""
        fold = None if self.folds is None else block % self.folds
        return replace(self, seed=self.seed + block, fold=fold)

    @property
    def spec(self) -> Trial:
        """The trial without what changes between blocks: the seed and the fold."""
        return _spec(self)

    @property
    def graph_key(self) -> Trial:
        """What trials that run the same layers in the same layout have in common."""
        return replace(self.spec, batch_size=self.devices)


@lru_cache(maxsize=4096)
def _spec(trial: Trial) -> Trial:
    return replace(trial, seed=0, fold=None)


def grid(**factors: Any) -> tuple[Trial, ...]:
    """Return every combination of the factors: a list is a factor, anything else is held equal.

    JAX has no uncompiled training worth the name, so its trials are always compiled, once each.
    """
    axes = []
    for name, value in factors.items():
        check_name("factor", name, [field.name for field in fields(Trial)])
        axes.append(value if isinstance(value, Sequence) and not isinstance(value, str) else [value])
        check_some(name, axes[-1], "name at least one, or leave the parameter out.")
    trials = (Trial(**dict(zip(factors, values, strict=True))) for values in itertools.product(*axes))
    return tuple(dict.fromkeys(replace(t, compile=True) if t.framework == "jax" else t for t in trials))


def _check_model(model: object) -> None:
    """Raise a UserError where a model is neither one of the known ones nor a `file.py:function`."""
    if isinstance(model, str) and WIDE_RESNET.fullmatch(model):
        return
    if is_library_model(model):  # whether the library has it is asked where it is planned
        return
    rule = None
    if not isinstance(model, str) or ".py" not in model:
        if model not in MODEL_NAMES and (meant := in_a_library(model)):
            raise UserError(
                "model", model, f": did you mean {' or '.join(map(repr, meant))}?", form=UNKNOWN_FORM
            )
        check_name("model", model, MODEL_NAMES, OTHER_MODELS)
    elif not (own := USER_MODEL.fullmatch(model)) or not model.isprintable():
        rule = "must be file.py:function, such as 'examples/small_cnn.py:build_torch'."
    elif PurePath(own[1]).is_absolute() or ".." in PurePath(own[1]).parts:
        rule = (
            "must be a path below the folder that you work in, without '..', since it is kept in the ledger: "
            "work there, or give it as MODEL, which may be anywhere."
        )
    if rule:
        raise UserError("model", model, rule, form=NAME_FORM)


def _check_weights(model: str, weights: str) -> None:
    """Raise a UserError where a model of others does not start from these weights."""
    if model in ZOO:
        check_name("weights", weights, ("imagenet",))
    elif is_library_model(model):
        raise UserError(
            "weights", weights, f"cannot be loaded into {model}, which starts from random ones: use null."
        )


def _check_strategy(framework: str, strategy: str, devices: int) -> None:
    """Raise a UserError where a framework lacks a strategy, or the strategy cannot use so many devices."""
    known = STRATEGIES[framework]
    rule = None
    if strategy not in known:
        rule = f"is not one of {framework}'s: it has {', '.join(known)}."
    elif strategy == SINGLE and devices != 1:
        rule = f"uses one device, not {devices}: choose {' or '.join(known[1:])}."
    if rule:
        raise UserError("strategy", strategy, rule, form=NAME_FORM)


def _check_nodes(framework: str, strategy: str, devices: int, nodes: int) -> None:
    """Raise a UserError where a strategy is one of a single node, or the nodes cannot have equally many devices."""
    if nodes == 1:
        return
    if strategy not in (known := ACROSS_NODES[framework]):
        rule = f"runs on one node, not on {nodes}: choose {' or '.join(known)}."
        raise UserError("strategy", strategy, rule, form=NAME_FORM)
    check_shared("devices", devices, nodes, by="nodes")


def _check_pipeline(framework: str, pipeline: str, workers: int, augment: bool) -> None:
    """Raise a UserError where a pipeline lacks workers, has them in vain, or cannot augment."""
    rule = None
    if pipeline in WITH_WORKERS and workers < 1:
        rule = f"needs workers of at least 1, not {workers}."
    elif pipeline not in WITH_WORKERS and workers:
        rule = f"has no workers: use 0, not {workers}."
    elif pipeline in PLAIN_PIPELINES and augment:
        rule = "does not augment images: use 'in_model' or another pipeline."
    elif pipeline == "tf_data" and framework != "tensorflow":
        rule = f"needs TensorFlow, not {framework}."
    if rule:
        raise UserError("pipeline", pipeline, rule, form=NAME_FORM)
