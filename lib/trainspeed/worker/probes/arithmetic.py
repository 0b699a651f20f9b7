"""Which bits of a number survive a product and a convolution in 32 bits: what a switch for TF32 really does.

Knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trainspeed.worker.probes import Values
from trainspeed.worker.rounding import CPU_IMAGES, CPU_SIDE, Calculation, convolution_bits, product_bits

# Large enough that a library that may use TF32 finds it faster; small on a CPU, which has none.
SIDES = {True: 4096, False: CPU_SIDE}  # of the square matrices, by whether there is TF32
IMAGES = {True: 64, False: CPU_IMAGES}
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
    product: Calculation
    convolution: Calculation
    tf32_possible: bool


def measure_arithmetic(of: Arithmetic) -> Values:
    """Return the bits that survive: `product_bits_…` and `convolution_bits_…` of each switch; None where it is none."""
    values: dict[str, int | bool | None] = {"tf32_possible": of.tf32_possible}
    side, images = SIDES[of.tf32_possible], IMAGES[of.tf32_possible]
    for name, allowed in SWITCHES.items():
        possible = of.tf32_possible or not allowed
        if possible:
            of.switch(allowed)
        values[f"product_bits_{name}"] = product_bits(of.product, side) if possible else None
        values[f"convolution_bits_{name}"] = convolution_bits(of.convolution, images) if possible else None
    return values
