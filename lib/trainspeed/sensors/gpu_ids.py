"""Name GPUs: which ones CUDA_VISIBLE_DEVICES allows, and a UUID that may be shared. Asks no driver."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from trainspeed.sensors.nvml import Gpu


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
