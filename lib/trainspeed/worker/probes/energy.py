"""A GPU's energy counter beside its power, and whose load is seen where, while matrices are multiplied.

Knows no framework.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from trainspeed.sensors.nvml import Nvml, open_nvml
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.probes import Surroundings, Values

SIDE = 4096  # of the square matrices, in 32 bits: a product takes 0.3 ms (TF32, an H100) to 30 ms
# Seconds of products that are waited for at once: after each of 0.3 ms, an H100 waited longer for the host.
QUEUED_S, MOST_QUEUED = 0.01, 32
LEAST_PRODUCT_S = 1e-6  # a clock may show less
# The power that the driver tells is a mean over up to a second: what came before must be as busy as what is measured.
# Source: https://docs.nvidia.com/deploy/nvml-api/group__nvmlDeviceQueries.html (nvmlDeviceGetPowerUsage)
WARM_UP_S = 1.5
SPAN_S = 5.0
SAMPLE_S = 0.02


def check_gpu(where: Surroundings) -> None:
    """Raise Unsupported where there is no GPU to measure."""
    if where.device != "gpu" or not where.gpu_uuids:
        raise Unsupported("there is no GPU here")


def measure_energy(
    where: Surroundings,
    multiply: Callable[[int], object],
    own_uuid: str | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
    driver: Callable[[], Nvml] = open_nvml,
) -> Values:
    """Return what the driver tells of the first GPU while it multiplies, and of the other ones.

    Values: at each of the moments `sample_s`, in seconds, `power_w` and the counter's `energy_j`; None where one of
    them cannot be read. `load_before_percent` and `load_during_percent` of this GPU, and of each of the others whose
    load is known, `other_loads_before_percent` and `other_loads_during_percent`. `same_uuid` is whether the
    framework computes on the GPU that the driver is asked about; None where the framework does not tell.

    Args:
        multiply: Multiplies two matrices of `SIDE` on the framework's first device, so many times, and waits for all.
        own_uuid: UUID of that device, as the framework tells it.
        clock: Seconds since a fixed moment.
    """
    uuid = where.gpu_uuids[0]
    if uuid.startswith("MIG-"):
        own_uuid = None  # the framework may tell that of the whole GPU

    def work(seconds: float) -> None:
        end_s = clock() + seconds
        while clock() < end_s:
            multiply(products)

    with closing(driver()) as nvml:
        every = [gpu.uuid for gpu in nvml.gpus if gpu.uuid and not gpu.lost]
        before = _loads(nvml, every)
        multiply(1)  # loads what it needs
        begun_s = clock()
        multiply(1)
        products = max(1, min(MOST_QUEUED, round(QUEUED_S / max(clock() - begun_s, LEAST_PRODUCT_S))))
        work(WARM_UP_S)
        samples = []
        end_s = clock() + SPAN_S
        while clock() < end_s:
            power, energy = (_one(nvml, sensor, uuid) for sensor in ("power_w", "energy_j"))
            samples.append((clock(), power, energy))
            work(SAMPLE_S)
        during = _loads(nvml, every)
    complete = all(None not in sample for sample in samples)
    moments, powers, energies = zip(*samples, strict=True)
    others = [one for one in every if one != uuid and one in before and one in during]
    return {
        "sample_s": tuple(moment - moments[0] for moment in moments) if complete else None,
        "power_w": powers if complete else None,
        "energy_j": tuple(joules - energies[0] for joules in energies) if complete else None,
        "load_before_percent": before.get(uuid),
        "load_during_percent": during.get(uuid),
        "other_loads_before_percent": tuple(before[one] for one in others),
        "other_loads_during_percent": tuple(during[one] for one in others),
        "same_uuid": None if own_uuid is None else own_uuid == uuid,
    }


def _one(nvml: Nvml, sensor: str, uuid: str) -> float | None:
    return next(iter(nvml.by_gpu(sensor, (uuid,)).values()), None)


def _loads(nvml: Nvml, uuids: list[str]) -> dict[str, float]:
    """Return UUID -> load, 0 to 100, of those that tell it."""
    loads = nvml.by_gpu("load_percent", uuids)
    return {gpu.uuid: percent for gpu, percent in loads.items() if percent is not None}
