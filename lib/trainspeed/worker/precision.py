"""Which precisions a device has. Knows no framework: it is told the device's compute capability."""

from __future__ import annotations

from trainspeed.sensors.host import cpu_flags

VOLTA, AMPERE = (7, 0), (8, 0)


def unsupported_reason(
    precision: str, capability: tuple[int, int] | None, flags: frozenset[str] | None = None
) -> str | None:
    """Return why a device lacks a precision, or None when it has it.

    Args:
        capability: Compute capability of the GPU; None for a CPU.
        flags: Of the CPU; read from the machine by default.
    Source: CUDA C++ Programming Guide, "Compute Capabilities": Tensor Cores from 7.0, TF32 and
        bfloat16 from 8.0.
    """
    if precision == "fp32":
        return None
    if capability is None:
        flags = cpu_flags() if flags is None else flags
        if precision == "tf32":
            return "TF32 is a mode of NVIDIA GPUs; this is a CPU"
        wanted = {"bf16": ("avx512_bf16", "amx_bf16", "bf16"), "fp16": ("avx512_fp16", "amx_fp16", "fphp")}
        if not flags & set(wanted[precision]):
            return (
                f"this CPU has no {precision} arithmetic (none of the flags {', '.join(wanted[precision])})"
            )
        return None
    least = VOLTA if precision == "fp16" else AMPERE
    if capability < least:
        here, needed = (".".join(map(str, pair)) for pair in (capability, least))
        return f"{precision} needs compute capability {needed}; this GPU has {here}"
    return None
