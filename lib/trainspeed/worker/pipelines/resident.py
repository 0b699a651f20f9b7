"""Whether the images of an epoch stay on the device, uploaded once before the clock. Knows no framework.

On a GPU they do in the plain pipelines, so that a step is timed and not what feeds it: gathering, pinning and
uploading a batch can take as long as a step of a small model. On a CPU they are in its memory anyway.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import closing

import numpy as np

from trainspeed.core.levers.feeding import FLOAT_BYTES, resident_limit_bytes
from trainspeed.core.levers.lever import OFF
from trainspeed.core.levers.registry import LEVERS
from trainspeed.core.notes import AnyNote, EpochNotResident
from trainspeed.core.phase import COMPUTE
from trainspeed.core.trial import Trial
from trainspeed.sensors.gpus import choose_gpus
from trainspeed.sensors.nvml import open_nvml
from trainspeed.worker.environment import VISIBLE
from trainspeed.worker.pipelines.batches import PLAIN

NO_ROOM = "they would not fit anyway: the plain trial uploads its images, too"


def smallest_gpu_memory_bytes() -> int | None:
    """Return the memory of the smallest GPU that this process may use; None where the driver does not tell."""
    with closing(open_nvml()) as nvml:
        sizes = [gpu.memory_total_bytes for gpu in choose_gpus(nvml.gpus, os.environ.get(VISIBLE)).used]
    return None if not sizes or None in sizes else min(sizes)


def is_resident(
    trial: Trial,
    device: str,
    images: np.ndarray,
    memory: Callable[[], int | None] = smallest_gpu_memory_bytes,
) -> tuple[bool, tuple[AnyNote, ...]]:
    """Return whether a trial's images stay on each of its devices, and a note where they would not fit there.

    The one batch of compute alone does in any case. Worker processes, threads and generators make new images for
    each epoch: uploading these is part of them. Whether they fit is asked whatever the trial's levers are, so that
    all arms of a comparison have the same answer.

    Args:
        device: "gpu" or "cpu".
        images: All those of an epoch; of 8 bits they count as the floats that the plain trial has.
        memory: Returns the memory of the smallest device.
    """
    if device != "gpu" or trial.pipeline not in PLAIN:
        return False, ()
    if trial.phase is COMPUTE:
        return True, ()
    images_bytes, limit_bytes = images.size * FLOAT_BYTES, resident_limit_bytes(memory())
    if images_bytes > limit_bytes:
        return False, (EpochNotResident(images_bytes=images_bytes, limit_bytes=limit_bytes),)
    return dict(trial.levers).get("resident") != OFF, ()


def is_idle(trial: Trial, notes: Iterable[AnyNote]) -> bool:
    """Return whether resident=off does nothing, as the images would not fit, and no other lever of the trial needs it.

    Args:
        notes: Of the training as it was set up.
    """
    needed = any("resident" in LEVERS[name].needs for name, _ in trial.levers)
    return not needed and any(isinstance(note, EpochNotResident) for note in notes)
