"""Ask NVIDIA GPUs about themselves: the only module that imports pynvml (nvidia-ml-py).

Every value that this machine cannot give is None, with a reason. Does not know what runs on the GPUs, nor
which of them a worker may see (`trainspeed.sensors.gpus`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from statistics import fmean
from typing import Any

import pynvml

from trainspeed.sensors.sample import ProcessLoad, Sample

# The only place where NVML's error codes become text. Source: nvml.h, nvmlReturn_t
ERROR_TEXTS = {
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not supported by this GPU",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission to read it",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "the NVIDIA driver is not loaded",
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "no NVIDIA driver library found",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "not offered by this version of the NVIDIA driver",
    pynvml.NVML_ERROR_GPU_IS_LOST: "the GPU is lost: it does not answer any more; reboot",
    pynvml.NVML_ERROR_RESET_REQUIRED: "the GPU needs a reset",
    pynvml.NVML_ERROR_OPERATING_SYSTEM: "blocked by the operating system or the container",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "NVIDIA driver and library versions differ: reboot",
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH: "not offered by this version of the NVIDIA driver",
    pynvml.NVML_ERROR_UNKNOWN: "unknown error of the NVIDIA driver",
}
# These answers do not change while the process lives, so the question is not asked again.
FINAL_ERRORS = (pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
OLDER_DRIVER = (*FINAL_ERRORS, pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH)

# Without idle (bit 0), which slows nobody down. Source: nvml.h, nvmlClocksEventReason*
THROTTLE_REASONS = {
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
    0x200: "board_limit",
    0x400: "reliability",
}
PCIE_READ_S = 0.020  # how long NVML counts bytes before it answers. Source: nvmlDeviceGetPcieThroughput
PCIE_SKIPPED = "not read at this interval: a reading takes 20 ms in each direction"
ANCESTORS = {  # with nvidia-smi's names for them
    pynvml.NVML_TOPOLOGY_INTERNAL: "PCIe on one board",
    pynvml.NVML_TOPOLOGY_SINGLE: "PCIe through one switch (PIX)",
    pynvml.NVML_TOPOLOGY_MULTIPLE: "PCIe through several switches (PXB)",
    pynvml.NVML_TOPOLOGY_HOSTBRIDGE: "PCIe through a host bridge (PHB)",
    pynvml.NVML_TOPOLOGY_NODE: "PCIe within a NUMA node (NODE)",
    pynvml.NVML_TOPOLOGY_SYSTEM: "PCIe across CPU sockets (SYS)",
}
SWITCH = "switch"


@dataclass(frozen=True, kw_only=True, eq=False)
class Gpu:
    """One GPU; a property that cannot be read is None.

    Attributes:
        index: NVML's number: in the order of the PCI bus, whatever CUDA_VISIBLE_DEVICES says.
        power_limit_w: The limit in force now.
        compute_capability: "9.0".
    """

    index: int
    uuid: str | None = None
    name: str | None = None
    memory_total_bytes: int | None = None
    power_limit_w: float | None = None
    compute_capability: str | None = None
    pci_bus_id: str | None = None
    _handle: Any = field(default=None, repr=False)
    _missing: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def lost(self) -> str | None:
        """Why the whole GPU does not answer; None while it does."""
        return self._missing.get("gpu")

    def sample(self, *, pcie: bool = True) -> Sample:
        """Return what the GPU reads now. Its PCIe traffic takes 40 ms, everything else about 1 ms."""
        values: dict[str, Any] = {}
        reasons: dict[str, str] = {}
        for name in SENSOR_READERS:
            if name.startswith("pcie") and not pcie:
                reasons[name] = PCIE_SKIPPED
            elif not self.lost:
                values[name], reason = self._ask(name)
                if reason:
                    reasons[name] = reason
        if self.lost:  # perhaps only since the last reading: half a row would look like a measurement
            return Sample(reasons=dict.fromkeys((*SENSOR_READERS, "memory_total_bytes"), self.lost))
        if self.memory_total_bytes is None:
            reasons["memory_total_bytes"] = ERROR_TEXTS[pynvml.NVML_ERROR_NOT_SUPPORTED]
        return Sample(**values, memory_total_bytes=self.memory_total_bytes, reasons=reasons)

    def _ask(self, name: str) -> tuple[Any, str | None]:
        """Return (value, None) or (None, reason)."""
        if name in self._missing:
            return None, self._missing[name]
        try:
            return SENSOR_READERS[name](self._handle), None
        except pynvml.NVMLError as error:
            if error.value == pynvml.NVML_ERROR_GPU_IS_LOST:
                self._missing["gpu"] = reason_of(error)
            elif error.value in FINAL_ERRORS:
                self._missing[name] = reason_of(error)
            return None, reason_of(error)


@dataclass(frozen=True, kw_only=True)
class Nvml:
    """The driver's view of this machine. Close it when done (`contextlib.closing`).

    Attributes:
        gpus: In the order of the PCI bus, including those that do not answer.
        reason: Why there are no GPUs; None when there are some.
        driver: Version of the driver, "580.65.06".
        cuda: Newest CUDA version that the driver runs, "13.0".
    """

    gpus: tuple[Gpu, ...] = ()
    reason: str | None = None
    driver: str | None = None
    cuda: str | None = None
    _opened: bool = False

    def close(self) -> None:
        """Close the driver; the GPUs no longer answer."""
        if self._opened:
            with suppress(pynvml.NVMLError):
                pynvml.nvmlShutdown()

    def energy_j(self, uuids: Iterable[str]) -> float | None:
        """Return the joules of these GPUs together, by their counters; None if one of them has none.

        Only the difference of two calls means something. A counter moves in steps of tens of
        milliseconds, so the two calls should be seconds apart.
        """
        counters = self._read("energy_j", uuids)
        return None if not counters or None in counters else sum(counters)

    def sm_clock_mhz(self, uuids: Iterable[str]) -> float | None:
        """Return the mean clock of these GPUs' multiprocessors now; None if one of them does not tell.

        An idle GPU keeps its clock for a moment only: ask while the work is just done.
        """
        clocks = self._read("sm_clock_mhz", uuids)
        return None if not clocks or None in clocks else fmean(clocks)

    def by_gpu(self, sensor: str, uuids: Iterable[str]) -> dict[int, Any]:
        """Return index -> what a sensor of a `Sample` reads, of these GPUs; None where it cannot be read."""
        return {gpu.index: gpu._ask(sensor)[0] for gpu in self.gpus if gpu.uuid in uuids and not gpu.lost}

    def process_loads(
        self, uuids: Iterable[str], since_us: Mapping[int, int]
    ) -> dict[int, list[ProcessLoad]]:
        """Return index -> the loads by process that were sampled since a moment, of these GPUs; oldest first."""
        loads = {}
        for gpu in (gpu for gpu in self.gpus if gpu.uuid in uuids and not gpu.lost):
            samples = _or_none(
                pynvml.nvmlDeviceGetProcessUtilization, gpu._handle, since_us.get(gpu.index, 0)
            )
            loads[gpu.index] = [ProcessLoad(s.pid, s.timeStamp, s.smUtil) for s in samples or ()]
        return loads

    def _read(self, sensor: str, uuids: Iterable[str]) -> list[Any]:
        gpus = {gpu.uuid: gpu for gpu in self.gpus if not gpu.lost}
        return [gpus[uuid]._ask(sensor)[0] if uuid in gpus else None for uuid in uuids]

    def interconnect(self) -> str | None:
        """Return how the GPUs are connected with each other, as text; None where there are fewer than two."""
        gpus = [gpu for gpu in self.gpus if not gpu.lost]
        links = {gpu.index: _nvlinks(gpu._handle) for gpu in gpus}
        kinds: dict[str, list[str]] = {}
        for one, other in combinations(gpus, 2):
            kind = _connection(one, other, links)
            kinds.setdefault(kind, []).append(f"gpu{one.index}-gpu{other.index}")
        return "; ".join(f"{kind}: {', '.join(pairs)}" for kind, pairs in kinds.items()) or None


def open_nvml() -> Nvml:
    """Open the driver, again after a fork, and list the GPUs. Never raises: `reason` says what is wrong."""
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return Nvml(reason=reason_of(error))
    version = _or_none(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return Nvml(
        gpus=tuple(_gpu(index) for index in range(count)),
        reason=None if count else "the NVIDIA driver sees no GPU",
        driver=_or_none(pynvml.nvmlSystemGetDriverVersion),
        cuda=None if version is None else f"{version // 1000}.{version % 1000 // 10}",
        _opened=True,
    )


def reason_of(error: pynvml.NVMLError) -> str:
    """Return the text of an NVML error."""
    return ERROR_TEXTS.get(error.value, f"NVML error {error.value}")


def _gpu(index: int) -> Gpu:
    try:
        handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        return Gpu(index=index, _missing={"gpu": reason_of(error)})
    limit_mw = _or_none(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    capability = _or_none(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    pci = _or_none(pynvml.nvmlDeviceGetPciInfo, handle)
    return Gpu(
        index=index,
        uuid=_or_none(pynvml.nvmlDeviceGetUUID, handle),
        name=_or_none(pynvml.nvmlDeviceGetName, handle),
        memory_total_bytes=_or_none(lambda: _memory(handle).total),
        power_limit_w=None if limit_mw is None else limit_mw / 1000,
        compute_capability=None if capability is None else "{}.{}".format(*capability),
        pci_bus_id=None if pci is None else pci.busId,
        _handle=handle,
    )


def _or_none(ask: Callable[..., Any], *arguments: Any) -> Any:
    with suppress(pynvml.NVMLError):
        return ask(*arguments)
    return None


def _memory(handle: Any) -> Any:
    """Return the memory by NVML's second version, which does not count what the driver reserves as used."""
    try:
        return pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
    except pynvml.NVMLError as error:
        if error.value not in OLDER_DRIVER:
            raise
        return pynvml.nvmlDeviceGetMemoryInfo(handle)


