"""What a run's work cost the devices, and who else used them and the CPU, over the spans that are measured."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import fmean

from trainspeed.core.notes import AnyNote, CoresBusy, CpuThrottled, CpuTimeStolen, GpuShared, GpuSlowedDown
from trainspeed.core.result import DISTURBED_CORES
from trainspeed.sensors.cpu import (
    HostLoad,
    foreign_cores,
    host_load,
    last_cores,
    others_cores,
    stolen_share,
    throttled_share,
)
from trainspeed.sensors.cpu_limit import core_quota
from trainspeed.sensors.gpus import BUSY_PERCENT
from trainspeed.sensors.nvml import Nvml, open_nvml
from trainspeed.sensors.processes import descends_from
from trainspeed.worker.waiting_gpu import WaitingGpu

STOLEN_SHARE = 0.02  # of the CPU's time taken by the hypervisor: the margin of a verdict
# Of the periods of a limit of CPU time: now and then a thread that wakes up late goes beyond it.
THROTTLED_SHARE = 0.05
# A GPU's energy counter was seen to move every 10 to 100 ms: a reading may be late by one step, so that a span
# begins with up to a step of what came before it. Over a shorter span that is no longer small.
# Source: https://github.com/gpuopenanalytics/pynvml/pull/18 (10 ms), https://arxiv.org/abs/2312.02741 (up to 100 ms)
MIN_SPAN_S = 0.5
MIN_METERED_S = 1.0  # of all spans together
# Reasons that are faults of the cooling or the supply. A power limit (sw_power_cap) is how a GPU is meant to work:
# it is looked at where two arms are compared.
FAULTS = ("sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
ANY_FAULT_OF_HARDWARE = (
    "hw_slowdown"  # stands beside the others, or alone where the hardware does not say why
)


class Meter:
    """Measures over the spans between `begin` and `end`. Opens NVML once; close it when done.

    Args:
        gpu_uuids: The GPUs in use.
        runner_pid: Process that everything of this report descends from; None where that is not known.
        block_cores: See `Request`.

    Attributes:
        sm_clock_mhz: Mean clock of the GPUs in use at the end of the last span; None where it cannot be read.
        throttle_reasons: What held their clocks down then, such as "hw_slowdown|sw_power_cap"; empty where nothing
            did, None where one of them does not tell.
        others_cores: Cores that other processes and the hypervisor had in the last span, on average, of those of the
            run's block; None where that cannot be told.
        waiting: What the run uses of the GPUs in waits.
    """

    def __init__(
        self, gpu_uuids: tuple[str, ...], runner_pid: int | None = None, block_cores: int | None = None
    ) -> None:
        self._gpu_uuids, self._runner_pid = gpu_uuids, runner_pid
        self._nvml: Nvml | None = None
        self._among = last_cores(block_cores) if block_cores else ()
        self._begun: tuple[HostLoad, float, float | None] | None = None
        self._spans: list[tuple[HostLoad, HostLoad]] = []
        self._energy: list[
            tuple[float, float | None]
        ] = []  # seconds and joules of the spans that are long enough
        self._loads: list[float] = []
        self._looks: Counter[int] = Counter()
        self._faults: Counter[tuple[int, str]] = Counter()
        self._seen_us: dict[int, int] = {}
        self._shared_percent: dict[int, float] = {}
        self.sm_clock_mhz: float | None = None
        self.throttle_reasons: str | None = None
        self.others_cores: float | None = None
        self.waiting = WaitingGpu(gpu_uuids)

    def begin(self) -> None:
        """Begin a span."""
        self._open()
        self._foreign_loads()  # those of the time before
        load = host_load()
        self._begun = load, time.monotonic(), self._nvml.energy_j(self._gpu_uuids)

    def end(self) -> None:
        """End the span that was begun last, if one was."""
        if self._begun is None:
            return
        load, begun_s, before_j = self._begun
        self._begun = None
        after_j, seconds = self._nvml.energy_j(self._gpu_uuids), time.monotonic() - begun_s
        if seconds >= MIN_SPAN_S:
            known = before_j is not None and after_j is not None and after_j >= before_j  # else it began anew
            self._energy.append((seconds, after_j - before_j if known else None))
        self.sm_clock_mhz = self._nvml.sm_clock_mhz(self._gpu_uuids)
        self.look(loaded=seconds >= MIN_SPAN_S)
        for gpu, percent in self._foreign_loads().items():
            self._shared_percent[gpu] = max(percent, self._shared_percent.get(gpu, 0.0))
        after = host_load()
        self._spans.append((load, after))
        self.others_cores = others_cores(load, after, self._among)

    def rest(self) -> None:
        """Call when a wait begins and nothing is left to do."""
        self.waiting.begin()

    def waited(self) -> None:
        """Call when the wait has ended and nothing is done yet."""
        self.waiting.end(self._open())

    def look(self, *, loaded: bool = True) -> None:
        """Look at the load, and what holds the clocks down: while the work is just done, for about a millisecond.

        Args:
            loaded: Whether the work took as long as the driver's sample period, of which the load is.
        """
        if not self._gpu_uuids or self._nvml is None:
            return
        loads = self._nvml.by_gpu("load_percent", self._gpu_uuids) if loaded else {}
        self._loads += [percent for percent in loads.values() if percent is not None]
        reasons = self._nvml.by_gpu("throttle_reasons", self._gpu_uuids)
        for gpu, text in reasons.items():
            if text is not None:
                self._looks[gpu.index] += 1
                self._faults.update((gpu.index, fault) for fault in _faults(text.split("|")))
        if len(reasons) < len(self._gpu_uuids) or None in reasons.values():
            self.throttle_reasons = None
        else:
            self.throttle_reasons = "|".join(sorted({*"|".join(reasons.values()).split("|")} - {""}))

    def close(self) -> None:
        """Close NVML; what was measured stays."""
        if self._nvml is not None:
            self._nvml.close()
            self._nvml = None

    @property
    def metered_s(self) -> float | None:
        """Seconds that `energy_j` was counted over; None where that is not known."""
        seconds = sum(seconds for seconds, _ in self._energy)
        unknown = not self._gpu_uuids or any(joules is None for _, joules in self._energy)
        return None if unknown or seconds < MIN_METERED_S else seconds

    @property
    def energy_j(self) -> float | None:
        """Joules that the devices in use consumed over the spans that are long enough to tell, by their counters.

        None where one of them has no counter, or where these spans are shorter than `MIN_METERED_S` together.
        """
        return None if self.metered_s is None else sum(joules for _, joules in self._energy)

    @property
    def gpu_load_percent(self) -> float | None:
        """Mean load of the GPUs in use at the ends of the spans, and at other looks; None where they do not tell."""
        return fmean(self._loads) if self._loads else None

    def notes(self) -> list[AnyNote]:
        """Return what makes the spans doubtful: others on the CPU or a GPU, a limit, GPUs that slowed down."""
        notes: list[AnyNote] = []
        if (others := self._average(foreign_cores)) is not None and others > DISTURBED_CORES:
            notes.append(CoresBusy(cores=others))
        if (stolen := self._average(stolen_share)) is not None and stolen > STOLEN_SHARE:
            notes.append(CpuTimeStolen(share=stolen))
        throttled = self._average(throttled_share)
        if throttled is not None and throttled > THROTTLED_SHARE and (quota := core_quota()) is not None:
            notes.append(CpuThrottled(share=throttled, cores=quota))
        for (gpu, fault), count in sorted(self._faults.items()):
            notes.append(GpuSlowedDown(gpu=gpu, reason=fault, share=count / self._looks[gpu]))
        for gpu, percent in sorted(self._shared_percent.items()):
            notes.append(GpuShared(gpu=gpu, load_percent=percent))
        return notes

    def _open(self) -> Nvml:
        if self._nvml is None:
            self._nvml = open_nvml() if self._gpu_uuids else Nvml()
        return self._nvml

    def _average(self, value: Callable[[HostLoad, HostLoad], float | None]) -> float | None:
        known = [
            (found, after.monotonic_s - before.monotonic_s)
            for before, after in self._spans
            if (found := value(before, after)) is not None
        ]
        seconds = sum(span_s for _, span_s in known)
        return sum(found * span_s for found, span_s in known) / seconds if known else None

    def _foreign_loads(self) -> dict[int, float]:
        """Return GPU -> the load by processes that are not this report's since the last call, where it is noticeable.

        Whoever the driver names is only believed where it names a process of this report too: in a container its
        numbers of processes may be the host's.
        """
        foreign: dict[int, float] = {}
        for gpu in self._nvml.gpus:
            if gpu.uuid not in self._gpu_uuids or gpu.lost:
                continue
            loads, error = self._nvml.process_loads(gpu, self._seen_us.get(gpu.index, 0))
            self._seen_us[gpu.index] = max([self._seen_us.get(gpu.index, 0), *(load.at_us for load in loads)])
            self.waiting.hear(gpu.uuid, loads, error)
            if self._runner_pid is None:
                continue
            ours = {load.pid: descends_from(load.pid, self._runner_pid) for load in loads}
            others = [one.percent for one in loads if ours[one.pid] is False]
            if others and True in ours.values() and (mean := fmean(others)) > BUSY_PERCENT:
                foreign[gpu.index] = mean
        return foreign


def _faults(reasons: Sequence[str]) -> list[str]:
    known = [fault for fault in FAULTS if fault in reasons]
    unexplained = not any(fault.startswith("hw_") for fault in known)
    return [*known, ANY_FAULT_OF_HARDWARE] if unexplained and ANY_FAULT_OF_HARDWARE in reasons else known
