"""The parts of a torch training: its model as it is compiled or spread over devices, and its optimizer.

Each takes further keyword arguments, with which levers change it. Does not know loops or timing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from trainspeed.core.trial import Trial
from trainspeed.worker.hyperparameters import ADAM_EPSILON, RMSPROP_RHO, recipe
from trainspeed.worker.models.compiled_inspect import Lowered


def compiled(model: nn.Module, options: Mapping[str, Any]) -> tuple[nn.Module, Lowered]:
    """Return a model that is compiled in its first step, and what is seen of it then."""
    lowered = Lowered()
    lowered.watch()
    return torch.compile(model, **options), lowered


def spread(model: nn.Module, trial: Trial, device: torch.device, options: Mapping[str, Any]) -> nn.Module:
    """Wrap the model for its strategy."""
    if trial.strategy == "ddp":
        return DistributedDataParallel(
            model, device_ids=[device.index] if device.type == "cuda" else None, **options
        )
    if trial.strategy == "data_parallel":
        return nn.DataParallel(model, device_ids=list(range(trial.devices)))
    return model


def optimizer(model: nn.Module, name: str, more: Mapping[str, Any]) -> torch.optim.Optimizer:
    settings = recipe(name)
    options = {"params": model.parameters(), "lr": settings.learning_rate, **more}
    if settings.optimizer == "adam":
        return torch.optim.Adam(**options, eps=ADAM_EPSILON)
    if settings.optimizer == "rmsprop":
        return torch.optim.RMSprop(**options, alpha=RMSPROP_RHO, eps=ADAM_EPSILON)
    return torch.optim.SGD(**options, momentum=settings.momentum)