def _throttle_reasons(handle: Any) -> str:
    try:
        bits = pynvml.nvmlDeviceGetCurrentClocksEventReasons(handle)
    except pynvml.NVMLError as error:
        if error.value not in OLDER_DRIVER:
            raise
        bits = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)  # its name before driver 535
    return "|".join(name for bit, name in THROTTLE_REASONS.items() if bits & bit)


def _pcie(counter: int) -> Callable[[Any], int]:
    return lambda handle: 1000 * pynvml.nvmlDeviceGetPcieThroughput(handle, counter)  # from kB/s


SENSOR_READERS: dict[str, Callable[[Any], Any]] = {
    "load_percent": lambda handle: pynvml.nvmlDeviceGetUtilizationRates(handle).gpu,
    "memory_used_bytes": lambda handle: _memory(handle).used,
    "power_w": lambda handle: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000,
    "energy_j": lambda handle: pynvml.nvmlDeviceGetTotalEnergyConsumption(handle) / 1000,
    "temperature_c": lambda handle: pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU),
    "sm_clock_mhz": lambda handle: pynvml.nvmlDeviceGetClockInfo(handle, pynvml.NVML_CLOCK_SM),
    "throttle_reasons": _throttle_reasons,
    "pcie_rx_bytes_per_s": _pcie(pynvml.NVML_PCIE_UTIL_RX_BYTES),
    "pcie_tx_bytes_per_s": _pcie(pynvml.NVML_PCIE_UTIL_TX_BYTES),
}


def _nvlinks(handle: Any) -> Counter[str]:
    """Count active NVLinks by what is at the other end: a GPU's PCI bus id, or SWITCH."""
    ends: Counter[str] = Counter()
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        try:
            if pynvml.nvmlDeviceGetNvLinkState(handle, link):
                kind = _or_none(pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link)
                remote = _or_none(pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)
                if kind == pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH:
                    ends[SWITCH] += 1
                elif remote is not None:
                    ends[remote.busId] += 1
        except pynvml.NVMLError:  # this GPU has no more links, or none at all
            break
    return ends


def _connection(one: Gpu, other: Gpu, links: dict[int, Counter[str]]) -> str:
    if direct := links[one.index][other.pci_bus_id or ""]:
        return f"NVLink x{direct}"
    if switched := min(links[one.index][SWITCH], links[other.index][SWITCH]):
        return f"NVLink x{switched} through a switch"
    level = _or_none(pynvml.nvmlDeviceGetTopologyCommonAncestor, one._handle, other._handle)
    return ANCESTORS.get(level, "unknown connection")
