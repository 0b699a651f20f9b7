"""How full a device's memory was. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from trainspeed.core.run import Run, Status


@dataclass(frozen=True, kw_only=True)
class MemoryUse:
    """What runs took of the memory of their devices, each alone: runs of a block are there at once, and share it.

    Attributes:
        fullest: The run that took the largest share of its device; None where no run tells both.
        out_of_memory: Runs that asked for more than there was; not those that were never begun for lack of it.
        untold: Other runs that began and do not tell what share they took.
    """

    fullest: Run | None
    out_of_memory: tuple[Run, ...]
    untold: tuple[Run, ...]


def memory_use(runs: Collection[Run]) -> MemoryUse:
    """Return what the largest run took of its device, which runs did not fit, and which do not tell."""
    tried = [run for run in runs if run.status not in (Status.OOM, Status.UNSUPPORTED)]
    told = [run for run in tried if memory_share(run) is not None]
    return MemoryUse(
        fullest=max(told, key=memory_share, default=None),
        out_of_memory=tuple(run for run in runs if run.status is Status.OOM and run.was_begun),
        untold=tuple(run for run in tried if memory_share(run) is None),
    )


def memory_share(run: Run) -> float | None:
    """Return a run's peak over the memory of its smallest device, 0 to 1; None where one is not known."""
    size = device_memory_bytes(run)
    return None if run.peak_memory_bytes is None or not size else run.peak_memory_bytes / size


def device_memory_bytes(run: Run) -> int | None:
    """Return the memory of the smallest device that a run could train on, in bytes; None where it is not known."""
    sizes = [gpu.get("memory_bytes") for gpu in run.machine.get("gpus") or []]
    if run.machine.get("device") == "cpu":
        sizes = [run.machine.get("memory_bytes")]
    return min(sizes) if sizes and None not in sizes else None
