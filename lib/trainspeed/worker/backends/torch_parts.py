"""The parts of a torch training: its model as it is compiled or spread over devices, its loss, its optimizer.

Each takes further keyword arguments, with which levers change it. Does not know loops or timing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

from trainspeed.core.optimizers import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.core.trial import SINGLE, Trial
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers.hook import Levers
from trainspeed.worker.models.compiled_inspect import Lowered

WITH_LOSS, WITH_OPTIMIZER, BLOCKS = "with_loss", "with_optimizer", "blocks"  # scopes of torch.compile
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
LEAST_IN_BLOCK = 2  # modules with weights: one alone is a layer


@dataclass(frozen=True, kw_only=True)
class Forward:
    """What a step calls of a model.

    Attributes:
        model: The model as its strategy wraps it.
        module: What is set to train: `model`, compiled where it is.
        loss: (images, labels): their mean loss.
        lowered: What is seen of what is compiled; None where nothing is.
    """

    model: nn.Module
    module: nn.Module
    loss: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    lowered: Lowered | None = None


def forward(model: nn.Module, trial: Trial, device: torch.device, levers: Levers) -> Forward:
    """Return a model's forward pass and loss: spread as its strategy does, and compiled in its first step.

    Raises:
        Unsupported: The blocks of a model are to be compiled that has none.
    """
    scope, options = levers.options("scope").get("scope"), levers.options("compile")
    lowered = Lowered() if trial.compile else None
    if lowered:
        lowered.watch()
    inner = with_compiled_blocks(model, options) if scope == BLOCKS else model
    module = spread = levers.spread(_spread(inner, trial, device, levers.options("ddp")))
    if trial.compile and scope is None:
        module = torch.compile(spread, **options)

    def forward_and_loss(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(module(x).float(), y)

    compiled = scope in (WITH_LOSS, WITH_OPTIMIZER)
    loss = torch.compile(forward_and_loss, **options) if compiled else forward_and_loss
    return Forward(model=spread, module=module, loss=loss, lowered=lowered)


def _spread(model: nn.Module, trial: Trial, device: torch.device, options: Mapping[str, Any]) -> nn.Module:
    """Wrap the model for its strategy."""
    if trial.strategy == "ddp":
        return DistributedDataParallel(
            _Whole(model) if trial.compile else model,
            device_ids=[device.index] if device.type == "cuda" else None,
            **options,
        )
    if trial.strategy == "data_parallel":
        return nn.DataParallel(model, device_ids=list(range(trial.devices)))
    return model


def spread_of(model: nn.Module) -> tuple[int, str, str]:
    """Return over how many devices a model is spread, the strategy that does it, and how that is told."""
    if isinstance(model, DistributedDataParallel):
        count = model.process_group.size()
        return count, "ddp", f"{count} processes in DistributedDataParallel's group"
    if isinstance(model, nn.DataParallel):
        return len(model.device_ids), "data_parallel", f"DataParallel.device_ids={model.device_ids}"
    return 1, SINGLE, "no module spreads the model"


class _Whole(nn.Module):
    """A model in a forward function of this file.

    Below DDP, Dynamo begins anew with the function of the model itself, and skips it where it is in a file of
    torch's: of a model that is a bare `nn.Sequential` nothing would be compiled.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


def blocks_of(model: nn.Module) -> list[nn.Module]:
    """Return the outermost blocks of a model: parts of a class of which there are several, each of several layers."""
    same: dict[type, int] = {}
    for module in model.modules():
        same[type(module)] = same.get(type(module), 0) + 1

    def found(module: nn.Module) -> list[nn.Module]:
        layers = sum(bool(list(part.parameters(recurse=False))) for part in module.modules())
        repeated = same[type(module)] > 1 and layers >= LEAST_IN_BLOCK
        if repeated and not isinstance(module, CONTAINERS):
            return [module]
        return [block for part in module.children() for block in found(part)]

    return found(model)


def with_compiled_blocks(model: nn.Module, options: Mapping[str, Any]) -> nn.Module:
    """Return the model with each of its blocks compiled: the same weights, and the model itself stays as it is.

    Raises:
        Unsupported: It has no such blocks.
    """
    blocks = blocks_of(model)
    if not blocks:
        raise Unsupported("the model repeats no block that could be compiled once for all")
    # Those of a class share what is compiled; by default, torch would give up after the eighth shape. The `compile`
    # of 2.11 takes no limit of its own.
    torch._dynamo.config.recompile_limit = max(torch._dynamo.config.recompile_limit, 2 * len(blocks))
    options = {"dynamic": False, **options}

    def twin(module: nn.Module) -> nn.Module:
        if any(module is block for block in blocks):
            return torch.compile(module, **options)
        parts = {name: part if part is None else twin(part) for name, part in module._modules.items()}
        if all(part is module._modules[name] for name, part in parts.items()):
            return module
        shallow = copy.copy(module)
        shallow.__dict__["_modules"] = parts
        return shallow

    return twin(model)


def optimizer(model: nn.Module, trial: Trial, levers: Levers) -> torch.optim.Optimizer:
    """Return the optimizer of a model, its step compiled where that is asked for.

    Raises:
        Unsupported: Its implementation is not to be had for this kind, or cannot be compiled with a scaled loss.
    """
    settings, more = recipe(trial.model), levers.options("optimizer")
    if settings.optimizer == "rmsprop" and more.pop("fused", False):
        raise Unsupported("PyTorch's RMSprop has no fused implementation")
    options = {"params": model.parameters(), "lr": settings.learning_rate, **more}
    if settings.optimizer == "adam":
        made = torch.optim.Adam(**options, eps=ADAM_EPSILON)
    elif settings.optimizer == "rmsprop":
        made = torch.optim.RMSprop(**options, alpha=RMSPROP_RHO, eps=ADAM_EPSILON)
    else:
        made = torch.optim.SGD(**options, momentum=settings.momentum)
    if levers.options("scope").get("scope") == WITH_OPTIMIZER:
        if trial.precision == "fp16":
            raise Unsupported(
                "a scaled loss decides in each step whether there is one: it cannot be compiled"
            )
        made.step = torch.compile(made.step, **levers.options("compile"))
    return made


def process_settings() -> dict[str, object]:
    """Return how what is set in the whole process is read -> its value; see `settings_watched`.

    Precisions are read by PyTorch's newer names: the older ones raise once a newer one has been set.
    """
    backends = torch.backends
    return {
        "torch.get_num_threads()": torch.get_num_threads(),
        "torch.are_deterministic_algorithms_enabled()": torch.are_deterministic_algorithms_enabled(),
        "torch.is_anomaly_enabled()": torch.is_anomaly_enabled(),
        "torch.backends.mkldnn.matmul.fp32_precision": backends.mkldnn.matmul.fp32_precision,
        "torch.backends.mkldnn.conv.fp32_precision": backends.mkldnn.conv.fp32_precision,
        "torch.backends.cuda.matmul.fp32_precision": backends.cuda.matmul.fp32_precision,
        "torch.backends.cudnn.conv.fp32_precision": backends.cudnn.conv.fp32_precision,
        "torch.backends.cudnn.benchmark": backends.cudnn.benchmark,
        "torch.backends.cudnn.deterministic": backends.cudnn.deterministic,
    }
