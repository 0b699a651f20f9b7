"""The convolution in PyTorch: on GPUs, or on CPU cores with a thread each."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch.nn import functional

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker import torch_cuda
from trainspeed.worker.convolution.reference import padding

_Share = tuple[torch.Tensor, torch.Tensor]  # images and filters on one device


class TorchConvolution:
    """A `calls.Convolution`. Images stay in memory as (images, height, width, channels): channels_last."""

    transfers = True

    def __init__(self, trial: Conv2dTrial, device: str) -> None:
        self._before, self._after = padding(trial.filter_size)
        self._devices = [
            torch.device("cuda", n) if device == "gpu" else torch.device("cpu") for n in range(trial.devices)
        ]
        self._threads: ThreadPoolExecutor | None = None
        self._modes: list[torch.inference_mode] = []

    def open(self) -> None:
        """Start CUDA, or a thread for each CPU core. The process keeps no gradients from here on."""
        self._without_gradients()
        if self._devices[0].type == "cuda":
            torch.backends.cudnn.conv.fp32_precision = "ieee"
            torch.backends.cudnn.benchmark = True
            for device in self._devices:
                torch.zeros(1, device=device)
            torch_cuda.synchronize(*self._devices)
        else:
            torch.set_num_threads(1)
            if len(self._devices) > 1:
                self._threads = ThreadPoolExecutor(len(self._devices), initializer=self._without_gradients)

    def _without_gradients(self) -> None:
        """Enter inference mode in this thread and stay there: entering it in each call would take microseconds."""
        mode = torch.inference_mode()
        mode.__enter__()
        self._modes.append(mode)  # it ends when it is collected

    def send(self, images: np.ndarray, filters: np.ndarray) -> list[_Share]:
        weights = torch.from_numpy(filters).permute(3, 2, 0, 1)
        every = torch.from_numpy(images).permute(0, 3, 1, 2)
        shares = every.chunk(len(self._devices)) if len(self._devices) > 1 else [every]
        return [(share.to(d), weights.to(d)) for share, d in zip(shares, self._devices, strict=True)]

    def compute(self, sent: Sequence[_Share]) -> list[torch.Tensor]:
        if self._threads is None:
            return [self._convolve(share) for share in sent]
        return list(self._threads.map(self._convolve, sent))

    def _convolve(self, share: _Share) -> torch.Tensor:
        images, filters = share
        if self._before == self._after:
            return functional.conv2d(images, filters, padding=self._before)
        around = (self._before, self._after) * 2
        return functional.conv2d(functional.pad(images, around), filters)

    def wait(self, value: object) -> None:
        torch_cuda.synchronize(*self._devices)

    def fetch(self, computed: Sequence[torch.Tensor]) -> list[np.ndarray]:
        return [result.permute(0, 2, 3, 1).cpu().numpy() for result in computed]

    def placement(self, sent: object, computed: Sequence[torch.Tensor]) -> str:
        return ", ".join(str(result.device) for result in computed)
