"""How many bits of a number survive a product and a convolution in 32 bits: what a switch for TF32 really does.

Every number is 1 + 2**-k, with k from 1 to 23, and is multiplied by 1: strict fp32 keeps all 23 bits of a fraction,
TF32 and float16 keep 10, bfloat16 keeps 7. Knows no framework.
Source: NVIDIA, "TensorFloat-32 in the A100 GPU" (10 bits); IEEE 754 (binary32: 23, binary16: 10).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trainspeed.worker.probes import Values

FRACTION_BITS = 23  # of fp32
# Large enough that a library that may use TF32 finds it faster; small on a CPU, which has none.
SIDES = {True: 4096, False: 256}  # of the square matrices, by whether there is TF32
IMAGES, IMAGE_PX, CHANNELS, KERNEL_PX = {True: 64, False: 1}, 32, 128, 3
SWITCHES = {"default": None, "fp32": False, "tf32": True}  # "default" first: it is as nobody has touched it


@dataclass(frozen=True, kw_only=True)
class Arithmetic:
    """What a framework computes with, on its device.

    Attributes:
        switch: Sets the framework's switch for TF32, as a training does; None leaves it alone.
        product: Returns the matrix product of two float32 arrays.
        convolution: Returns the convolution of float32 images (batch, height, width, channels) with filters
            (height, width, channels in, channels out), padded to the same size.
        tf32_possible: Whether the device has TF32.
    """

    switch: Callable[[bool | None], None]
    product: Callable[[np.ndarray, np.ndarray], np.ndarray]
    convolution: Callable[[np.ndarray, np.ndarray], np.ndarray]
    tf32_possible: bool


def measure_arithmetic(of: Arithmetic) -> Values:
    """Return the bits that survive: `product_bits_…` and `convolution_bits_…` of each switch; None where it is none."""
    values: dict[str, int | bool | None] = {"tf32_possible": of.tf32_possible}
    for name, allowed in SWITCHES.items():
        possible = of.tf32_possible or not allowed
        if possible:
            of.switch(allowed)
        values[f"product_bits_{name}"] = _product_bits(of) if possible else None
        values[f"convolution_bits_{name}"] = _convolution_bits(of) if possible else None
    return values


def _product_bits(of: Arithmetic) -> int:
    side = SIDES[of.tf32_possible]
    return kept_bits(of.product(_numbers(side, side), np.eye(side, dtype=np.float32)))


def _convolution_bits(of: Arithmetic) -> int:
    images = _numbers(IMAGES[of.tf32_possible], IMAGE_PX, IMAGE_PX, CHANNELS)
    middle = np.zeros((KERNEL_PX, KERNEL_PX, CHANNELS, CHANNELS), np.float32)
    middle[KERNEL_PX // 2, KERNEL_PX // 2] = np.eye(CHANNELS)  # each channel is its own result
    return kept_bits(of.convolution(images, middle))


def _numbers(*shape: int) -> np.ndarray:
    """Return float32 numbers of this shape: along the last axis 1 + 2**-k, with k = 1 … 23, 1 …"""
    return np.broadcast_to((1 + 2.0 ** -_bits(shape[-1])).astype(np.float32), shape).copy()


def _bits(count: int) -> np.ndarray:
    return 1 + np.arange(count) % FRACTION_BITS


def kept_bits(result: np.ndarray) -> int:
    """Return up to which bit the numbers of `_numbers`, times 1, came through with less than half a bit's error."""
    bits = _bits(result.shape[-1])
    error = np.abs(np.asarray(result, np.float64) - (1 + 2.0**-bits)).reshape(-1, len(bits)).max(axis=0)
    lost = bits[error >= 2.0 ** -(bits + 1)]
    return int(lost.min()) - 1 if lost.size else FRACTION_BITS
