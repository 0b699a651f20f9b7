"""Which bits of a number survive a product and a convolution in 32 bits: what a switch for TF32 really does.

Knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from trainspeed.core.probe import NOTHING_SEEN, ON_CPU
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
        kernels: Runs something and returns the names of what multiplied on the device, most time first; None on a CPU
            where the framework runs no kernels by name. May raise.
    """

    switch: Callable[[bool | None], None]
    product: Calculation
    convolution: Calculation
    tf32_possible: bool
    kernels: Callable[[Callable[[], object]], Sequence[str]] | None = None


def measure_arithmetic(of: Arithmetic) -> Values:
    """Return the bits that survive: `product_bits_…` and `convolution_bits_…` of each switch; None where it is none.

    And the names of the kernels that took most of the time, `product_kernels_…` and `convolution_kernels_…`: None where
    they are not known, for which `kernels_unknown` says why: the first reason, or None.
    """
    values: dict[str, int | bool | str | None] = {"tf32_possible": of.tf32_possible}
    work = {
        "product": partial(product_bits, of.product, SIDES[of.tf32_possible]),
        "convolution": partial(convolution_bits, of.convolution, IMAGES[of.tf32_possible]),
    }
    for name, allowed in SWITCHES.items():
        possible = of.tf32_possible or not allowed
        if possible:
            of.switch(allowed)
        for kind, count_bits in work.items():
            values[f"{kind}_bits_{name}"] = count_bits() if possible else None
            names, unknown = _kernels(of, count_bits) if possible else (None, None)
            values[f"{kind}_kernels_{name}"] = names
            values["kernels_unknown"] = values.get("kernels_unknown") or unknown
    return values


def _kernels(of: Arithmetic, compute: Callable[[], object]) -> tuple[str | None, str | None]:
    """Return the names of the kernels that computed, and why there is none: of both, one is None."""
    if of.kernels is None:
        return None, ON_CPU
    try:
        names = ", ".join(of.kernels(compute))
    except Exception as problem:  # the bits are worth having without them
        return None, type(problem).__name__
    return (names, None) if names else (None, NOTHING_SEEN)
