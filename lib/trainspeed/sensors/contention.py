"""Whether another process uses a GPU that a run is about to use. Knows no run.

Asks what the GPU does, not who does it: in a container the driver's list of processes is empty or wrong.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing

from trainspeed.core.notes import AnyNote, GpuBusy, GpuMemoryHeld
from trainspeed.sensors.nvml import open_nvml
from trainspeed.sensors.sample import Sample

BUSY_PERCENT = 5.0  # a GPU that only refreshes a screen stays below
HELD_BYTES = 1e9  # an idle GPU's driver and a screen hold less
SETTLE_S = 1.0  # NVML's load covers no longer time: by then, what has ended is gone from it


def stranger_notes(uuids: Sequence[str], *, wait: Callable[[float], object] = time.sleep) -> list[AnyNote]:
    """Return a note for each of these GPUs that is in use. Call it before this run touches any.

    A load that is gone after a second was the run before. What cannot be read is not suspected.

    Args:
        uuids: As the driver names them; one that it does not list (MIG) is passed over.
        wait: Called with a number of seconds, at most once; tests pass a fake.
    """
    with closing(open_nvml()) as nvml:
        gpus = [gpu for gpu in nvml.gpus if gpu.uuid in uuids]
        samples = [gpu.sample(pcie=False) for gpu in gpus]
        if any(map(_is_busy, samples)):
            wait(SETTLE_S)
            samples = [gpu.sample(pcie=False) for gpu in gpus]
    notes = [_note(gpu.index, sample) for gpu, sample in zip(gpus, samples, strict=True)]
    return [note for note in notes if note]


def _is_busy(sample: Sample) -> bool:
    return sample.load_percent is not None and sample.load_percent > BUSY_PERCENT


def _note(index: int, sample: Sample) -> AnyNote | None:
    if _is_busy(sample):
        return GpuBusy(gpu=index, load_percent=sample.load_percent)
    if sample.memory_used_bytes is not None and sample.memory_used_bytes > HELD_BYTES:
        return GpuMemoryHeld(gpu=index, held_bytes=sample.memory_used_bytes)
    return None
