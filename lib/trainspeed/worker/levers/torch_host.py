"""What levers of the host do in PyTorch: threads, where they run, and the allocator of a GPU."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import torch

from trainspeed.core.format import counted
from trainspeed.core.levers.host import AS_SET, HALF_THREADS, ONE_THREAD, THREAD_VARIABLES, half_of
from trainspeed.core.levers.lever import OFF
from trainspeed.core.result import Seen
from trainspeed.worker import torch_cuda
from trainspeed.worker.levers import process
from trainspeed.worker.levers.hook import Hook
from trainspeed.worker.levers.host import check_threads, threads_seen

# As many as a plain script has, which is not one for each core everywhere: with MKL it is the physical ones. Asked
# before a run sets another number.
PLAIN_THREADS = torch.get_num_threads()
NUMBERS = {ONE_THREAD[1]: 1, HALF_THREADS[1]: half_of(PLAIN_THREADS)}
VARIABLES = THREAD_VARIABLES["torch"]
BIND = "OMP_PROC_BIND"


def _set_threads(value: str, _device: str) -> None:
    check_threads(value, VARIABLES)
    if value != AS_SET[1]:
        torch.set_num_threads(NUMBERS.get(value, PLAIN_THREADS))


def _threads_seen(value: str, _training: Any) -> Seen:
    number = torch.get_num_threads()
    return threads_seen(value, VARIABLES, number, PLAIN_THREADS, f"torch.get_num_threads() is {number}")


def _placement_seen(_value: str, _training: Any) -> Seen:
    placed = [thread for thread in process.threads() if len(thread.cores) == 1]
    cores = {core for thread in placed for core in thread.cores}
    said = f"{BIND}={os.environ.get(BIND)}"
    how = f"{said}; {counted(len(placed), 'thread')} kept to one core each, on {counted(len(cores), 'core')}"
    kept = len(cores) >= torch.get_num_threads()
    return (os.environ.get(BIND) if kept else OFF), how


def _gpu_allocator_seen(_value: str, _training: Any) -> Seen:
    backend, segments = torch_cuda.allocator()
    if backend != "native":
        return (
            "cuda_async" if backend == "cudaMallocAsync" else backend
        ), f"the allocator's backend is {backend}"
    growing = sum(bool(segment.get("is_expandable")) for segment in segments)
    how = f"{growing} of {counted(len(segments), 'segment')} of its memory can grow"
    return ("expandable" if growing else "segments of fixed sizes"), how


HOOKS: Mapping[str, Hook] = {
    "threads": Hook(flags=_set_threads, seen=_threads_seen),
    "thread_placement": Hook(seen=_placement_seen),
    "gpu_allocator": Hook(seen=_gpu_allocator_seen),
}
