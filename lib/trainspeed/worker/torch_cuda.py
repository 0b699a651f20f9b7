"""All that is asked of CUDA by way of torch; switches of cuDNN are levers. Everything is safe to call for a CPU.

A stream of its own: `pipelines.torch_upload` says what for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch


def synchronize(*devices: torch.device) -> None:
    """Wait until GPUs have done all that was queued; a CPU queues nothing."""
    for device in devices:
        if device.type == "cuda":
            torch.cuda.synchronize(device)


def most_allocated_bytes(device: torch.device) -> int | None:
    """Return the most that the allocator had in use on a GPU since `make_ready`; None for a CPU."""
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None


def capability(device: torch.device) -> tuple[int, int] | None:
    """Return a GPU's compute capability, such as (9, 0); None for a CPU."""
    return torch.cuda.get_device_capability(device) if device.type == "cuda" else None


def make_current(index: int) -> None:
    """Let a GPU be the one that this process means by "cuda"."""
    torch.cuda.set_device(index)


def make_ready(device: torch.device) -> None:
    """Make a GPU the current one, and count its peak of memory from here on."""
    torch.cuda.set_device(device)
    torch.cuda.reset_peak_memory_stats(device)


def is_available() -> bool:
    """Whether torch can train on a GPU here."""
    return torch.cuda.is_available()


def count() -> int:
    """Return the number of GPUs; CUDA is not begun by it."""
    return torch.cuda.device_count()


def architectures() -> Sequence[str]:
    """Return what this build has kernels for, such as "sm_90".

    Before torch 2.13 this begins with CUDA, which a fork cannot use again.
    """
    return tuple(torch.cuda.get_arch_list())


def is_in_use() -> bool:
    """Whether this process has begun with CUDA."""
    return torch.cuda.is_available() and torch.cuda.is_initialized()


def uuid(device: torch.device) -> str:
    """Return a GPU's UUID as NVML writes it."""
    return f"GPU-{torch.cuda.get_device_properties(device).uuid}"


def allocator() -> tuple[str, Sequence[Mapping[str, Any]]]:
    """Return the name of the allocator's backend, and the segments of memory that it holds."""
    backend = torch.cuda.get_allocator_backend()
    return backend, torch.cuda.memory_snapshot() if backend == "native" else ()


def time_mark() -> torch.cuda.Event:
    """Return a mark behind what is queued on the current GPU; `seconds_between` reads the device's own timer at two."""
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def seconds_between(begin: torch.cuda.Event, end: torch.cuda.Event) -> float:
    """Return the seconds between two marks that the GPU has passed, by its own timer."""
    return begin.elapsed_time(end) / 1000


class SideStream:
    """A stream of a GPU for copies alone.

    Source: https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-streams
    """

    def __init__(self, device: torch.device) -> None:
        self.stream = torch.cuda.Stream(device)

    def uploading(self) -> AbstractContextManager:
        """Queue copies on the stream."""
        return torch.cuda.stream(self.stream)

    def mark(self) -> torch.cuda.Event:
        """Return an event behind the copies."""
        return self.stream.record_event()

    def take(self, mark: torch.cuda.Event, batch: Iterable[torch.Tensor]) -> None:
        """Wait on the device, not in this thread."""
        current = torch.cuda.current_stream(self.stream.device)
        current.wait_event(mark)
        for part in batch:
            part.record_stream(current)
