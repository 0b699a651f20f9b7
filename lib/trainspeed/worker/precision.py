"""Which precisions a device has. Knows no framework: it is given the device's compute capability."""

from __future__ import annotations

from trainspeed.sensors.cpu import cpu_flags
from trainspeed.worker.failures import Unsupported

VOLTA, AMPERE = (7, 0), (8, 0)
PRECISION_FLAGS = {"bf16": ("avx512_bf16", "amx_bf16", "bf16"), "fp16": ("avx512_fp16", "amx_fp16", "fphp")}


def check_precision(precision: str, capability: tuple[int, int] | None) -> None:
    """Raise Unsupported where a device lacks a precision.

    Args:
        capability: Compute capability of the GPU; None for this machine's CPU.
    Source: CUDA C++ Programming Guide, "Compute Capabilities": Tensor Cores from 7.0, TF32 and
        bfloat16 from 8.0.
    """
    if precision == "fp32":
        return
    if capability is not None:
        least = VOLTA if precision == "fp16" else AMPERE
        if capability < least:
            here, needed = (".".join(map(str, pair)) for pair in (capability, least))
            raise Unsupported(f"{precision} needs compute capability {needed}; this GPU has {here}")
    elif precision == "tf32":
        raise Unsupported("TF32 is a mode of NVIDIA GPUs; this is a CPU")
    elif not cpu_flags() & set(flags := PRECISION_FLAGS[precision]):
        raise Unsupported(f"this CPU has no {precision} arithmetic (none of the flags {', '.join(flags)})")
