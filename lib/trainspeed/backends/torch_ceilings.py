"""What a device can do at most, measured with torch: matrix products, convolutions, copies.

Each is a step that is repeated for an epoch, with its FLOPs and bytes known beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from trainspeed.timing import time_epochs
from trainspeed.trial import Trial

# Side of the square matrices; batch, channels and pixels of the convolution; floats of the copy.
MATMUL = {"cpu": 2048, "cuda": 8192}
CONV = {"cpu": (8, 128, 28), "cuda": (128, 256, 56)}
COPY = {"cpu": 2**26, "cuda": 2**28}
KERNEL = 3
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """A step that keeps one part of the device as busy as can be.

    Attributes:
        flops: Of a step, 2 per multiply-add; None for a copy.
        bytes: Read and written in a step; None where the arithmetic is the limit.
    """

    step: Callable[[], object]
    flops: float | None = None
    bytes: float | None = None


def ceiling(part: str, precision: str, device: torch.device) -> Ceiling:
    """Return the step of a part: "matmul", "conv" (both square and large) or "copy"."""
    how = {"device": device, "dtype": DTYPES[precision]}
    if part == "matmul":
        n = MATMUL[device.type]
        a, b, out = (torch.randn(n, n, device=device).to(**how) for _ in range(3))
        return Ceiling(step=lambda: torch.mm(a, b, out=out), flops=2 * n**3)
    if part == "conv":
        batch, channels, side = CONV[device.type]
        x = torch.randn(batch, channels, side, side, device=device).to(
            memory_format=torch.channels_last, **how
        )
        w = torch.randn(channels, channels, KERNEL, KERNEL, device=device)
        w = w.to(memory_format=torch.channels_last, **how)
        flops = 2 * batch * channels**2 * side**2 * KERNEL**2
        return Ceiling(step=lambda: functional.conv2d(x, w, padding=KERNEL // 2), flops=flops)
    source = torch.randn(COPY[device.type], device=device)
    target = torch.empty_like(source)
    return Ceiling(step=lambda: target.copy_(source), bytes=2 * source.numel() * source.element_size())


class CeilingRun:
    """As `base.Training`, but nothing is trained: the trial's part again and again."""

    final_loss = None

    def __init__(self, trial: Trial, device: torch.device) -> None:
        self.trial, self.device = trial, device
        self.ceiling = ceiling(trial.part, trial.precision, device)

    @torch.inference_mode()
    def train(self) -> tuple[float, ...]:
        """Return the duration of each epoch, in seconds."""
        return time_epochs(self._epoch, self._synchronize, epochs=self.trial.epochs)

    def _epoch(self) -> None:
        for _ in range(self.trial.steps_per_epoch):
            self.ceiling.step()

    def _synchronize(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def test_accuracy(self) -> None:
        """Nothing was trained."""

    def skipped_steps(self) -> None:
        """Nothing was scaled."""

    def peak_memory_bytes(self) -> int | None:
        """Peak of torch's CUDA allocator; None on a CPU."""
        return torch.cuda.max_memory_allocated(self.device) if self.device.type == "cuda" else None

    def inspect(self) -> dict[str, Any]:
        """Return the FLOPs and bytes of a step."""
        return {"step_flops": self.ceiling.flops, "step_bytes": self.ceiling.bytes}
