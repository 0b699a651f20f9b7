"""Name GPUs: which ones CUDA_VISIBLE_DEVICES allows, and a UUID that may be shared. Asks no driver."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol


class HasUuid(Protocol):
    """A GPU as `trainspeed.sensors.nvml` lists it; the UUID is None where the GPU does not answer."""

    @property
    def uuid(self) -> str | None: ...


def hashed(uuid: str) -> str:
    """Return the form in which a GPU's UUID may be shared: the first 12 hex digits of its SHA-256."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:12]


def visible_uuids(gpus: Sequence[HasUuid], cuda_visible_devices: str | None) -> list[str]:
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
    find = FINDERS.get(entries[0][:4], _by_number)
    visible: list[str] = []
    for entry in entries:
        uuid = find(entry, known)
        if uuid is None:
            break
        if uuid in visible:
            return []
        visible.append(uuid)
    return visible


def _by_number(entry: str, known: Sequence[str]) -> str | None:
    number = re.match(r"\d+", entry)  # CUDA reads the digits that an entry begins with
    return known[int(number[0])] if number and int(number[0]) < len(known) else None


def _by_prefix(entry: str, known: Sequence[str]) -> str | None:
    matches = [uuid for uuid in known if entry.startswith("GPU-") and uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None


def _as_is(entry: str, known: Sequence[str]) -> str | None:
    return entry if entry.startswith("MIG-") else None


FINDERS = {"GPU-": _by_prefix, "MIG-": _as_is}
