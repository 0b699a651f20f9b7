"""What it costs to sample all sensors once, in time of a CPU core. Knows no framework."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from trainspeed.sensors.host import HostSensors
from trainspeed.sensors.nvml import open_nvml
from trainspeed.sensors.processes import usable_cores
from trainspeed.worker.probes import Surroundings, Values

INTERVAL_S = 0.5  # between two samples, as the notebooks have it
SAMPLES = 20


def measure_monitor(where: Surroundings, clock: Callable[[], float] = time.thread_time) -> Values:
    """Return the CPU seconds of this thread for each sample of all sensors, `sample_cpu_s`, and their `interval_s`.

    The sensors are those that the monitor reads beside a report: of the host, of all GPUs, and without one of every
    core.

    Args:
        clock: Seconds of CPU time.
    """
    host = HostSensors(usable_cores() if where.device == "cpu" else ())
    seconds = []
    with closing(open_nvml()) as nvml:
        pcie = nvml.reads_pcie(INTERVAL_S)
        for _ in range(SAMPLES):
            before_s = clock()
            host.samples()
            for gpu in nvml.gpus:
                gpu.sample(pcie=pcie)
            seconds.append(clock() - before_s)
    return {"interval_s": INTERVAL_S, "sample_cpu_s": tuple(seconds)}


PROBES = {"monitor": measure_monitor}
