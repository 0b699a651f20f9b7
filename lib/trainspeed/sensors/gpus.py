"""What is asked about GPUs before a run: which ones are used, in which order, and whether others use them.

Asks what a GPU does, not who does it: in a container the driver's list of processes is empty or wrong.
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

from trainspeed.core.cuda import CUDA_13_CAPABILITY, ExclusionReason, version_pair
from trainspeed.core.notes import AnyNote, GpuBusy, GpuMemoryHeld
from trainspeed.sensors.nvml import Gpu, open_nvml
from trainspeed.sensors.sample import Sample

BUSY_PERCENT = 5.0  # a GPU that only refreshes a screen stays below
HELD_BYTES = 1e9  # an idle GPU's driver and a screen hold less
# NVML's load is an average over up to a second, of which a run that has just ended may fill the most; a driver may
# need some more until it has let go of a process.
SETTLE_S, POLL_S = 3.0, 0.25
STILL_S = 1.0  # memory that is held as it was for so long is not being freed


@dataclass(frozen=True, kw_only=True)
class ChosenGpus:
    """The GPUs and MIG instances to train on, and all others.

    Attributes:
        used: In the order in which a trial takes them: a trial of n devices uses the first n.
        left_out: The others, each with the reason.
    """

    used: tuple[Gpu, ...] = ()
    left_out: tuple[tuple[Gpu, ExclusionReason], ...] = ()

    @property
    def uuids(self) -> tuple[str, ...]:
        """The UUIDs of those that are used, for CUDA_VISIBLE_DEVICES."""
        return tuple(gpu.uuid for gpu in self.used)


def hashed(uuid: str) -> str:
    """Return the form in which a GPU's UUID may be shared: the first 12 hex digits of its SHA-256."""
    return hashlib.sha256(uuid.encode()).hexdigest()[:12]


def choose_gpus(gpus: Sequence[Gpu], cuda_visible_devices: str | None, *, wanted: bool = True) -> ChosenGpus:
    """Return which GPUs are used, and in which order.

    Without the variable, the newest comes first, then the one with the most memory, as in CUDA's own order "fastest
    first"; those without kernels in CUDA 13's wheels are left out where others have them. A process can compute on
    one MIG instance only, and never on one beside a whole GPU: whole ones come first.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ ("CUDA Device Enumeration")

    Args:
        cuda_visible_devices: The variable's text; None where it is not set: every GPU is visible.
        wanted: False where the user wants none to be used.
    """
    every = [device for gpu in gpus for device in _devices(gpu)]
    if not wanted:
        return ChosenGpus(left_out=tuple((gpu, ExclusionReason.NOT_WANTED) for gpu in every))
    reasons = {id(gpu): _cannot(gpu) for gpu in every}
    usable = [gpu for gpu in every if reasons[id(gpu)] is None]
    if cuda_visible_devices is None:
        visible = sorted(usable, key=_rank)
        recent = [gpu for gpu in visible if not _is_old(gpu)]
        reasons |= {id(gpu): ExclusionReason.TOO_OLD for gpu in visible if recent and _is_old(gpu)}
        visible = sorted(recent or visible, key=lambda gpu: gpu.is_instance)
    else:
        visible = _visible(gpus, cuda_visible_devices)
    whole = [gpu for gpu in visible if not gpu.is_instance]
    used = visible[:1] if visible and visible[0].is_instance else whole
    reasons |= {id(gpu): ExclusionReason.SECOND_INSTANCE for gpu in visible}
    left_out = [(gpu, reasons[id(gpu)] or ExclusionReason.HIDDEN) for gpu in every if gpu not in used]
    return ChosenGpus(used=tuple(used), left_out=tuple(left_out))


def _devices(gpu: Gpu) -> tuple[Gpu, ...]:
    """Return what of a GPU can be trained on: its MIG instances, or itself; itself, too, where it has none of them."""
    return tuple(sorted(gpu.instances, key=_rank)) or (gpu,)


def _cannot(gpu: Gpu) -> ExclusionReason | None:
    """Return why nothing can be trained on it."""
    if gpu.lost or not gpu.uuid:
        return ExclusionReason.LOST
    return ExclusionReason.NO_INSTANCE if gpu.in_mig_mode else None


def _is_old(gpu: Gpu) -> bool:
    capability = version_pair(gpu.compute_capability)
    return capability is not None and capability < CUDA_13_CAPABILITY


