"""Levers in each step of torch: what is read, kept and hooked there, and weights in 16 bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from trainspeed.core.format import counted
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.worker import torch_cuda
from trainspeed.worker.levers.hook import Hook, Options, Step
from trainspeed.worker.precision import check_precision

LOSSES, KEPT, MEANS = "losses read", "steps that kept their gradients", "means read"


def _read_loss(_value: str, training: Any, step: Step) -> Step:
    def step_and_read(*batch: Any) -> Any:
        loss = step(*batch)
        loss.item()  # waits for the device
        training.counted[LOSSES] += 1
        return loss

    return step_and_read


def _losses_read(_value: str, training: Any) -> Seen:
    read = training.counted[LOSSES]
    return (ON if read else OFF), f"{counted(read, 'loss', 'losses')} read"


def _keep(value: str) -> Options:
    return {"zero_grad": {"set_to_none": value != OFF}}


def _watch_gradients(_value: str, training: Any, step: Step) -> Step:
    first = next(weights for weights in training.model.parameters() if weights.requires_grad)

    def watched(*batch: Any) -> Any:
        before = first.grad
        loss = step(*batch)
        training.counted[KEPT] += before is not None and first.grad is before
        return loss

    return watched


def _kept(_value: str, training: Any) -> Seen:
    steps = training.counted[KEPT]
    return (OFF if steps else ON), f"{counted(steps, 'step')} wrote into the gradients of the one before"


def _to_bf16(_value: str, model: nn.Module) -> nn.Module:
    model.register_forward_pre_hook(_cast)
    return model.bfloat16()


def _cast(_model: nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    return tuple(each.bfloat16() for each in inputs)


def _check_bf16(_value: str, device: str) -> None:
    check_precision("bf16", torch_cuda.capability(torch.device("cuda" if device == "gpu" else "cpu")))


def _bf16_seen(_value: str, training: Any) -> Seen:
    dtypes = {"weights": Counter(), "gradients": Counter()}
    for weights in training.model.parameters():
        dtypes["weights"][_name(weights)] += 1
        if weights.grad is not None:
            dtypes["gradients"][_name(weights.grad)] += 1
    on = all(set(found) == {"bfloat16"} for found in dtypes.values())
    return (ON if on else OFF), "; ".join(
        f"{of} in {', '.join(found) or 'none'}" for of, found in dtypes.items()
    )


def _name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _read_means(_value: str, model: nn.Module) -> nn.Module:
    model.means_read = 0

    def read(_module: nn.Module, _inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor) and model.training:
            output.detach().float().mean().item()
            model.means_read += 1

    for module in model.modules():
        if not list(module.children()):
            module.register_forward_hook(read)
    return model


def _means_read(_value: str, training: Any) -> Seen:
    read = training.model.means_read
    return (ON if read else OFF), f"{counted(read, 'output')} read"


HOOKS: Mapping[str, Hook] = {
    "sync_every_step": Hook(step=_read_loss, seen=_losses_read),
    "set_to_none": Hook(options=_keep, step=_watch_gradients, seen=_kept),
    "pure_bf16": Hook(flags=_check_bf16, model=_to_bf16, seen=_bf16_seen),
    "activation_hooks": Hook(model=_read_means, seen=_means_read),
}
