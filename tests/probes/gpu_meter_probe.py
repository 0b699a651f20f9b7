"""On a GPU, in torch's environment: what the meter reads while products of matrices run, as JSON on the last line.

python -m probes.gpu_meter_probe
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from statistics import fmean
from typing import Any

import torch

from trainspeed.sensors.nvml import Nvml, open_nvml
from trainspeed.worker.allocation import Allocation
from trainspeed.worker.meter import Meter

BUSY_S = 3.0
HELD_BYTES = 2**30


def multiplying() -> Callable[[], None]:
    """Return what keeps the first GPU busy for a moment."""
    matrix = torch.ones(4096, 4096, device="cuda", dtype=torch.bfloat16)

    def multiply() -> None:
        for _ in range(20):
            torch.mm(matrix, matrix)
        torch.cuda.synchronize()

    multiply()
    return multiply


def metered(nvml: Nvml, uuid: str, busy: Callable[[], None]) -> dict[str, Any]:
    """Return what the meter says of a busy span, and the driver's samples of power from its later half."""
    gpu = next(gpu for gpu in nvml.gpus if gpu.uuid == uuid)
    meter, watts = Meter((uuid,), os.getpid()), []
    meter.begin()
    end = time.monotonic() + BUSY_S
    while time.monotonic() < end:
        busy()
        watts.append(gpu.sample(pcie=False).power_w)
    meter.end()
    meter.close()
    later = watts[len(watts) // 2 :]  # the driver's power is a mean over up to a second
    return {
        "metered_s": meter.metered_s,
        "energy_j": meter.energy_j,
        "power_w": None if None in later else fmean(later),
        "sm_clock_mhz": meter.sm_clock_mhz,
        "throttle_reasons": meter.throttle_reasons,
        "notes": [[note.kind, getattr(note, "reason", None)] for note in meter.notes()],
    }


def main() -> None:
    uuid = f"GPU-{torch.cuda.get_device_properties(0).uuid}"  # CUDA and NVML may count in another order
    busy = multiplying()
    with closing(open_nvml()) as nvml:
        told = metered(nvml, uuid, busy)
    allocation = Allocation((uuid,))
    held = torch.empty(HELD_BYTES, dtype=torch.uint8, device="cuda")
    told |= {"busy_s": BUSY_S, "held_bytes": held.nbytes, "taken_bytes": allocation.taken().taken_bytes}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
