"""What a device can do at most, measured with torch: matrix products, convolutions, copies.

Each is a step that is repeated until an epoch takes about a second, with its FLOPs and bytes known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from trainspeed.core.phase import CONV, MATMUL, Phase
from trainspeed.core.result import Inspection
from trainspeed.core.trial import Trial
from trainspeed.worker import torch_cuda
from trainspeed.worker.backends.base import Training
from trainspeed.worker.timing import Another, RepeatedWork, time_epochs

# Side of the square matrices; batch, channels and pixels of the convolution; floats of the copy.
MATMUL_SIZES = {"cpu": 2048, "cuda": 8192}
CONV_SHAPES = {"cpu": (8, 128, 28), "cuda": (128, 256, 56)}
COPY_NUMBERS = {"cpu": 2**26, "cuda": 2**28}
KERNEL = 3
EPOCH_S = 1.0  # enough for a GPU's clocks to rise, and for its power limit to lower them: a training has both
DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16}  # precisions of others than 32 bits


def ceiling(phase: Phase, precision: str, device: torch.device) -> tuple[Callable[[], object], Inspection]:
    """Return a step that keeps one part of the device as busy as can be, and its FLOPs or bytes.

    Matrices and images are square and large.
    """
    dtype = DTYPES.get(precision, torch.float32)
    if phase is MATMUL:
        n = MATMUL_SIZES[device.type]
        a, b, out = (torch.randn(n, n, device=device).to(dtype) for _ in range(3))
        return lambda: torch.mm(a, b, out=out), Inspection(step_flops=2 * n**3)
    if phase is CONV:
        batch, channels, side = CONV_SHAPES[device.type]
        shapes = (batch, channels, side, side), (channels, channels, KERNEL, KERNEL)
        x, w = (
            torch.randn(shape, device=device).to(dtype=dtype, memory_format=torch.channels_last)
            for shape in shapes
        )
        flops = 2 * batch * channels**2 * side**2 * KERNEL**2
        return lambda: functional.conv2d(x, w, padding=KERNEL // 2), Inspection(step_flops=flops)
    source = torch.randn(COPY_NUMBERS[device.type], device=device)
    target = torch.empty_like(source)
    step_bytes = 2 * source.numel() * source.element_size()  # read and written
    return lambda: target.copy_(source), Inspection(step_bytes=step_bytes)


class CeilingRun(Training):
    """A ceiling's step again and again: nothing is trained."""

    def __init__(self, trial: Trial, device: torch.device) -> None:
        self.trial, self.device = trial, device
        torch.backends.cudnn.benchmark = True  # the most that the device can do, not what a plain script has
        step, self._work = ceiling(trial.phase, trial.precision, device)
        self._epoch = RepeatedWork(step, trial.steps_per_epoch, self._synchronize, epoch_s=EPOCH_S)

    @property
    def repeats(self) -> int:
        return self._epoch.repeats

    @torch.inference_mode()
    def train(self, another: Another) -> tuple[float, ...]:
        return time_epochs(self._epoch, self._synchronize, another=another)

    def _synchronize(self) -> None:
        torch_cuda.synchronize(self.device)

    def peak_memory_bytes(self) -> int | None:
        return torch_cuda.most_allocated_bytes(self.device)

    def inspect(self) -> Inspection:
        return self._work
