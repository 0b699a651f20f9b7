"""The CPU: its name, its feature flags, and how much of its time was used, by whom.

Runs inside the frameworks' environments: psutil, no pandas.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

import psutil

from trainspeed.sensors.cpu_limit import Periods, limit_periods, throttled_of
from trainspeed.sensors.processes import all_cores, usable_cores

STAT = Path("/proc/stat")
CPUINFO = Path("/proc/cpuinfo")
CPUS = Path("/sys/devices/system/cpu")
FLAGS_VARIABLE = "TRAINSPEED_CPU_FLAGS"  # only tests set it: the flags to believe instead of the CPU's own
TICKS_PER_S = 100  # USER_HZ: /proc/stat counts in hundredths of a second on every Linux
MIN_WINDOW_S = 0.1  # ten ticks: over less, the share of one tick is no longer small
SCHEDULERS_CLOCK = 2  # CPUCLOCK_SCHED of the kernel's posix-timers.h
# Each busy core may be a tick off: of more cores than a few, that looks like somebody else's work.
FEW_CORES, MIN_TURN_S = 2, 0.2


class CpuSeconds(NamedTuple):
    """CPU time since boot, in seconds, of one core or summed over all of them.

    Attributes:
        busy: Something ran.
        stolen: A core was wanted, but the hypervisor ran somebody else on it.
        total: Busy, stolen and idle seconds together.
    """

    busy: float
    stolen: float
    total: float


@dataclass(frozen=True, kw_only=True)
class HostLoad:
    """CPU time used since boot, read at one moment; two of them make a measurement.

    Attributes:
        monotonic_s: When it was read, by `time.monotonic`.
        cpu: Summed over all cores; None off Linux.
        own_s: CPU seconds of this process and its descendants, including those it has waited for.
        cores: Of each core, by the kernel's name of it; empty off Linux.
        in_ticks: Whether `own_s` counts in ticks of some process: where Linux has a clock of it, it is exact.
        limits: Of each control group with a limit of CPU time, its periods.
    """

    monotonic_s: float
    cpu: CpuSeconds | None
    own_s: float
    cores: Mapping[str, CpuSeconds] = field(default_factory=dict)
    in_ticks: bool = False
    limits: Mapping[str, Periods] = field(default_factory=dict)


def host_load(stat: Path = STAT, process: psutil.Process | None = None) -> HostLoad:
    """Return the CPU time used so far. Takes some ms (it looks for descendants): not for inside an epoch.

    Args:
        process: The process whose time, with that of its descendants, is `own_s`; this one by default.
    """
    seconds = cpu_seconds(stat)
    own_s, in_ticks = _tree_s(process)
    now_s = time.monotonic()
    return HostLoad(
        monotonic_s=now_s,
        cpu=seconds.pop("cpu", None),
        own_s=own_s,
        cores=seconds,
        in_ticks=in_ticks,
        limits=limit_periods(),
    )


def foreign_cores(before: HostLoad, after: HostLoad) -> float | None:
    """Return how many cores other processes kept busy between two readings, on average.

    None where the machine cannot tell, or when less than 0.1 s passed. A child that ended without being
    waited for counts as another process.
    """
    seconds = after.monotonic_s - before.monotonic_s
    if before.cpu is None or after.cpu is None or seconds < MIN_WINDOW_S:
        return None
    used_s = (after.cpu.busy - before.cpu.busy) - (after.own_s - before.own_s)
    return max(0.0, used_s / seconds)  # the two clocks tick apart: a little below 0 is 0


def least_turn_s() -> float:
    """Return the seconds from which on a turn tells what others used of the cores that this process may run on."""
    return MIN_WINDOW_S if len(usable_cores()) <= FEW_CORES else MIN_TURN_S


def others_cores(before: HostLoad, after: HostLoad, among: Collection[int] = ()) -> float | None:
    """Return how many cores other processes, or the hypervisor, had between two readings, on average.

    None where the machine cannot tell, or when less than `least_turn_s` passed.

    Args:
        among: Of which cores; by default of all, as where some of these are not known.
    """
    seconds = after.monotonic_s - before.monotonic_s
    if seconds < least_turn_s() or before.cpu is None or after.cpu is None:
        return None
    names = {f"cpu{core}" for core in among}
    spans = [(before.cpu, after.cpu)]
    if names and names <= before.cores.keys() & after.cores.keys():
        spans = [(before.cores[name], after.cores[name]) for name in names]
    busy_s = sum(end.busy - begin.busy for begin, end in spans) - (after.own_s - before.own_s)
    stolen_s = sum(end.stolen - begin.stolen for begin, end in spans)
    return (max(0.0, busy_s) + stolen_s) / seconds


def last_cores(count: int) -> frozenset[int]:
    """Return the cores that are the first `count` CPU devices, and those that are threads of the same physical ones."""
    return frozenset(other for core in all_cores()[-count:] for other in siblings(core))


@cache
def siblings(core: int, cpus: Path = CPUS) -> tuple[int, ...]:
    """Return the cores that are threads of the same physical core, itself among them."""
    found: list[int] = []
    with suppress(OSError, ValueError):
        for span in (cpus / f"cpu{core}/topology/thread_siblings_list").read_text().strip().split(","):
            first, _, last = span.partition("-")
            found += range(int(first), int(last or first) + 1)
    return tuple(found) if core in found else (core,)


def taken_by_others_s(
    stat: Path = STAT,
    *,
    cores: Callable[[], Sequence[int]] = usable_cores,
    own_s: Callable[[], float] = time.process_time,
) -> float | None:
    """Return for how many seconds others had a core that this process may run on, on average over these cores.

    Two of them make a measurement: where both begin is not known. All of this process's threads are not others,
    however long they wait for each other; every other process is one, those of this program too, and so is the
    hypervisor. None where the machine cannot tell.

    Args:
        own_s: Returns the CPU seconds of all threads of this process.
    """
    seconds = cpu_seconds(stat)
    used = [seconds[name] for core in cores() if (name := f"cpu{core}") in seconds]
    return (sum(core.busy + core.stolen for core in used) - own_s()) / len(used) if used else None


def stolen_share(before: HostLoad, after: HostLoad) -> float | None:
    """Return the share of all CPU time, 0 to 1, that the hypervisor gave to other machines.

    None where the machine cannot tell, or when less than 0.1 s passed.
    """
    seconds = after.monotonic_s - before.monotonic_s
    if before.cpu is None or after.cpu is None or seconds < MIN_WINDOW_S:
        return None
    total_s = after.cpu.total - before.cpu.total
    return (after.cpu.stolen - before.cpu.stolen) / total_s if total_s > 0 else None


def throttled_share(before: HostLoad, after: HostLoad) -> float | None:
    """Return the share of a limit's periods, 0 to 1, in which it stopped this container or job.

    None where there is no limit, or where no period of it went by.
    """
    return throttled_of(before.limits, after.limits)


def cpu_seconds(stat: Path = STAT) -> dict[str, CpuSeconds]:
    """Return the CPU time of "cpu", which is all cores together, and of each core: "cpu0", "cpu1" …

    Empty where there is no /proc/stat.
    """
    seconds: dict[str, CpuSeconds] = {}
    with suppress(OSError, ValueError):
        for line in stat.read_text().splitlines():
            if line.startswith("cpu"):
                name, *numbers = line.split()
                # Guest time, after these eight, is counted in user time already. Source: proc_stat(5)
                user, nice, system, idle, iowait, irq, softirq, steal = (
                    int(number) / TICKS_PER_S for number in numbers[:8]
                )
                busy = user + nice + system + irq + softirq
                seconds[name] = CpuSeconds(busy, steal, busy + steal + idle + iowait)
    return seconds


def _tree_s(asked: psutil.Process | None) -> tuple[float, bool]:
    """Return the seconds of a process and its descendants, and whether any of them counts in ticks."""
    root = asked or psutil.Process()
    seconds, in_ticks = 0.0, False
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.Error:  # it ended meanwhile and was waited for: its parent's times hold it from now on
            continue
        exact_s = process_s(process.pid)
        in_ticks |= exact_s is None
        seconds += times.user + times.system if exact_s is None else exact_s
        seconds += times.children_user + times.children_system
    return seconds, in_ticks


def process_s(pid: int) -> float | None:
    """Return the CPU seconds of all threads of a process, to the nanosecond; None where its clock cannot be read.

    In ticks, two ranks at rest, which use 0.5 % of a core, came out between 0.3 % and 1.2 %.

    Source: clock_getcpuclockid(3): Linux numbers the CPU clock of a process by its id.
    """
    if pid == os.getpid():
        return time.process_time()
    if sys.platform != "linux":
        return None
    with suppress(OSError):
        return time.clock_gettime(~pid << 3 | SCHEDULERS_CLOCK)
    return None


def cpu_name(cpuinfo: Path = CPUINFO) -> str | None:
    """Return the CPU's model name; None where the kernel does not tell it (many Arm machines)."""
    return _first_core(cpuinfo).get("model name")


def cpu_flags(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """Return the CPU's feature flags; empty where the kernel does not tell them.

    TRAINSPEED_CPU_FLAGS replaces them, in workers too: names separated by spaces, "" for a CPU without any.
    It changes what is believed, not what is computed: a framework emulates what the CPU lacks.
    """
    if (given := os.environ.get(FLAGS_VARIABLE)) is not None:
        return frozenset(given.split())
    fields = _first_core(cpuinfo)
    return frozenset(fields.get("flags", fields.get("Features", "")).split())  # their names on x86 and on Arm


def _first_core(cpuinfo: Path) -> dict[str, str]:
    """Return what /proc/cpuinfo says about the first core."""
    try:
        first = cpuinfo.read_text(errors="replace").split("\n\n", 1)[0]
    except OSError:
        return {}
    pairs = (line.partition(":") for line in first.splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}
