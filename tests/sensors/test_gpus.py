"""Which GPUs a worker may see, under which names, and who else uses one, on a made-up driver."""

import pytest

from fake_nvml import LOST, NOT_SUPPORTED, FakeGpu, FakeNvml, install, install_none
from trainspeed.core.notes import GpuBusy, GpuMemoryHeld
from trainspeed.sensors.gpus import choose_gpus, gpus_in_use, hashed
from trainspeed.sensors.nvml import Gpu

GPUS = [Gpu(index=index, uuid=uuid) for index, uuid in enumerate(["GPU-aaaa-1", "GPU-aabb-2", "GPU-cccc-3"])]
A, B, C = (gpu.uuid for gpu in GPUS)


@pytest.mark.parametrize(
    ("text", "visible"),
    [
        (None, [A, B, C]),
        ("", []),
        ("2,0", [C, A]),
        (" 1 , 2 ", [B, C]),
        ("0,2,-1,1", [A, C]),
        ("0,7,1", [A]),
        ("NoDevFiles", []),
        ("-1", []),
        ("0,0", []),
        ("GPU-cccc-3,GPU-aaaa-1", [C, A]),
        ("GPU-aab,GPU-c", [B, C]),
        ("GPU-c,GPU-aa,GPU-aab", [C]),  # GPU-aa might be either of two
        ("GPU-c,GPU-cccc", []),  # the same one twice
        ("GPU-c,0", [C]),
        ("0,GPU-c", [A]),
        ("MIG-1234,MIG-5678", ["MIG-1234"]),
        ("MIG-1234,0", ["MIG-1234"]),
        ("1gpu,2", [B, C]),
    ],
)
def test_reads_cuda_visible_devices_as_cuda_does(text, visible):
    assert list(choose_gpus(GPUS, text).uuids) == visible


def test_a_hashed_uuid_is_twelve_hex_digits_of_its_sha256():
    assert hashed("GPU-aaaa-1") == "c3045f930569"


# Who else uses a GPU before a run begins.

UUIDS = ("GPU-aaaa", "GPU-bbbb")


def memory(held_bytes):
    return {"total": int(80e9), "reserved": 0, "used": int(held_bytes), "free": 0}


def gpu(uuid, *loads, held_bytes=(0,)):
    """Return a GPU that answers these loads in turn, the last for ever; and so the bytes that are held."""
    return FakeGpu(
        uuid=uuid,
        nvmlDeviceGetUtilizationRates=[{"gpu": load, "memory": 0} for load in loads],
        nvmlDeviceGetMemoryInfo_v2=[memory(held) for held in held_bytes],
    )


@pytest.fixture
def waits():
    return []


def notes(monkeypatch, waits, *gpus, uuids=UUIDS):
    fake = install(monkeypatch, FakeNvml(*gpus))
    found = gpus_in_use(uuids, wait=waits.append)
    assert not fake.is_open
    return found


def test_idle_gpus_are_clean_at_once(monkeypatch, waits):
    assert notes(monkeypatch, waits, gpu("GPU-aaaa", 0), gpu("GPU-bbbb", 5)) == []
    assert waits == []


def test_a_gpu_that_stays_busy_is_noted_with_its_load(monkeypatch, waits):
    found = notes(monkeypatch, waits, gpu("GPU-aaaa", 0), gpu("GPU-bbbb", 90, 37))

    assert found == [GpuBusy(gpu=1, load_percent=37)]
    assert sum(waits) == 3.0


def test_the_run_before_still_shows_in_the_load_and_is_no_stranger(monkeypatch, waits):
    assert notes(monkeypatch, waits, gpu("GPU-aaaa", 98, 0), gpu("GPU-bbbb", 96, 50, 20, 3)) == []
    assert waits == [0.25] * 3, "until the last of them was idle, and no longer"


def test_a_gpu_that_was_seen_idle_once_is_not_asked_again(monkeypatch, waits):
    """A screen that is drawn anew now and then is no training."""
    assert notes(monkeypatch, waits, gpu("GPU-aaaa", 8, 0, 8), gpu("GPU-bbbb", 90, 90, 0)) == []


def test_memory_held_on_an_idle_gpu_lowers_what_fits(monkeypatch, waits):
    found = notes(
        monkeypatch, waits, gpu("GPU-aaaa", 0, held_bytes=[12.34e9]), gpu("GPU-bbbb", 0, held_bytes=[0.9e9])
    )

    assert found == [GpuMemoryHeld(gpu=0, held_bytes=12.34e9)]
    assert sum(waits) == 1.0, "it is waited for no longer once it stays"


def test_memory_that_the_driver_frees_late_was_the_run_before(monkeypatch, waits):
    found = notes(monkeypatch, waits, gpu("GPU-aaaa", 0, held_bytes=[60e9] * 4 + [30e9, 0.5e9]))

    assert found == []
    assert waits == [0.25] * 4


def test_memory_that_grows_is_a_strangers(monkeypatch, waits):
    growing = [2e9 + step * 1e8 for step in range(40)]
    (found,) = notes(monkeypatch, waits, gpu("GPU-aaaa", 0, held_bytes=growing))

    assert found.held_bytes > 2e9
    assert sum(waits) == 3.0


def test_every_gpu_has_one_note(monkeypatch, waits):
    found = notes(monkeypatch, waits, gpu("GPU-aaaa", 50, held_bytes=[40e9]), gpu("GPU-bbbb", 60))

    assert found == [GpuBusy(gpu=0, load_percent=50), GpuBusy(gpu=1, load_percent=60)]


def test_a_gpu_that_is_left_out_may_be_busy(monkeypatch, waits):
    found = notes(monkeypatch, waits, gpu("GPU-aaaa", 99), gpu("GPU-bbbb", 0), uuids=("GPU-bbbb", "MIG-cccc"))

    assert (found, waits) == ([], [])


@pytest.mark.parametrize("answer", [NOT_SUPPORTED, LOST])
def test_what_cannot_be_read_is_not_suspected(answer, monkeypatch, waits):
    silent = FakeGpu(uuid="GPU-aaaa", nvmlDeviceGetUtilizationRates=answer, nvmlDeviceGetMemoryInfo_v2=answer)

    assert notes(monkeypatch, waits, silent) == []


def test_a_machine_without_a_driver_has_no_strangers(monkeypatch, waits):
    install_none(monkeypatch)

    assert gpus_in_use(UUIDS, wait=waits.append) == []
