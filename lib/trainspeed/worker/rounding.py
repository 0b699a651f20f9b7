"""How many bits of a number survive a product and a convolution in 32 bits. Knows no framework and no switch.

Every number is 1 + 2**-k, with k from 1 to 23, and is multiplied by 1: strict fp32 keeps all 23 bits of a fraction,
TF32 and float16 keep 10, bfloat16 keeps 7.
Source: NVIDIA, "TensorFloat-32 in the A100 GPU" (10 bits); IEEE 754 (binary32: 23, binary16: 10).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trainspeed.core.result import Seen

FRACTION_BITS = 23  # of fp32
CPU_SIDE, CPU_IMAGES = 256, 1  # of what is small enough for a CPU
IMAGE_PX, CHANNELS, KERNEL_PX = 32, 128, 3

# Bits of a fraction that survive -> what was multiplied in.
MODES = {FRACTION_BITS: "fp32", 10: "tf32", 7: "bf16"}

Calculation = Callable[[np.ndarray, np.ndarray], np.ndarray]


def product_bits(product: Calculation, side: int = CPU_SIDE) -> int:
    """Return the bits that survive a product of two float32 matrices.

    Args:
        side: Of the square matrices.
    """
    return kept_bits(product(_numbers(side, side), np.eye(side, dtype=np.float32)))


def convolution_bits(convolution: Calculation, images: int = CPU_IMAGES) -> int:
    """Return the bits that survive a convolution of float32 images.

    Args:
        convolution: Of images (batch, height, width, channels) with filters (height, width, channels in, channels
            out), padded to the same size.
    """
    batch = _numbers(images, IMAGE_PX, IMAGE_PX, CHANNELS)
    middle = np.zeros((KERNEL_PX, KERNEL_PX, CHANNELS, CHANNELS), np.float32)
    middle[KERNEL_PX // 2, KERNEL_PX // 2] = np.eye(CHANNELS)  # each channel is its own result
    return kept_bits(convolution(batch, middle))


def mode_seen(value: str, convolution: Calculation, product: Calculation) -> Seen:
    """Return the arithmetic of 32 bits by its rounding, and how it was told.

    A processor without the instructions computes in 32 bits, whatever a switch says.

    Args:
        value: What was asked for: seen where one of the two has it, as a library may leave the other to another one.
    """
    bits = convolution_bits(convolution), product_bits(product)
    modes = [MODES.get(kept) for kept in bits]
    how = f"of {FRACTION_BITS} bits of a fraction, a convolution kept {bits[0]} and a product {bits[1]}"
    return (value if value in modes else modes[0]), how


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
