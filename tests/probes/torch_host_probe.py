"""In PyTorch's environment: what levers of the host see, with a driver and a kernel that only pretend."""

from __future__ import annotations

import json
import os

import torch

from trainspeed.worker.levers import process
from trainspeed.worker.levers.process import Thread
from trainspeed.worker.levers.torch_host import HOOKS

GROWING, FIXED = {"is_expandable": True}, {"is_expandable": False}


def allocator(value, backend, segments):
    torch.cuda.get_allocator_backend = lambda: backend
    torch.cuda.memory_snapshot = lambda: segments
    return HOOKS["gpu_allocator"].seen(value, None)


def placement(*cores):
    os.environ["OMP_PROC_BIND"] = "close"
    torch.set_num_threads(2)
    process.threads = lambda: [Thread(name="python", cores=frozenset(each)) for each in cores]
    return HOOKS["thread_placement"].seen("close", None)


def main(out: str) -> None:
    assert callable(torch.cuda.get_allocator_backend) and callable(torch.cuda.memory_snapshot)
    found = {
        "growing": allocator("expandable", "native", [GROWING, FIXED]),
        "refused": allocator("expandable", "native", [FIXED]),
        "async": allocator("cuda_async", "cudaMallocAsync", []),
        "not async": allocator("cuda_async", "native", []),
        "placed": placement({0}, {1}, {0, 1}),
        "wandering": placement({0, 1}, {0, 1}),
        "on one core": placement({0}, {0}),
    }
    with open(out, "w") as file:
        json.dump(found, file)
