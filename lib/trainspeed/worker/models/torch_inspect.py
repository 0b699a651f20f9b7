"""What a torch model is and what ran: layouts and dtypes of its activations, FLOPs, bytes, kernels.

Takes a model and a batch; does not know trials, loops or timing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

from trainspeed.core import layer_table
from trainspeed.core.result import EffectivePrecision
from trainspeed.worker import torch_cuda
from trainspeed.worker.kernels import split_of

BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
UNCOUNTED = (nn.RNNBase, nn.MultiheadAttention)  # one operator each while they are not trained


class Seen:
    """Every leaf module with its input and output for one batch, in the order they ran."""

    def __init__(self, model: nn.Module, batch: torch.Tensor, autocast: AbstractContextManager) -> None:
        self.model, self.batch = model, batch
        self.rows: list[tuple[nn.Module, torch.Tensor, torch.Tensor]] = []
        hooks = [module.register_forward_hook(self._keep) for module in _leaves(model)]
        was_training = model.training
        model.eval()
        # The counter asks for the gradient function of what enters a module, and a view of a weight, as of a class
        # token, has none without gradients.
        trained = [weight for weight in model.parameters() if weight.requires_grad]
        try:
            for weight in trained:
                weight.requires_grad_(False)
            with torch.no_grad(), autocast, FlopCounterMode(display=False) as counter:
                model(batch)
        finally:
            for weight in trained:
                weight.requires_grad_(True)
            for hook in hooks:
                hook.remove()
            model.train(was_training)
        self.forward_flops = counter.get_total_flops()

    def _keep(self, module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        tensors = inputs and isinstance(inputs[0], torch.Tensor) and isinstance(output, torch.Tensor)
        if tensors and inputs[0].dim() and output.dim():  # a user's module may take and return anything
            self.rows.append((module, inputs[0], output))

    def layout(self) -> Mapping[str, int] | None:
        """Return the layouts of the convolutions' outputs, by their strides -> the number of convolutions."""
        layouts = Counter(layout_of(output) for output in self._convolved())
        del layouts[None]
        return layouts or None

    def precision(self) -> EffectivePrecision | None:
        """Return the dtypes of the convolutions' outputs."""
        dtypes = Counter(str(output.dtype).removeprefix("torch.") for output in self._convolved())
        return EffectivePrecision(dtypes=dtypes) if dtypes else None

    def _convolved(self) -> list[torch.Tensor]:
        return [output for module, _, output in self.rows if isinstance(module, nn.Conv2d)]

    def layers(self, name: str, layout: str) -> tuple[Mapping[str, Any], ...]:
        """Return the rows of the layer table: the format of each layer's output, by its strides."""
        names = {module: path for path, module in self.model.named_modules()}
        return tuple(
            layer_table.row(
                layer=names[module] or name,
                type=type(module).__name__,
                output_shape=list(output.shape[1:]),
                data_format=layout_of(output),
                bn_axis=None,  # torch normalises axis 1 whatever the strides are
                layout=layout,
            )
            for module, _, output in self.rows
        )

    def flops_per_image(self) -> float | None:
        """Return the FLOPs of a training step per image, 2 per multiply-add, forward and backward.

        Convolutions and matrix products count; the first needs no gradient of its input. None where the model
        has neither a convolution nor a dense layer, or one that is frozen, or a part whose products the counter does
        not see.
        The forward pass is counted by torch, and each gradient as much again: torch's own count of the backward
        pass ignores the groups of a depthwise convolution, and made MobileNet three times as heavy as it is.
        """
        first = next(((m, out) for m, _, out in self.rows if isinstance(m, nn.Conv2d | nn.Linear)), None)
        uncounted = any(isinstance(module, UNCOUNTED) for module in self.model.modules())
        if first is None or uncounted or self._has_frozen():
            return None
        module, out = first
        positions = out.numel() // len(out) // len(module.weight)  # how often its kernel is multiplied
        first_flops = 2 * module.weight.numel() * positions
        return layer_table.PASSES * self.forward_flops / len(self.batch) - first_flops

    def _has_frozen(self) -> bool:
        """Return whether a layer that multiplies is not trained: it takes fewer passes than three."""
        products = [module for module, _, _ in self.rows if isinstance(module, nn.Conv2d | nn.Linear)]
        return not all(module.weight.requires_grad for module in products)

    def bytes_per_step(self, batch_size: int) -> int | None:
        """Return the least memory traffic of a training step in fp32: see `core.layer_table.training_bytes`.

        None where a convolution or a dense layer is frozen.
        """
        if self._has_frozen():
            return None
        tensors = [
            (
                (x.numel() + output.numel()) // len(x),
                sum(p.numel() for p in module.parameters(recurse=False)),
            )
            for module, x, output in self.rows
        ]
        return layer_table.training_bytes(tensors, batch_size)


def _leaves(model: nn.Module) -> Iterator[nn.Module]:
    """Yield what computes: modules without parts, and normalisations that hold an activation, as timm's do."""
    if isinstance(model, nn.Identity):
        return
    parts = list(model.children())
    if not parts or isinstance(model, BATCH_NORMS):
        yield model
        return
    for part in parts:
        yield from _leaves(part)


def layout_of(output: torch.Tensor) -> str | None:
    """Return the layout of an activation by its strides; None where both are the same in memory."""
    if output.dim() != 4 or math.prod(output.shape[2:]) == 1 or output.shape[1] == 1:
        return None
    last = output.is_contiguous(memory_format=torch.channels_last)
    first = output.is_contiguous()
    return "channels_last" if last and not first else "channels_first" if first and not last else None


def profile_of(step: Callable[[], None], synchronize: Callable[[], None]) -> Mapping[str, Any]:
    """Return how a step's device time splits: see `kernels.split_of`; on a CPU by the names of torch's operators.

    One key more, device_s: the seconds that the kernels and copies on GPUs took together; None on a CPU.
    """
    on_gpu = torch_cuda.is_in_use()
    step()
    synchronize()
    activity = ProfilerActivity.CUDA if on_gpu else ProfilerActivity.CPU
    with profile(activities=[activity]) as profiler:
        step()
        synchronize()
    if not on_gpu:
        return {**split_of({e.key: e.self_cpu_time_total for e in profiler.key_averages()}), "device_s": None}
    # What marks a span, such as an optimizer's step, covers kernels that are counted by themselves.
    events = [event for event in profiler.key_averages() if not event.is_user_annotation]
    times_us = {event.key: event.self_device_time_total for event in events}
    return {**split_of(times_us), "device_s": sum(times_us.values()) / 1e6}
