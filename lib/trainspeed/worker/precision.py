"""Which precisions a device has, and what 32 bits are there. Knows no framework: it is given the device's compute
capability, and what the framework's flags say.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping

from trainspeed.core.format import DEFAULT_PRECISION
from trainspeed.core.levers.compute import PRECISION_FLAGS, no_arithmetic
from trainspeed.core.levers.lever import ON
from trainspeed.core.result import TF32_WORK
from trainspeed.core.trial import STRICT, Trial
from trainspeed.sensors.cpu import cpu_flags
from trainspeed.worker.failures import Unsupported

VOLTA, AMPERE = (7, 0), (8, 0)
TF32_OVERRIDE = "NVIDIA_TF32_OVERRIDE"  # "0": NVIDIA's libraries use no TF32, whatever a framework asks for


def arithmetic_of(trial: Trial) -> str:
    """Return the precision that a trial computes in, mixed or pure."""
    return "bf16" if dict(trial.levers).get("pure_bf16") == ON else trial.precision


def check_precision(precision: str, capability: tuple[int, int] | None) -> None:
    """Raise Unsupported where a device lacks a precision.

    Args:
        capability: Compute capability of the GPU; None for this machine's CPU.
    Source: CUDA C++ Programming Guide, "Compute Capabilities": Tensor Cores from 7.0, TF32 and
        bfloat16 from 8.0.
    """
    if precision in (DEFAULT_PRECISION, STRICT):
        return
    if capability is not None:
        least = VOLTA if precision == "fp16" else AMPERE
        if capability < least:
            here, needed = (".".join(map(str, pair)) for pair in (capability, least))
            raise Unsupported(f"{precision} needs compute capability {needed}; this GPU has {here}")
    elif precision == "tf32":
        raise Unsupported("TF32 is a mode of NVIDIA GPUs; this is a CPU")
    elif not cpu_flags() & {*PRECISION_FLAGS[precision]}:
        raise Unsupported(no_arithmetic(precision))


def tf32_flag(precision: str) -> bool | None:
    """Return what a trial sets its framework's switch for TF32 to; None leaves the switch alone."""
    return {STRICT: False, "tf32": True}.get(precision)


def tf32_work(
    allowed: Collection[str],
    capability: tuple[int, int] | None,
    environment: Mapping[str, str] = os.environ,
) -> tuple[str, ...]:
    """Return the kinds of work in which a device may round 32-bit numbers to TF32: see `RunResult.tf32`.

    Args:
        allowed: Those of `core.result.TF32_WORK` in which the framework allows it, by its switch as it is.
        capability: Compute capability of the GPU; None for a CPU.
    Source: cuDNN and cuBLAS documentation, "NVIDIA_TF32_OVERRIDE".
    """
    possible = capability is not None and capability >= AMPERE and environment.get(TF32_OVERRIDE) != "0"
    return tuple(kind for kind in TF32_WORK if possible and kind in allowed)
