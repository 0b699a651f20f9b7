"""What drivers of other versions, and GPUs of other kinds, tell by another question or not at all."""

import pytest

from fake_nvml import NO_PERMISSION, NOT_SUPPORTED, FakeGpu, FakeNvml, install
from trainspeed.sensors.nvml import open_nvml


def test_an_older_driver_tells_the_memory_by_the_older_question(monkeypatch):
    """The older answer counts what the driver reserves as used."""
    install(monkeypatch, FakeNvml(FakeGpu(), without=("nvmlDeviceGetMemoryInfo_v2",)))

    gpu = open_nvml().gpus[0]

    assert gpu.memory_total_bytes == 80_000
    assert gpu.sample().memory_used_bytes == 1_500


def test_a_gpu_that_shares_the_hosts_memory_has_none_of_its_own_and_says_so(monkeypatch):
    none = dict.fromkeys(("nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"), NOT_SUPPORTED)
    install(monkeypatch, FakeNvml(FakeGpu(**none)))

    sample = open_nvml().gpus[0].sample()

    assert (sample.memory_total_bytes, sample.memory_used_bytes) == (None, None)
    assert (
        sample.reasons["memory_total_bytes"]
        == sample.reasons["memory_used_bytes"]
        == "not supported by this GPU"
    )


@pytest.mark.parametrize("sensor", ["MemoryInfo_v2", "CurrentClocksEventReasons"])
def test_what_fails_for_another_reason_is_not_asked_by_its_older_name(monkeypatch, sensor):
    name = {"MemoryInfo_v2": "memory_used_bytes", "CurrentClocksEventReasons": "throttle_reasons"}[sensor]
    gpu = FakeGpu(**{f"nvmlDeviceGet{sensor}": NO_PERMISSION}, nvmlDeviceGetCurrentClocksThrottleReasons=0x4)
    install(monkeypatch, FakeNvml(gpu))

    sample = open_nvml().gpus[0].sample()

    assert getattr(sample, name) is None and sample.reasons[name] == "no permission to read it"


def test_an_older_driver_tells_throttling_by_the_older_name(monkeypatch):
    gpu = FakeGpu(nvmlDeviceGetCurrentClocksThrottleReasons=0x4)
    install(monkeypatch, FakeNvml(gpu, without=("nvmlDeviceGetCurrentClocksEventReasons",)))

    assert open_nvml().gpus[0].sample().throttle_reasons == "sw_power_cap"
