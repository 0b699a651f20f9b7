"""How much of the GPUs' memory a framework takes that allocates as it likes, by the driver's count."""

from __future__ import annotations

from contextlib import closing

from trainspeed.core.result import GpuMemory
from trainspeed.sensors.nvml import open_nvml


class Allocation:
    """What is taken from the moment on that this object is made: before the framework touches a GPU.

    Args:
        gpu_uuids: The GPUs in use.
    """

    def __init__(self, gpu_uuids: tuple[str, ...]) -> None:
        self._gpu_uuids = gpu_uuids
        self._before = self._used()

    def taken(self) -> GpuMemory | None:
        """Return what has been taken until now; None where the driver does not tell."""
        taken = [
            GpuMemory(before_bytes=before, taken_bytes=used - before, total_bytes=total)
            for uuid, (used, total) in self._used().items()
            if (before := self._before.get(uuid, (None, None))[0]) is not None
        ]
        return max(taken, key=lambda memory: memory.taken_bytes, default=None)

    def _used(self) -> dict[str | None, tuple[int, int]]:
        """Return UUID -> bytes in use and in all, of the GPUs that tell both."""
        if not self._gpu_uuids:
            return {}
        with closing(open_nvml()) as nvml:
            used = nvml.by_gpu("memory_used_bytes", self._gpu_uuids)
        return {
            gpu.uuid: (used_bytes, gpu.memory_total_bytes)
            for gpu, used_bytes in used.items()
            if used_bytes is not None and gpu.memory_total_bytes
        }
