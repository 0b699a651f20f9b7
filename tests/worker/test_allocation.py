"""How much of a GPU a framework takes by default, by a fake driver."""

from __future__ import annotations

import fake_nvml
from fake_nvml import NOT_SUPPORTED, FakeGpu, FakeNvml
from trainspeed.core.result import GpuMemory
from trainspeed.worker.allocation import Allocation

TOTAL = 80_000
UUIDS = ("GPU-a", "GPU-b")


def in_use(*used):
    """What the driver answers, one reading after the other; the size of the memory is asked for whenever it opens."""
    return [{"total": TOTAL, "used": used_bytes} for used_bytes in used for _ in range(2)]


def gpus(monkeypatch, a, b):
    fakes = (
        FakeGpu(uuid=uuid, nvmlDeviceGetMemoryInfo_v2=answers, nvmlDeviceGetMemoryInfo=NOT_SUPPORTED)
        for uuid, answers in zip(UUIDS, (a, b), strict=True)
    )
    return fake_nvml.install(monkeypatch, FakeNvml(*fakes))


def test_what_was_in_use_before_the_run_is_not_its_own(monkeypatch):
    gpus(monkeypatch, in_use(8_000, 68_000), in_use(0, 0))
    taken = Allocation(UUIDS[:1]).taken()

    assert taken == GpuMemory(before_bytes=8_000, taken_bytes=60_000, total_bytes=TOTAL)


def test_of_several_gpus_the_one_that_most_was_taken_of_counts(monkeypatch):
    gpus(monkeypatch, in_use(70_000, 71_000), in_use(0, 2_000))
    assert Allocation(UUIDS).taken().taken_bytes == 2_000


def test_of_a_mig_instance_its_own_slice_counts(monkeypatch):
    slice_bytes = 10_000
    readings = [{"total": slice_bytes, "used": used} for used in (0, 0, 4_000, 4_000)]
    instance = FakeGpu(uuid="MIG-1", nvmlDeviceGetMemoryInfo_v2=readings)
    fake_nvml.install(monkeypatch, FakeNvml(FakeGpu(uuid="GPU-a", mig=[instance])))

    assert Allocation(("MIG-1",)).taken() == GpuMemory(
        before_bytes=0, taken_bytes=4_000, total_bytes=slice_bytes
    )


def test_what_the_driver_does_not_tell_is_not_known(monkeypatch):
    gpus(monkeypatch, NOT_SUPPORTED, in_use(0))
    assert Allocation(UUIDS[:1]).taken() is None
    assert Allocation(()).taken() is None


def test_nvml_is_closed_between_the_readings(monkeypatch):
    """The framework starts meanwhile, and another process may want the driver to itself."""
    library = gpus(monkeypatch, in_use(0), in_use(0))
    Allocation(UUIDS).taken()

    assert library.times_opened == library.times_closed == 2
