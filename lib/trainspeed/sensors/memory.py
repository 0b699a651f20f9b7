"""How much memory this process may take and has taken. Linux; None elsewhere. Knows no framework."""

from __future__ import annotations

import os
import resource
from collections.abc import Mapping
from pathlib import Path

import psutil

from trainspeed.core.errors import UserError

LIMIT_VARIABLE = "TRAINSPEED_MEMORY_BYTES"  # the reader's own limit for what one run may add
SPARE_SHARE = 0.05  # of the free memory, left to the machine so that it does not start to swap
CGROUP = Path("/sys/fs/cgroup")


def allowance_bytes(environment: Mapping[str, str] = os.environ, cgroup: Path = CGROUP) -> int:
    """Return how many bytes a run may add: what is free here, or in this container if that is less."""
    if wanted := environment.get(LIMIT_VARIABLE):
        if not wanted.isdecimal():
            raise UserError(LIMIT_VARIABLE, wanted, "must be a whole number of bytes, such as 4000000000.")
        return int(wanted)
    free = psutil.virtual_memory().available
    try:
        limit, used = (int((cgroup / name).read_text()) for name in ("memory.max", "memory.current"))
        free = min(free, limit - used + _file_cache_bytes(cgroup))
    except (OSError, ValueError):  # no cgroup v2, or the limit is the word "max"
        pass
    return int(max(free, 0) * (1 - SPARE_SHARE))


def _file_cache_bytes(cgroup: Path) -> int:
    """Memory that counts as used but is given up as soon as somebody needs it.

    Source: https://docs.kernel.org/admin-guide/cgroup-v2.html#memory-interface-files (inactive_file)
    """
    stat = cgroup / "memory.stat"
    for line in stat.read_text().splitlines() if stat.exists() else ():
        if line.startswith("inactive_file "):
            return int(line.split()[1])
    return 0


def limit_memory(allowance: int) -> None:
    """Make allocations fail once this process has added so many bytes, instead of the machine swapping.

    A framework then reports that memory ran out, as it does on a GPU, and the run is a row.
    """
    if (data := _status_bytes("VmData")) is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = data + allowance
        resource.setrlimit(
            resource.RLIMIT_DATA, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
        )


class PeakMemory:
    """Resident memory that this process adds, at most, from the moment this is made."""

    def __init__(self) -> None:
        self._before = _status_bytes("VmRSS")
        try:
            Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
        except OSError:
            self._before = None

    def bytes(self) -> int | None:
        """Bytes added at the peak; None where the kernel does not tell."""
        peak = _status_bytes("VmHWM")
        return None if peak is None or self._before is None else max(peak - self._before, 0)


def host_oom_kills() -> int | None:
    """Return how many processes this machine's kernel has killed for want of memory so far."""
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    except OSError:
        pass
    return None


def _status_bytes(field: str) -> int | None:
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