def _rank(gpu: Gpu) -> tuple[int, int, int, int]:
    """Return what sorts GPUs, the newest and largest first; equal ones in the order of the PCI bus."""
    major, minor = version_pair(gpu.compute_capability) or (0, 0)
    return -major, -minor, -(gpu.memory_total_bytes or 0), gpu.index


def _visible(gpus: Sequence[Gpu], cuda_visible_devices: str) -> list[Gpu]:
    """Return what CUDA_VISIBLE_DEVICES allows, in its order; a GPU in MIG mode stands for its largest instance.

    Integers count in PCI order, as nvidia-smi's do, and workers are handed UUIDs: CUDA itself counts fastest first
    unless CUDA_DEVICE_ORDER=PCI_BUS_ID. As in CUDA, the first invalid entry ends the list, the first
    entry's kind (number, GPU-, MIG-) holds for all, and an entry given twice leaves no device. A MIG instance that
    the driver does not list here, as in the form "MIG-GPU-…/1/0", is taken at its word.
    Source: CUDA C++ Programming Guide, environment variables; torch.cuda._parse_visible_devices
    """
    known = [gpu for gpu in gpus if not gpu.lost and gpu.uuid]
    entries = [entry.strip() for entry in cuda_visible_devices.split(",")]
    kind = entries[0][:4]
    visible: list[Gpu] = []
    for entry in entries:
        if kind in ("GPU-", "MIG-") and not entry.startswith(kind):
            break
        if kind == "GPU-":
            matches = [gpu for gpu in known if gpu.uuid.startswith(entry)]
        elif kind == "MIG-":
            listed = [one for gpu in known for one in gpu.instances if (one.uuid or "").startswith(entry)]
            matches = listed or [Gpu(index=-1, uuid=entry, name="NVIDIA MIG instance", is_instance=True)]
        else:  # CUDA reads the digits that an entry begins with
            number = re.match(r"\d+", entry)
            matches = known[int(number[0]) :][:1] if number else []
        if len(matches) != 1:
            break
        if matches[0].uuid in {gpu.uuid for gpu in visible}:
            return []
        visible += matches
    return [_devices(gpu)[0] for gpu in visible if gpu.instances or not gpu.in_mig_mode]


def gpus_in_use(uuids: Sequence[str], *, wait: Callable[[float], object] = time.sleep) -> list[AnyNote]:
    """Return a note for each of these GPUs that is in use. Call it when no run of ours is alive.

    A load that is gone within three seconds was the previous run, and so was memory that a driver frees meanwhile.
    What cannot be read is not suspected.

    Args:
        uuids: As the driver names them; one that it does not list is passed over.
        wait: Called with a number of seconds, until every GPU was seen idle, and its memory free or held as before
            for a second; tests pass a fake.
    """
    with closing(open_nvml()) as nvml:
        gpus = [one for gpu in nvml.gpus for one in (gpu, *gpu.instances) if one.uuid in uuids]
        watched = [_Watched(gpu, gpu.sample(pcie=False)) for gpu in gpus]
        waited_s = 0.0
        while waited_s < SETTLE_S and (unsettled := [one for one in watched if not one.settled]):
            wait(POLL_S)
            waited_s += POLL_S
            for one in unsettled:
                one.look()
    return [note for one in watched if (note := one.note)]


@dataclass
class _Watched:
    """A GPU that is looked at until it is idle and holds no more than it will: seen idle once is enough."""

    gpu: Gpu
    sample: Sample
    idle: bool = False
    still_s: float = 0.0

    def __post_init__(self) -> None:
        self.idle = not self._busy

    @property
    def _busy(self) -> bool:
        return (self.sample.load_percent or 0) > BUSY_PERCENT

    @property
    def _holds(self) -> bool:
        return (self.sample.memory_used_bytes or 0) > HELD_BYTES

    @property
    def settled(self) -> bool:
        return self.idle and (not self._holds or self.still_s >= STILL_S)

    def look(self) -> None:
        before, self.sample = self.sample, self.gpu.sample(pcie=False)
        same = before.memory_used_bytes == self.sample.memory_used_bytes
        self.still_s = self.still_s + POLL_S if same else 0.0
        self.idle = self.idle or not self._busy

    @property
    def note(self) -> AnyNote | None:
        if not self.idle:
            return GpuBusy(gpu=self.gpu.index, load_percent=self.sample.load_percent)
        if self._holds:
            return GpuMemoryHeld(gpu=self.gpu.index, held_bytes=self.sample.memory_used_bytes)
        return None
