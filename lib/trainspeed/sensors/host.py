"""The host's sensors: CPU load, memory, package energy, and who else used the CPU.

Does not know GPUs (`trainspeed.sensors.nvml`). Runs inside the frameworks' environments: psutil, no pandas.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

STAT = Path("/proc/stat")
CPUINFO = Path("/proc/cpuinfo")
FLAGS_VARIABLE = "TRAINSPEED_CPU_FLAGS"  # only tests set it: the flags to believe instead of the CPU's own
POWERCAP = Path("/sys/class/powercap")
HWMON = Path("/sys/class/hwmon")
CPU_THERMOMETERS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")
TICKS_PER_S = 100  # USER_HZ: /proc/stat counts in hundredths of a second on every Linux
MIN_WINDOW_S = 0.1  # ten ticks: over less, the share of one tick is no longer small
CpuSeconds = tuple[float, float, float]  # busy, stolen, total


@dataclass(frozen=True, kw_only=True)
class HostLoad:
    """CPU time used since boot, read at one moment; two of them make a measurement.

    Attributes:
        monotonic_s: When it was read, by `time.monotonic`.
        busy_s: Seconds in which the cores ran anything, summed over all cores. None off Linux, like
            the next two.
        steal_s: Seconds in which a core was wanted but the hypervisor ran somebody else on it.
        total_s: busy_s, steal_s and idle seconds together.
        own_s: CPU seconds of this process and its descendants, those waited for included.
    """

    monotonic_s: float
    busy_s: float | None = None
    steal_s: float | None = None
    total_s: float | None = None
    own_s: float


def host_load(stat: Path = STAT, process: psutil.Process | None = None) -> HostLoad:
    """Return the CPU time used so far. Takes some ms (it looks for descendants): not for inside an epoch.

    Args:
        process: Whose time, with that of its descendants, is `own_s`; this one when left out.
    """
    busy_s, steal_s, total_s = cpu_seconds(stat) or (None, None, None)
    own_s = _tree_s(process or psutil.Process())
    return HostLoad(
        monotonic_s=time.monotonic(), busy_s=busy_s, steal_s=steal_s, total_s=total_s, own_s=own_s
    )


def foreign_cores(before: HostLoad, after: HostLoad) -> float | None:
    """Return how many cores other processes kept busy between two readings, on average.

    None where the machine cannot tell, or when less than 0.1 s passed. A child that ended without being
    waited for counts as another process.
    """
    seconds = after.monotonic_s - before.monotonic_s
    if before.busy_s is None or after.busy_s is None or seconds < MIN_WINDOW_S:
        return None
    used_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    return max(0.0, used_s / seconds)  # the two clocks tick apart: a little below 0 is 0


def stolen_share(before: HostLoad, after: HostLoad) -> float | None:
    """Return the share of all CPU time, 0 to 1, that the hypervisor gave to other machines.

    None where the machine cannot tell, or when less than 0.1 s passed.
    """
    seconds = after.monotonic_s - before.monotonic_s
    if None in (before.steal_s, after.steal_s) or seconds < MIN_WINDOW_S:
        return None
    total_s = after.total_s - before.total_s
    return (after.steal_s - before.steal_s) / total_s if total_s > 0 else None


def cpu_seconds(stat: Path = STAT) -> CpuSeconds | None:
    """Return (busy, stolen, total) CPU seconds since boot over all cores; None where /proc/stat is absent."""
    try:
        label, seconds = read_cpu_line(stat.read_text().split("\n", 1)[0]) or ("", None)
    except OSError:
        return None
    return seconds if label == "cpu" else None


def read_cpu_line(line: str) -> tuple[str, CpuSeconds] | None:
    """Return a line of /proc/stat as ("cpu2", (busy, stolen, total) seconds); None where it is no such line."""
    try:
        label, *ticks = line.split()
        # Guest time, after these eight, is counted in user time already. Source: proc_stat(5)
        user, nice, system, idle, iowait, irq, softirq, steal = (int(n) / TICKS_PER_S for n in ticks[:8])
    except ValueError:
        return None
    busy_s = user + nice + system + irq + softirq
    return label, (busy_s, steal, busy_s + steal + idle + iowait)


def _tree_s(root: psutil.Process) -> float:
    seconds = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:  # ended meanwhile: waited for, it is in its parent's times from now on
            continue
        seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def cpu_name(cpuinfo: Path = CPUINFO) -> str | None:
    """Return the CPU's model name; None where the kernel does not tell it (many Arm machines)."""
    return cpu_fields(cpuinfo).get("model name")


