"""In torch's environment: what Inductor is seen to make of convolutions, without having it generate any code."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch._inductor import config

from trainspeed.core.notes import ConvolutionsNotSeen
from trainspeed.core.phase import COMPUTE
from trainspeed.core.trial import Trial
from trainspeed.worker.backends.torch_training import TorchTraining
from trainspeed.worker.data.folds import images_of
from trainspeed.worker.models.compiled_inspect import Lowered
from trainspeed.worker.models.torch_inspect import Seen


class LoweredEnough(Exception):
    """Ends a compilation once its layouts are decided: generating code takes tens of seconds."""


def _end(nodes: list[Any]) -> list[Any]:
    raise LoweredEnough


def lowered(model: nn.Module, images: torch.Tensor, see: Callable[[list], object] | None = None) -> Lowered:
    """What is seen of a model's forward pass in training.

    Args:
        see: Stands for the whole look at a graph.
    """
    torch._dynamo.reset()
    found = Lowered()
    found.watch()
    if see is not None:
        config._pre_fusion_custom_pass = lambda nodes: (found(see(nodes)), nodes)[1]
    compiling(lambda: torch.compile(model.train())(images))
    return found


def compiling(call: Callable[[], object]) -> None:
    """Call what compiles a forward pass, as far as its layouts."""
    try:
        call()
    except Exception as problem:
        if "LoweredEnough" not in f"{type(problem).__name__}: {problem}":
            raise


def trained() -> dict[str, object]:
    """What a compiled training says of itself."""
    torch._dynamo.reset()
    trial = Trial(
        framework="torch",
        model="cnn10",
        layout="channels_first",
        compile=True,
        part=COMPUTE.name,
        batch_size=8,
        images_per_epoch=16,
        epochs=3,
        image_size=8,
        dataset="digits",
    )
    training = TorchTraining(trial, images_of(trial), torch.device("cpu"))
    compiling(lambda: training._step(*training._first_batch()))
    inspection = training.inspect()
    return {
        "layout": inspection.effective_layout,
        "dtypes": inspection.effective_precision.dtypes,
        "notes": len(inspection.notes),
    }


def facts(found: Lowered, *, convolutions: bool = True) -> dict[str, object]:
    precision = found.precision()
    return {
        "layout": found.layout(),
        "dtypes": precision and precision.dtypes,
        "notes": [note.error for note in found.notes(convolutions) if isinstance(note, ConvolutionsNotSeen)],
    }


def broken(nodes: list[Any]) -> list[Any]:
    """Nodes as a later Inductor's might be."""

    class Other:
        @property
        def node(self) -> object:
            raise NotImplementedError

    return [Other()]


def main(out: str) -> None:
    torch.manual_seed(0)
    config._post_fusion_custom_pass = _end
    images = torch.randn(2, 3, 8, 8)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Conv2d(4, 4, 3, groups=4))
    eager = Seen(model, images, torch.autocast("cpu", enabled=False))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        half = lowered(model, images)
    found = {
        "eager": {"layout": eager.layout(), "dtypes": eager.precision().dtypes},
        "compiled": facts(lowered(model, images)),
        "bf16": facts(half),
        "without": facts(lowered(nn.Linear(8, 2), images), convolutions=False),
        "nothing seen": facts(lowered(model, images, lambda nodes: [])),
        "training": trained(),
        "broken": facts(lowered(model, images, broken)),
    }
    with open(out, "w") as file:
        json.dump(found, file)
