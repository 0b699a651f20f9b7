"""How GPUs are connected with each other, in words: NVLink, a switch, or PCIe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pynvml

from trainspeed.core.links import LinkKind
from trainspeed.sensors.nvml import Gpu, or_none

ANCESTORS = {  # with nvidia-smi's names for them
    pynvml.NVML_TOPOLOGY_INTERNAL: "PCIe on one board",
    pynvml.NVML_TOPOLOGY_SINGLE: "PCIe through one switch (PIX)",
    pynvml.NVML_TOPOLOGY_MULTIPLE: "PCIe through several switches (PXB)",
    pynvml.NVML_TOPOLOGY_HOSTBRIDGE: "PCIe through a host bridge (PHB)",
    pynvml.NVML_TOPOLOGY_NODE: "PCIe within a NUMA node (NODE)",
    pynvml.NVML_TOPOLOGY_SYSTEM: "PCIe across CPU sockets (SYS)",
}
SWITCH = "switch"


def interconnect(gpus: Sequence[Gpu]) -> str | None:
    """Return how these GPUs are connected with each other; None where there are fewer than two.

    Call it while the driver is open.
    """
    gpus = [gpu for gpu in gpus if not gpu.lost and not gpu.is_instance]
    links = {gpu.index: _nvlinks(gpu._handle) for gpu in gpus}
    kinds: dict[str, list[str]] = {}
    for one, other in combinations(gpus, 2):
        kind = _connection(one, other, links)
        kinds.setdefault(kind, []).append(f"gpu{one.index}-gpu{other.index}")
    return "; ".join(f"{kind}: {', '.join(pairs)}" for kind, pairs in kinds.items()) or None


def first_link(gpus: Sequence[Gpu]) -> dict[str, Any] | None:
    """Return what connects the first two of these GPUs, which a trial on two devices takes: its `kind` and `count`.

    The count is that of NVLinks; None of PCIe. None altogether where there are fewer than two, or it is not known.
    """
    if len(gpus) < 2 or any(gpu.lost or gpu.is_instance for gpu in gpus[:2]):
        return None
    one, other = gpus[:2]
    links = {gpu.index: _nvlinks(gpu._handle) for gpu in (one, other)}
    if count := sum(_shared_nvlinks(one, other, links)):
        return {"kind": LinkKind.NVLINK.value, "count": count}
    known = or_none(pynvml.nvmlDeviceGetTopologyCommonAncestor, one._handle, other._handle) in ANCESTORS
    return {"kind": LinkKind.PCIE.value, "count": None} if known else None


def _nvlinks(handle: Any) -> Counter[str]:
    """Count active NVLinks by what is at the other end: a GPU's PCI bus id, or SWITCH."""
    ends: Counter[str] = Counter()
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            if pynvml.nvmlDeviceGetNvLinkState(handle, link):
                kind = or_none(pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
                remote = or_none(pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
                if kind == pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
                    ends[SWITCH] += 1
                elif remote is not None:
                    ends[remote.busId] += 1
        except pynvml.NVMLError:  # this GPU has no more links, or none at all
            break
    return ends


def _connection(one: Gpu, other: Gpu, links: dict[int, Counter[str]]) -> str:
    direct, switched = _shared_nvlinks(one, other, links)
    if direct:
        return f"NVLink x{direct}"
    if switched:
        return f"NVLink x{switched} through a switch"
    level = or_none(pynvml.nvmlDeviceGetTopologyCommonAncestor, one._handle, other._handle)
    return ANCESTORS.get(level, "unknown connection")


def _shared_nvlinks(one: Gpu, other: Gpu, links: dict[int, Counter[str]]) -> tuple[int, int]:
    """Return how many NVLinks lead from one GPU to another: directly, or else through a switch."""
    if direct := links[one.index][other.pci_bus_id or ""]:
        return direct, 0
    return 0, min(links[one.index][SWITCH], links[other.index][SWITCH])
