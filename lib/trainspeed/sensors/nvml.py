"""Ask NVIDIA GPUs about themselves; only this module and `interconnect.py` import pynvml (nvidia-ml-py).

Every value that this machine cannot give is None, with a reason. Does not know which GPUs a worker may see.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
NO_SAMPLES = (pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_SUCCESS)  # pynvml raises where there are 0 of them
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
PCIE_SHARE = 0.1  # of an interval, at most: what a sample reads must belong to about the same moment
PCIE_SKIPPED = "not read at this interval: a reading takes 20 ms in each direction"


@dataclass(frozen=True, kw_only=True, eq=False)
class Gpu:
    """One GPU, or a MIG instance of one; a property that cannot be read is None.

    Attributes:
        index: NVML's number: in the order of the PCI bus, whatever CUDA_VISIBLE_DEVICES says. An instance has that
            of its GPU.
        power_limit_w: The limit in force now.
        compute_capability: "9.0".
        in_mig_mode: Whether only its `instances` can be used.
        instances: Its MIG instances, each with its profile in its name and the memory of its slice.
        is_instance: Whether this is a MIG instance; it has no load, power and energy of its own.
    """

    index: int
    uuid: str | None = None
    name: str | None = None
    memory_total_bytes: int | None = None
    power_limit_w: float | None = None
    compute_capability: str | None = None
    pci_bus_id: str | None = None
    in_mig_mode: bool = False
    instances: tuple[Gpu, ...] = ()
    is_instance: bool = False
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

    def by_gpu(self, sensor: str, uuids: Collection[str]) -> dict[Gpu, Any]:
        """Return what a sensor of a `Sample` reads, of these GPUs and MIG instances; None where it cannot be read."""
        every = (one for gpu in self.gpus if not gpu.lost for one in (gpu, *gpu.instances))
        return {gpu: gpu._ask(sensor)[0] for gpu in every if gpu.uuid in uuids}

    def reads_pcie(self, interval_s: float) -> bool:
        """Return whether there is time to count PCIe traffic in each sample, so many seconds apart."""
        return 2 * PCIE_READ_S * len(self.gpus) <= PCIE_SHARE * interval_s

    def process_loads(self, gpu: Gpu, since_us: int) -> tuple[list[ProcessLoad], str | None]:
        """Return the loads of a GPU by process over the time since a moment, and why it does not tell, or None."""
        try:
            samples = pynvml.nvmlDeviceGetProcessUtilization(gpu._handle, since_us)
        except pynvml.NVMLError as error:
            return [], None if error.value in NO_SAMPLES else reason_of(error)
        # Some drivers return rows that are not filled. Source: https://github.com/Syllo/nvtop/issues/110
        return [ProcessLoad(s.pid, s.timeStamp, s.smUtil) for s in samples if s.smUtil <= 100], None

    def _read(self, sensor: str, uuids: Iterable[str]) -> list[Any]:
        gpus = {gpu.uuid: gpu for gpu in self.gpus if not gpu.lost}
        return [gpus[uuid]._ask(sensor)[0] if uuid in gpus else None for uuid in uuids]


def open_nvml() -> Nvml:
    """Open the driver, again after a fork, and list the GPUs. Never raises: `reason` says what is wrong."""
    try:
        pynvml.nvmlInit()
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        return Nvml(reason=reason_of(error))
    version = or_none(pynvml.nvmlSystemGetCudaDriverVersion_v2)
    return Nvml(
        gpus=tuple(_gpu(index) for index in range(count)),
        reason=None if count else "the NVIDIA driver sees no GPU",
        driver=or_none(pynvml.nvmlSystemGetDriverVersion),
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
    limit_mw = or_none(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle)
    capability = or_none(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    pci = or_none(pynvml.nvmlDeviceGetPciInfo, handle)
    mode = or_none(pynvml.nvmlDeviceGetMigMode, handle)  # now, and after the next reset
    gpu = Gpu(
        index=index,
        uuid=or_none(pynvml.nvmlDeviceGetUUID, handle),
        name=or_none(pynvml.nvmlDeviceGetName, handle),
        memory_total_bytes=or_none(lambda: _memory(handle).total),
        power_limit_w=None if limit_mw is None else limit_mw / 1000,
        compute_capability=None if capability is None else "{}.{}".format(*capability),
        pci_bus_id=None if pci is None else pci.busId,
        in_mig_mode=mode is not None and mode[0] == pynvml.NVML_DEVICE_MIG_ENABLE,
        _handle=handle,
    )
    return replace(gpu, instances=tuple(_instances(gpu))) if gpu.in_mig_mode else gpu


def _instances(gpu: Gpu) -> Iterator[Gpu]:
    """Yield the MIG instances of a GPU; their numbers may have gaps."""
    for number in range(or_none(pynvml.nvmlDeviceGetMaxMigDeviceCount, gpu._handle) or 0):
        handle = or_none(pynvml.nvmlDeviceGetMigDeviceHandleByIndex, gpu._handle, number)
        if handle is not None:
            name = or_none(pynvml.nvmlDeviceGetName, handle) or ""
            memory_bytes = or_none(lambda handle=handle: _memory(handle).total)
            shares = or_none(pynvml.nvmlDeviceGetAttributes_v2, handle)
            profile = "" if shares is None else _profile(shares, gpu.memory_total_bytes or 0)
            yield Gpu(
                index=gpu.index,
                uuid=or_none(pynvml.nvmlDeviceGetUUID, handle),
                name=name if "MIG" in name else " ".join(filter(None, [gpu.name, "MIG", profile])),
                memory_total_bytes=memory_bytes,
                compute_capability=gpu.compute_capability,
                is_instance=True,
                _handle=handle,
            )


def _profile(shares: Any, total_bytes: int) -> str:
    """Return NVIDIA's name for a slice: "3g.20gb", or "1c.3g.20gb" of a part of its multiprocessors.

    Its memory is a number of eighths of the GPU's.
    Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/mig-device-names.html
    """
    eighths = math.ceil(8 * shares.memorySizeMB * 2**20 / total_bytes) if total_bytes else 0
    size_gb = round(eighths / 8 * math.ceil(total_bytes / 2**30))
    whole, part = shares.gpuInstanceSliceCount, shares.computeInstanceSliceCount
    return (f"{part}c." if part != whole else "") + f"{whole}g" + (f".{size_gb}gb" if size_gb else "")


def or_none(ask: Callable[..., Any], *arguments: Any) -> Any:
    """Return what NVML answers; None where it answers with an error."""
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
