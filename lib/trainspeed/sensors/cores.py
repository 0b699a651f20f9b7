"""The load of single CPU cores: on a machine without a GPU, a core is a device.

Does not know which cores matter (`trainspeed.sensors.processes.device_cores`) nor who keeps them busy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainspeed.sensors.host import MIN_WINDOW_S, STAT, CpuSeconds, load_percent, read_cpu_line


@dataclass(frozen=True, kw_only=True)
class CoreSample:
    """What one core said at one moment.

    Attributes:
        load_percent: Share of time since the sample before in which it was busy, 0 to 100. None, without
            a reason, when too little time passed.
        reasons: Name of the missing value -> why.
    """

    load_percent: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)


class CoreSensors:
    """Reads some cores again and again; remembers the last reading, because load is a difference."""

    def __init__(
        self,
        cores: Sequence[int] = (),
        *,
        stat: Path = STAT,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cores = tuple(cores)
        self._stat = stat
        self._clock = clock
        self._last_s, self._last = clock(), core_seconds(stat)

    def sample(self) -> dict[int, CoreSample]:
        """Return what each core says now, by its number, in the order they were asked for."""
        if not self._cores:
            return {}
        now_s, now = self._clock(), core_seconds(self._stat)
        before, ripe = self._last, now_s - self._last_s >= MIN_WINDOW_S
        if ripe:
            self._last_s, self._last = now_s, now
        samples = {}
        for core in self._cores:
            if reason := _missing(core, now):
                samples[core] = CoreSample(reasons={"load_percent": reason})
            else:
                load = load_percent((before or {}).get(core), now[core]) if ripe else None
                samples[core] = CoreSample(load_percent=load)
        return samples


def core_seconds(stat: Path = STAT) -> dict[int, CpuSeconds] | None:
    """Return core -> (busy, stolen, total) CPU seconds since boot; None where /proc/stat is absent."""
    try:
        lines = stat.read_text().splitlines()
    except OSError:
        return None
    found = [read_cpu_line(line) for line in lines if line.startswith("cpu")]
    labelled = [(label.removeprefix("cpu"), seconds) for label, seconds in filter(None, found)]
    return {int(number): seconds for number, seconds in labelled if number.isdecimal()}


def _missing(core: int, now: dict[int, CpuSeconds] | None) -> str | None:
    if now is None:
        return "no /proc/stat on this system"
    return None if core in now else "/proc/stat does not list this core"