def cpu_flags(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """Return the CPU's feature flags; empty where the kernel does not tell them.

    TRAINSPEED_CPU_FLAGS replaces them, in workers too: names with spaces between, "" for a CPU without any.
    It changes what is believed, not what is computed: a framework emulates what the CPU lacks.
    """
    if (given := os.environ.get(FLAGS_VARIABLE)) is not None:
        return frozenset(given.split())
    fields = cpu_fields(cpuinfo)
    return frozenset(fields.get("flags", fields.get("Features", "")).split())  # x86 and Arm name them so


def cpu_fields(cpuinfo: Path = CPUINFO) -> dict[str, str]:
    """Return what /proc/cpuinfo says of the first core."""
    try:
        first = cpuinfo.read_text(errors="replace").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


@dataclass(frozen=True, kw_only=True)
class HostSample:
    """What the host said at one moment. A value is None where it cannot be read; `reasons` says why.

    Attributes:
        load_percent: Share of all cores that was busy since the sample before, 0 to 100. None, without
            a reason, when too little time passed; the same holds for `power_w`.
        memory_used_bytes: What is not available to a new process.
        power_w: Of the CPU packages, mean since the sample before.
        energy_j: Of the CPU packages; only differences mean something.
        temperature_c: Of the warmest CPU package.
        reasons: Name of the missing value -> why.
    """

    load_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_w: float | None = None
    energy_j: float | None = None
    temperature_c: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)


class HostSensors:
    """Reads the host again and again; remembers the last reading, because load and power are differences."""

    def __init__(
        self,
        *,
        stat: Path = STAT,
        powercap: Path = POWERCAP,
        hwmon: Path = HWMON,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stat = stat
        self._clock = clock
        self._rapl = Rapl(powercap)
        self._thermometers = _thermometers(hwmon)
        self._last_s = clock()
        self._last_cpu = cpu_seconds(stat)
        self._last_energy_j = self._rapl.energy_j()

    def sample(self) -> HostSample:
        """Return what the host says now."""
        seconds = self._clock() - self._last_s
        cpu, energy_j = cpu_seconds(self._stat), self._rapl.energy_j()
        memory = psutil.virtual_memory()
        temperature_c = max((t for t in map(_celsius, self._thermometers) if t is not None), default=None)
        busy_percent = power_w = None
        if seconds >= MIN_WINDOW_S:
            busy_percent = load_percent(self._last_cpu, cpu)
            if energy_j is not None and self._last_energy_j is not None:
                power_w = (energy_j - self._last_energy_j) / seconds
            self._last_s, self._last_cpu, self._last_energy_j = self._clock(), cpu, energy_j
        reasons = {}
        if cpu is None:
            reasons["load_percent"] = "no /proc/stat on this system"
        if energy_j is None:
            reasons |= dict.fromkeys(("power_w", "energy_j"), self._rapl.reason)
        if temperature_c is None:
            reasons["temperature_c"] = "no CPU thermometer found"
        return HostSample(
            load_percent=busy_percent,
            memory_used_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            power_w=power_w,
            energy_j=energy_j,
            temperature_c=temperature_c,
            reasons=reasons,
        )


def load_percent(before: CpuSeconds | None, after: CpuSeconds | None) -> float | None:
    """Return the busy share of the time between two readings, 0 to 100; None where it cannot be told."""
    if before is None or after is None or after[2] <= before[2]:
        return None
    share = (after[0] - before[0]) / (after[2] - before[2])
    return 100 * min(1.0, max(0.0, share))  # a core's iowait may count backwards. Source: proc_stat(5)


class Rapl:
    """Energy counters of the CPU packages (Intel and AMD), carried on over their wraparound.

    A counter wraps after some 260 kJ, a quarter of an hour at 300 W: read it more often than that.
    Source: docs.kernel.org/power/powercap/powercap.html

    Attributes:
        reason: Why there is no energy; None while there is.
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        self.reason: str | None = None
        self._ranges_uj: dict[Path, int] = {}
        self._last_uj: dict[Path, int] = {}
        self._energy_uj = 0
        try:
            for zone in sorted(folder.glob("intel-rapl:*")):
                # package-0, not its parts (intel-rapl:0:1) nor psys, which counts the packages again
                if (zone / "name").read_text().startswith("package"):
                    self._ranges_uj[zone / "energy_uj"] = int((zone / "max_energy_range_uj").read_text())
        except (OSError, ValueError):
            self._ranges_uj = {}
        if not self._ranges_uj:
            self.reason = "no RAPL energy counter on this machine"

    def energy_j(self) -> float | None:
        """Return the joules of all packages, counted from an arbitrary moment; None with `reason` set."""
        if self.reason:
            return None
        try:
            for counter, range_uj in self._ranges_uj.items():
                now_uj = int(counter.read_text())
                step_uj = now_uj - self._last_uj.get(counter, 0)
                self._energy_uj += step_uj if step_uj >= 0 else step_uj + range_uj
                self._last_uj[counter] = now_uj
        except PermissionError:
            self.reason = "RAPL may be read by root only"
        except (OSError, ValueError):
            self.reason = "RAPL could not be read"
        return None if self.reason else self._energy_uj / 1e6


def _thermometers(folder: Path) -> list[Path]:
    """The first input of a CPU's chip is its package."""
    inputs = []
    for chip in sorted(folder.glob("hwmon*")):
        try:
            if (chip / "name").read_text().strip() in CPU_THERMOMETERS:
                inputs.append(chip / "temp1_input")
        except OSError:
            continue
    return inputs


def _celsius(thermometer: Path) -> float | None:
    try:
        return int(thermometer.read_text()) / 1000
    except (OSError, ValueError):
        return None
