"""What the benchmark searches for: models, each in a framework, and the best scripts by hand that train them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

# Name -> further arguments of the script. The search has bf16 among its levers, and so have these.
BY_HAND = {
    "by hand": (),
    "by hand, compiled": ("compiled",),
    "by hand, bf16": ("bf16",),
    "by hand, bf16, compiled": ("bf16", "compiled"),
}
# Of MobileNetV2, whose step XLA compiles for long and which it makes several times as slow on a CPU.
NOT_COMPILED = {
    "by hand": (),
    "by hand, bf16": ("bf16",),
    "by hand, oneDNN in bf16": ("math",),
}
WORK = {"batch_size": 16, "image_size": 16, "images_per_epoch": 64}  # as quick has it
ZOO_WORK = {"batch_size": 16, "image_size": 32, "images_per_epoch": 32}
BEST_S, ZOO_S = 600.0, 220.0  # seconds of a search; of the first, compilers are levers
# A run of TensorFlow takes twice as long to begin, and an epoch too.
SEEDS_S = {"torch": 200.0, "tensorflow": 600.0}
# With PyTorch's compiler: a run with it takes four times as long as another one, and it brings 2 to 4 %, where blocks
# scatter by as much: in 15 minutes there were seven of them beside the rest, which kept it in some searches and not in
# others. On made-up machines that scatter so, one that brings 3.5 % is kept in 55 of 60 searches of 10 minutes, or 29
# where runs scatter by 3 %, and in 59 and 50 of half an hour.
COMPILER_S = 1800.0
# PyTorch's levers that do not add half a minute to each run, as torch.compile does.
QUICK_LEVERS = ("layout", "precision", "optimizer", "flush_denormal", "math_mode")
# TensorFlow's without XLA, which takes as long.
QUICK_OF_TENSORFLOW = ("layout", "precision", "steps_per_call", "pure_bf16", "uint8")
ZOO_LIMIT_S = 720.0  # of a model of a library, its search among them
# Sets of fresh processes, each with luck of its own; `best` drops the slower scripts by a set before these, which
# counts for nothing else.
SETS = 9
BEST_SETS = 20  # luck scattered by 2 to 3 % between sets, before all had huge pages


@dataclass(frozen=True, kw_only=True)
class Job:
    """A model in a framework, and the best script by hand that trains it.

    Attributes:
        levers: That its search can try: those of an environment cost a worker each.
        by_hand: Name -> further arguments of the script.
        search_s: Seconds of the search.
        limit_s: Of all that is measured of it: where its sets do not fit by the time of the first one, there are 6.
        sets: Of fresh processes.
    """

    framework: str
    script: str
    levers: Sequence[str]
    model: str = "cnn10"
    work: Mapping[str, int] = field(default_factory=lambda: WORK)
    by_hand: Mapping[str, Sequence[str]] = field(default_factory=lambda: BY_HAND)
    search_s: float = BEST_S
    limit_s: float = math.inf
    sets: int = SETS

    @property
    def name(self) -> str:
        return self.framework if self.model == "cnn10" else f"{self.framework}, {self.model}"


JOBS = {
    "torch": Job(
        framework="torch",
        script="best_torch.py",
        levers=(*QUICK_LEVERS, "compile", "compile_scope=with_loss"),  # as the script has the loss compiled
        search_s=COMPILER_S,
        sets=BEST_SETS,
    ),
    "tensorflow": Job(
        framework="tensorflow",
        script="best_tensorflow.py",
        levers=(*QUICK_OF_TENSORFLOW, "compile"),
        sets=BEST_SETS,
    ),
}
# Those that are searched twice, with two seeds. An older processor has no bf16, and TensorFlow leaves oneDNN off there:
# that is what there is to find; elsewhere it is on already.
SEEDS_JOBS = {
    "torch": replace(JOBS["torch"], levers=QUICK_LEVERS, search_s=SEEDS_S["torch"], sets=SETS),
    "tensorflow": replace(
        JOBS["tensorflow"], levers=(*QUICK_OF_TENSORFLOW, "onednn"), search_s=SEEDS_S["tensorflow"], sets=SETS
    ),
}
OF_ZOO: Mapping[str, Any] = {
    "work": ZOO_WORK,
    "search_s": ZOO_S,
    "limit_s": ZOO_LIMIT_S,
}
ZOO_JOBS = {
    "torch": Job(
        framework="torch",
        model="timm/resnet18",
        script="best_timm.py",
        levers=("layout", "precision", "optimizer", "math_mode"),
        **OF_ZOO,
    ),
    "tensorflow": Job(
        framework="tensorflow",
        model="keras/MobileNetV2",
        script="best_keras_zoo.py",
        by_hand=NOT_COMPILED,
        levers=("precision", "steps_per_call", "pure_bf16"),
        **OF_ZOO,
    ),
}
