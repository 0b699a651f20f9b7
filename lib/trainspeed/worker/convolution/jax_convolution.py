"""The convolution in JAX, compiled by XLA, on GPUs or CPU devices."""

from __future__ import annotations

from collections.abc import Sequence

import jax
import numpy as np

from trainspeed.core.convolution import Conv2dTrial
from trainspeed.worker.convolution.reference import padding


class JaxConvolution:
    """A `calls.Convolution` with a compiled program for each device, called one after the other."""

    transfers = True

    def __init__(self, trial: Conv2dTrial, device: str) -> None:
        self._platform, self._count = device, trial.devices
        around = padding(trial.filter_size)

        def convolve(images: jax.Array, filters: jax.Array) -> jax.Array:
            return jax.lax.conv_general_dilated(
                images,
                filters,
                window_strides=(1, 1),
                padding=(around, around),
                dimension_numbers=("NHWC", "HWIO", "NHWC"),
                precision=jax.lax.Precision.HIGHEST,
            )

        self._convolve = jax.jit(convolve)

    def open(self) -> None:
        self._devices = jax.devices(self._platform)[: self._count]
        jax.block_until_ready([jax.device_put(np.zeros(1, np.float32), d) for d in self._devices])

    def send(self, images: np.ndarray, filters: np.ndarray) -> list[list[jax.Array]]:
        shares = np.split(images, self._count)
        return [jax.device_put([share, filters], d) for share, d in zip(shares, self._devices, strict=True)]

    def compute(self, sent: Sequence[Sequence[jax.Array]]) -> list[jax.Array]:
        return [self._convolve(*share) for share in sent]

    def wait(self, value: object) -> None:
        jax.block_until_ready(value)

    def fetch(self, computed: Sequence[jax.Array]) -> list[np.ndarray]:
        return [np.asarray(result) for result in computed]

    def placement(self, sent: object, computed: Sequence[jax.Array]) -> str:
        return ", ".join(str(*result.devices()) for result in computed)
