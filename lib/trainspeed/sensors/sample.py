"""What the sensors of a device read at one moment: one form for GPUs, the host and single CPU cores."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What one device read at one moment. None: the value cannot be read, or no such device has it.

    Attributes:
        load_percent: 0 to 100. Of a GPU: the share of NVML's last sample period (1/6 to 1 s) in which a
            kernel was running, which is not how full the GPU was; not available while MIG is on. Of the host
            or a core: the share of time since the previous sample in which it was busy.
        memory_used_bytes: Of a GPU: without what the driver reserves, where the driver tells them apart. Of
            the host: what is not available to a new process.
        power_w: Of the host: the mean of its CPU packages since the previous sample.
        energy_j: A counter, of the host's CPU packages or of the GPU; only differences mean something.
        temperature_c: Of the host: that of its warmest CPU package.
        throttle_reasons: What holds the clocks down, "sw_power_cap|hw_slowdown"; empty when nothing does.
        pcie_rx_bytes_per_s: Received by the GPU, over the 20 ms of the reading.
        reasons: Name of a missing value -> why it is missing. There is no reason for the load or the power of
            the host or a core when too little time has passed since the previous sample.
    """

    load_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_w: float | None = None
    energy_j: float | None = None
    temperature_c: float | None = None
    sm_clock_mhz: int | None = None
    throttle_reasons: str | None = None
    pcie_rx_bytes_per_s: int | None = None
    pcie_tx_bytes_per_s: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)


class ProcessLoad(NamedTuple):
    """The load that one process put on a GPU within a sample period.

    Attributes:
        pid: As the driver knows it: in a container perhaps the host's.
        at_us: End of the period, in microseconds on a clock of the driver's.
        percent: 0 to 100, as in `Sample.load_percent`.
    """

    pid: int
    at_us: int
    percent: int
