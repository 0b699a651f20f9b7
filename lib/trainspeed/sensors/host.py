"""The host's sensors: load of all CPU cores and of single ones, memory, package energy and temperature.

Does not know GPUs (`trainspeed.sensors.nvml`), nor which cores matter (`trainspeed.sensors.processes`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from trainspeed.sensors.cpu import MIN_WINDOW_S, STAT, CpuSeconds, cpu_seconds
from trainspeed.sensors.sample import Sample

POWERCAP = Path("/sys/class/powercap")
HWMON = Path("/sys/class/hwmon")
NO_STAT = "no /proc/stat on this system"
CPU_THERMOMETERS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")


class HostSensors:
    """Reads the host again and again; remembers the last reading, because load and power are differences."""

    def __init__(
        self,
        cores: Sequence[int] = (),
        *,
        stat: Path = STAT,
        powercap: Path = POWERCAP,
        hwmon: Path = HWMON,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the first reading.

        Args:
            cores: Numbers of the cores to sample one by one: on a machine without a GPU, a core is a device.
        """
        self._cores = tuple(cores)
        self._stat = stat
        self._clock = clock
        self._rapl = Rapl(powercap)
        self._thermometers = _thermometers(hwmon)
        self._last_s = clock()
        self._last_cpu, self._last_energy_j = cpu_seconds(stat), self._rapl.energy_j()

    def samples(self) -> dict[str, Sample]:
        """Return what each device reads now: "host", then "core2" and so on, in the order they were given."""
        now_s = self._clock()
        cpu, energy_j = cpu_seconds(self._stat), self._rapl.energy_j()
        seconds, loads, power_w = now_s - self._last_s, {}, None
        if seconds >= MIN_WINDOW_S:
            loads = {name: _busy_percent(self._last_cpu.get(name), now) for name, now in cpu.items()}
            if energy_j is not None and self._last_energy_j is not None:
                power_w = (energy_j - self._last_energy_j) / seconds
            self._last_s, self._last_cpu, self._last_energy_j = now_s, cpu, energy_j
        memory = psutil.virtual_memory()
        temperature_c = max((t for t in map(_celsius, self._thermometers) if t is not None), default=None)
        reasons = {} if "cpu" in cpu else {"load_percent": NO_STAT}
        if energy_j is None:
            reasons |= dict.fromkeys(("power_w", "energy_j"), self._rapl.reason)
        if temperature_c is None:
            reasons["temperature_c"] = "no CPU thermometer found"
        host = Sample(
            load_percent=loads.get("cpu"),
            memory_used_bytes=memory.total - memory.available,
            memory_total_bytes=memory.total,
            power_w=power_w,
            energy_j=energy_j,
            temperature_c=temperature_c,
            reasons=reasons,
        )
        return {"host": host} | {
            f"core{core}": _core_sample(f"cpu{core}", cpu, loads) for core in self._cores
        }


def _core_sample(name: str, cpu: Mapping[str, CpuSeconds], loads: Mapping[str, float | None]) -> Sample:
    if name in cpu:
        return Sample(load_percent=loads.get(name))
    return Sample(reasons={"load_percent": "/proc/stat does not list this core" if cpu else NO_STAT})


def _busy_percent(before: CpuSeconds | None, after: CpuSeconds) -> float | None:
    """Return the busy share of the time between two readings, 0 to 100; None where it is not known."""
    if before is None or after.total <= before.total:
        return None
    share = (after.busy - before.busy) / (after.total - before.total)
    return 100 * min(1.0, max(0.0, share))  # a core's iowait may count backwards. Source: proc_stat(5)


class Rapl:
    """Energy counters of the CPU packages (Intel and AMD), carried on over their wraparound.

    A counter wraps after some 260 kJ, a quarter of an hour at 300 W: read it more often than that.
    Source: docs.kernel.org/power/powercap/powercap.html

    Attributes:
        reason: Why the energy cannot be read; None while it can.
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
    """Return the first input of each CPU's chip, which is that of the package."""
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
