"""How much memory this process may take and has taken. Linux; None elsewhere. Knows no framework."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

import psutil

from trainspeed.core.errors import UserError
from trainspeed.sensors.control_groups import FILE_SYSTEM, control_groups

LIMIT_VARIABLE = "TRAINSPEED_MEMORY_BYTES"  # the user's limit for what one run may add
SPARE_SHARE = 0.05  # of the free memory, left to the machine so that it does not start to swap
# Files of a control group: its limit, what is used of it, and that part of its statistics that is file cache, which
# counts as used but is given up as soon as somebody needs the memory. Version 2, and 1.
# Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files (inactive_file)
LIMITS = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)
HUGE_PAGES_MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def huge_pages_mode(file: Path = HUGE_PAGES_MODE) -> str | None:
    """Return which programs the kernel gives huge pages: "always", "madvise" (that ask), "never"; None if unknown."""
    try:
        modes = file.read_text().split()
    except OSError:
        return None
    return next((mode.strip("[]") for mode in modes if mode.startswith("[")), None)


def allowance_bytes(environment: Mapping[str, str] = os.environ, root: Path = FILE_SYSTEM) -> int:
    """Return how many bytes a run may add: what is free here, or in this container or job if that is less."""
    if wanted := environment.get(LIMIT_VARIABLE):
        if not wanted.isdecimal():
            raise UserError(LIMIT_VARIABLE, wanted, "must be a whole number of bytes, such as 4000000000.")
        return int(wanted)
    free = [psutil.virtual_memory().available]
    for group in control_groups("memory", root):
        for limit, used, cache in LIMITS:
            try:
                left = int((group / limit).read_text()) - int((group / used).read_text())
            except (OSError, ValueError):  # no such group, or the limit is the word "max"
                continue
            free.append(left + (_number_after(cache, group / "memory.stat") or 0))
    return int(max(min(free), 0) * (1 - SPARE_SHARE))


def limit_memory(allowance: int) -> None:
    """Make allocations fail once this process has added this many bytes, before the machine starts to swap.

    A framework then reports that memory ran out, as it does on a GPU, and the run is a row.
    """
    if (data := _status_bytes("VmData")) is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = data + allowance
        resource.setrlimit(
            resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


class PeakMemory:
    """The most resident memory that this process adds after this object was made."""

    def __init__(self) -> None:
        self._before = _status_bytes("VmRSS")
        try:
            Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
        except OSError:
            self._before = None

    def bytes(self) -> int | None:
        """Return the bytes added at the peak; None where the kernel does not tell."""
        peak = _status_bytes("VmHWM")
        return None if peak is None or self._before is None else max(peak - self._before, 0)


def oom_kills(root: Path = FILE_SYSTEM) -> int | None:
    """Return how many processes the kernel has killed so far because memory ran out: in this container or job, or here.

    The machine's own count has those of its other containers, too, so it counts only where there is no other.
    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files (memory.events: oom_kill)
    """
    names = ("memory.events", "memory.oom_control")  # version 2, and 1
    files = [group / name for group in control_groups("memory", root) for name in names]
    counts = (_number_after("oom_kill", file) for file in (*files, root / "proc/vmstat"))
    return next((count for count in counts if count is not None), None)


class Shortage(StrEnum):
    """Whose memory ran out; the value ends a sentence about what the kernel has killed."""

    OF_MACHINE = "the machine ran out of memory"
    OF_GROUP = "the memory limit of this container or job was reached"


class KernelKills:
    """What the kernel has killed for want of memory after this object was made."""

    def __init__(self, root: Path = FILE_SYSTEM) -> None:
        self._root = root
        self._kills, self._reached = oom_kills(root), _limits_reached(root)

    @property
    def shortage(self) -> Shortage | None:
        """Whose memory ran out so that the kernel killed a process; None where it has killed none, as far as known."""
        kills = oom_kills(self._root)
        if self._kills is None or kills is None or kills <= self._kills:
            return None
        return Shortage.OF_GROUP if _limits_reached(self._root) > self._reached else Shortage.OF_MACHINE


def _limits_reached(root: Path) -> int:
    """Return how often limits of this container or job have left no memory.

    In version 1 also where the group's file cache then made room: but at its limit it was.
    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files (memory.events: oom)
    """
    groups = control_groups("memory", root)
    reached = sum(_number_after("oom", group / "memory.events") or 0 for group in groups)  # version 2
    for group in groups:
        with contextlib.suppress(OSError, ValueError):
            reached += int((group / "memory.failcnt").read_text())  # version 1
    return reached


def _status_bytes(field: str) -> int | None:
    kibibytes = _number_after(f"{field}:", Path("/proc/self/status"))
    return None if kibibytes is None else kibibytes * 1024


def _number_after(name: str, path: Path) -> int | None:
    """Return the number in the line of a kernel's file that begins with a name; None where there is none."""
    try:
        for line in path.read_text().splitlines():
            if line.split(maxsplit=1)[:1] == [name]:
                return int(line.split()[1])
    except OSError:
        pass
    return None
