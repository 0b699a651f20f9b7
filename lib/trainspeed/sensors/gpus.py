"""What is asked about GPUs before a run: their names, which ones are visible, and whether they are in use.

Asks what a GPU does, not who does it: in a container the driver's list of processes is empty or wrong.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing

from trainspeed.core.notes import AnyNote, GpuBusy, GpuMemoryHeld
from trainspeed.sensors.nvml import Gpu, open_nvml

BUSY_PERCENT = 5.0  # a GPU that only refreshes a screen stays below
HELD_BYTES = 1e9  # an idle GPU's driver and a screen hold less
SETTLE_S = 1.0  # NVML's load covers no longer time: by then, what has ended is gone from it


def hashed(uuid: str) -> str:
    """Return the form in which a GPU's UUID may be shared: the first 12 hex digits of its SHA-256."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:12]


def visible_uuids(gpus: Sequence[Gpu], cuda_visible_devices: str | None) -> list[str]:
    """Return the UUIDs that CUDA_VISIBLE_DEVICES allows, in its order; MIG UUIDs are left as they are.

    Integers count in PCI order, so hand the UUIDs on to workers: CUDA itself counts fastest first
    unless CUDA_DEVICE_ORDER=PCI_BUS_ID. As in CUDA, the first invalid entry ends the list, the first
    entry's kind (number, GPU-, MIG-) holds for all, and an entry given twice leaves no device.
    Source: CUDA C++ Programming Guide, environment variables; torch.cuda._parse_visible_devices

    Args:
        cuda_visible_devices: The variable's text; None where it is not set: every GPU is visible.
    """
    known = [gpu.uuid for gpu in gpus if gpu.uuid]
    if cuda_visible_devices is None:
        return known
    entries = [entry.strip() for entry in cuda_visible_devices.split(",")]
    kind = entries[0][:4]
    visible: list[str] = []
    for entry in entries:
        if kind in ("GPU-", "MIG-") and not entry.startswith(kind):
            break
        if kind == "GPU-":
            matches = [uuid for uuid in known if uuid.startswith(entry)]
        elif kind == "MIG-":
            matches = [entry]
        else:  # CUDA reads the digits that an entry begins with
            number = re.match(r"\d+", entry)
            matches = known[int(number[0]) :][:1] if number else []
        if len(matches) != 1:
            break
        if matches[0] in visible:
            return []
        visible += matches
    return visible


def stranger_notes(uuids: Sequence[str], *, wait: Callable[[float], object] = time.sleep) -> list[AnyNote]:
    """Return a note for each of these GPUs that is in use. Call it before this run touches any.

    A load that is gone after a second was the previous run. What cannot be read is not suspected.

    Args:
        uuids: As the driver names them; one that it does not list (MIG) is passed over.
        wait: Called with a number of seconds, at most once; tests pass a fake.
    """
    with closing(open_nvml()) as nvml:
        gpus = [gpu for gpu in nvml.gpus if gpu.uuid in uuids]
        samples = [gpu.sample(pcie=False) for gpu in gpus]
        if any((sample.load_percent or 0) > BUSY_PERCENT for sample in samples):
            wait(SETTLE_S)
            samples = [gpu.sample(pcie=False) for gpu in gpus]
    notes: list[AnyNote] = []
    for gpu, sample in zip(gpus, samples, strict=True):
        if (sample.load_percent or 0) > BUSY_PERCENT:
            notes.append(GpuBusy(gpu=gpu.index, load_percent=sample.load_percent))
        elif (sample.memory_used_bytes or 0) > HELD_BYTES:
            notes.append(GpuMemoryHeld(gpu=gpu.index, held_bytes=sample.memory_used_bytes))
    return notes
