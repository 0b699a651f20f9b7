"""Memory that is planted: is it seen by the instrument's own peak and by the driver? Knows no framework."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing

from trainspeed.sensors.memory import PeakMemory
from trainspeed.sensors.nvml import open_nvml
from trainspeed.worker.probes import Surroundings, Values

PLANTED_BYTES = 256 * 2**20
TOO_MANY_NUMBERS = 2**44  # of 4 bytes: more than any device has


def measure_memory(
    where: Surroundings, allocate: Callable[[int], object], peak_bytes: Callable[[], int | None]
) -> Values:
    """Return in bytes what was `planted_bytes`, and by how much the `peak_bytes` and the driver's `used_bytes` grew.

    Twice as much is allocated, in two parts, and the peak is that of the second: the first one fills what a model
    that is gone has left below the peak. `used_bytes` is over both, since an allocator may take more than it needs
    at once; it is None on a CPU.

    Args:
        allocate: Takes so many bytes on the device and writes to them, waits, and returns what holds them.
        peak_bytes: Returns the peak of the framework's allocator on a GPU; on a CPU the instrument's own is read.
    """
    before = _used_bytes(where.gpu_uuids)
    first = allocate(PLANTED_BYTES)
    on_host = PeakMemory() if where.device == "cpu" else None
    peak_before = 0 if on_host else peak_bytes()
    second = allocate(PLANTED_BYTES)
    after = _used_bytes(where.gpu_uuids)
    peak_after = on_host.bytes() if on_host else peak_bytes()
    del first, second
    return {
        "planted_bytes": PLANTED_BYTES,
        "peak_bytes": None if None in (peak_before, peak_after) else peak_after - peak_before,
        "used_bytes": None if None in (before, after) else (after - before) // 2,
    }


def _used_bytes(gpu_uuids: Sequence[str]) -> int | None:
    """Return what is used of the first of these GPUs; None without one, or where the driver does not tell."""
    with closing(open_nvml()) as nvml:
        return next(iter(nvml.by_gpu("memory_used_bytes", gpu_uuids[:1]).values()), None)
