"""How much of its GPUs a run uses while it waits, by the driver's samples of each process.

The driver keeps samples of some 12 s, and answers for each process with the mean of those after a moment. It leaves
out a process that did nothing: that is 0 only where the driver is known to name this run by its numbers, and named
somebody in the wait. Knows no turns: it is told when a wait begins and ends.
Source: nvml.h, nvmlDeviceGetProcessUtilization; https://github.com/NVIDIA/open-gpu-kernel-modules, gpu_acct.c
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from statistics import fmean

from trainspeed.sensors.nvml import Gpu, Nvml
from trainspeed.sensors.processes import descends_from
from trainspeed.sensors.sample import ProcessLoad

# Of the time before it a sample tells 1/6 to 1 s, by the GPU: in the first second of a wait it may tell of a turn.
# Source: nvml.h, nvmlUtilization_t
PERIOD_US = 1_000_000
MIN_SEEN_S = 1.0  # of all waits, without their first seconds: several samples
# Drivers stamp samples by the first of these clocks or by the second: by that which is near the newest one's time.
CLOCKS = (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC)
NEWEST_US, AHEAD_US = 30_000_000, 1_000_000
STEP_US = 100_000  # by which the clocks may differ over a wait; if it is more, somebody has set one
TOO_SHORT = "it waited for too short a time"
NO_SAMPLES = "the driver gave no samples"
OTHER_CLOCK = "the driver's samples have times of an unknown clock"
OTHER_NUMBERS = "the driver does not name this process: in a container it may know others' numbers"
NOT_WHOLE = "the driver does not tell it of what is no whole GPU"


class WaitingGpu:
    """What this process and its children use of the GPUs from `begin` to `end`, over all waits.

    Args:
        gpu_uuids: The GPUs in use.
    """

    def __init__(self, gpu_uuids: Sequence[str]) -> None:
        self._gpu_uuids = gpu_uuids
        self._begun_us: tuple[int, ...] | None = None
        self._waited, self._asked_s = False, 0.0
        self._clock: int | None = None
        self._sampled: set[str] = set()
        self._named: set[str] = set()
        self._errors: dict[str, str] = {}
        self._seen: dict[str, list[tuple[float, float]]] = {}  # seconds and percent of each wait, by GPU

    def hear(self, uuid: str, loads: Sequence[ProcessLoad], error: str | None) -> None:
        """Learn from what the driver says of a GPU, in a turn or a wait: whether it names this run, by which clock."""
        if error:
            self._errors[uuid] = error
        if loads:
            self._sampled.add(uuid)
        if any(_is_own(pid) for pid in {load.pid for load in loads}):
            self._named.add(uuid)
        for clock, now_us in enumerate(_now_us()):
            if any(now_us - NEWEST_US <= load.at_us <= now_us + AHEAD_US for load in loads):
                self._clock = clock

    def begin(self) -> None:
        """Begin a wait: what was queued on the GPUs is done."""
        self._begun_us = _now_us()

    def end(self, nvml: Nvml | None) -> None:
        """End the wait that was begun last, if one was; nothing else is queued yet."""
        begun_us, self._begun_us = self._begun_us, None
        if begun_us is None or nvml is None:
            return
        self._waited, ended_us = True, _now_us()
        shown_us, waited_us = (after - before for before, after in zip(begun_us, ended_us, strict=True))
        asked_us = waited_us - PERIOD_US
        gpus = self._listed(nvml)
        if self._clock is None:  # in the first wait; the driver has samples of what came before it, too
            for uuid, gpu in gpus.items():
                self.hear(uuid, *nvml.process_loads(gpu, 0))
        if self._clock is None or abs(shown_us - waited_us) > STEP_US or asked_us <= 0:
            return
        self._asked_s += asked_us / 1e6
        since_us, until_us = begun_us[self._clock] + PERIOD_US, ended_us[self._clock]
        for uuid, gpu in gpus.items():
            loads, error = nvml.process_loads(gpu, since_us)
            inside = [load for load in loads if since_us < load.at_us <= until_us]
            self.hear(uuid, inside, error)
            if inside:
                self._seen.setdefault(uuid, []).append((asked_us / 1e6, _own_percent(inside)))

    @property
    def share(self) -> float | None:
        """Share of the time, 0 to 1, in which it used the GPU that it used most; None where one does not tell."""
        if not self._waited or not self._gpu_uuids or self.unknown:
            return None
        return max(
            sum(seconds * percent for seconds, percent in waits) / sum(seconds for seconds, _ in waits) / 100
            for waits in self._seen.values()
        )

    @property
    def unknown(self) -> str | None:
        """Why `share` is not known; None where it is, and where there was nothing to know: no GPU, or no wait."""
        reasons = [self._why_not(uuid) for uuid in self._gpu_uuids] if self._waited else []
        return next(filter(None, reasons), None)

    def _listed(self, nvml: Nvml) -> dict[str, Gpu]:
        listed = {gpu.uuid: gpu for gpu in nvml.gpus if gpu.uuid in self._gpu_uuids}
        missing = nvml.reason or NOT_WHOLE
        self._errors |= {uuid: missing for uuid in self._gpu_uuids if uuid not in listed}
        return listed

    def _why_not(self, uuid: str) -> str | None:
        if sum(seconds for seconds, _ in self._seen.get(uuid, ())) >= MIN_SEEN_S:
            return None if uuid in self._named else OTHER_NUMBERS
        if uuid in self._errors:
            return self._errors[uuid]
        if uuid not in self._sampled:
            return NO_SAMPLES
        if self._clock is None:
            return OTHER_CLOCK
        return TOO_SHORT if self._asked_s < MIN_SEEN_S else NO_SAMPLES


def _own_percent(loads: Sequence[ProcessLoad]) -> float:
    """Return the load by this process and its children: the sum over them of each one's mean."""
    by_pid: dict[int, list[int]] = {}
    for load in loads:
        by_pid.setdefault(load.pid, []).append(load.percent)
    return min(100.0, sum(fmean(percents) for pid, percents in by_pid.items() if _is_own(pid)))


def _is_own(pid: int) -> bool:
    return descends_from(pid, os.getpid()) is True


def _now_us() -> tuple[int, ...]:
    return tuple(time.clock_gettime_ns(clock) // 1000 for clock in CLOCKS)
