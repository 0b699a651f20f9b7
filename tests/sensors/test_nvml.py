"""The real pynvml binding, above a driver that is made up (`fake_nvml`)."""

import os

import pynvml
import pytest

from fake_nvml import LOST, NOT_SUPPORTED, Code, FakeGpu, FakeNvml, install, install_none
from trainspeed.sensors.interconnect import first_link, interconnect
from trainspeed.sensors.nvml import PCIE_SKIPPED, SENSOR_READERS, open_nvml
from trainspeed.sensors.sample import Sample

CLOCK = ("nvmlDeviceGetClockInfo", pynvml.NVML_CLOCK_SM)


def two_gpus(monkeypatch, first=None, second=None, **options):
    gpus = (first or FakeGpu(), second or FakeGpu(uuid="GPU-bbbb-2"))
    return install(monkeypatch, FakeNvml(*gpus, **options))


def test_reads_every_sensor_in_the_unit_of_its_name(monkeypatch):
    """NVML says mW, mJ and kB/s; a sample says W, J and bytes per second."""
    install(monkeypatch, FakeNvml(FakeGpu()))

    sample = open_nvml().gpus[0].sample()

    assert sample == Sample(
        load_percent=42,
        memory_used_bytes=1_000,
        memory_total_bytes=80_000,
        power_w=123.456,
        energy_j=5000.5,
        temperature_c=55,
        sm_clock_mhz=1980,
        throttle_reasons="",
        pcie_rx_bytes_per_s=2_000_000,
        pcie_tx_bytes_per_s=1_000_000,
    )


def test_lists_the_gpus_with_their_properties(monkeypatch):
    two_gpus(monkeypatch)

    nvml = open_nvml()

    assert (nvml.driver, nvml.cuda, nvml.reason) == ("580.65.06", "13.0", None)
    assert [(gpu.index, gpu.uuid) for gpu in nvml.gpus] == [(0, "GPU-aaaa-1"), (1, "GPU-bbbb-2")]
    gpu = nvml.gpus[0]
    assert (gpu.name, gpu.compute_capability, gpu.power_limit_w) == ("NVIDIA Fake 1", "9.0", 700.0)
    assert (gpu.memory_total_bytes, gpu.pci_bus_id) == (80_000, "00000000:01:00.0")


def test_closing_lets_go_of_the_driver(monkeypatch):
    fake = two_gpus(monkeypatch)

    nvml = open_nvml()
    assert fake.is_open
    nvml.close()

    assert not fake.is_open


def test_a_machine_without_a_driver_has_no_gpus_and_a_reason(monkeypatch):
    install_none(monkeypatch)

    nvml = open_nvml()

    assert nvml.gpus == ()
    assert nvml.reason == "no NVIDIA driver library found"
    assert (nvml.driver, nvml.cuda, interconnect(nvml.gpus), nvml.energy_j(["GPU-aaaa-1"])) == (None,) * 4
    nvml.close()


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "the NVIDIA driver is not loaded"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "NVIDIA driver and library versions differ: reboot"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no permission to read it"),
        (12345, "NVML error 12345"),
    ],
)
def test_a_driver_that_cannot_be_opened_says_why_in_words(monkeypatch, code, reason):
    install(monkeypatch, FakeNvml(init=code))

    assert open_nvml().reason == reason


def test_a_driver_without_gpus_is_not_taken_for_a_missing_driver(monkeypatch):
    install(monkeypatch, FakeNvml())

    assert open_nvml().reason == "the NVIDIA driver sees no GPU"


def test_an_unsupported_sensor_is_none_with_the_reason_and_asked_once(monkeypatch):
    gpu = FakeGpu(nvmlDeviceGetTotalEnergyConsumption=NOT_SUPPORTED)
    install(monkeypatch, FakeNvml(gpu))
    nvml = open_nvml()

    first, second = nvml.gpus[0].sample(), nvml.gpus[0].sample()

    assert first == second
    assert first.energy_j is None
    assert first.reasons == {"energy_j": "not supported by this GPU"}
    assert first.power_w == 123.456
    assert gpu.calls["nvmlDeviceGetTotalEnergyConsumption"] == 1


def test_a_sensor_that_fails_for_a_moment_is_asked_again(monkeypatch):
    failing = Code(pynvml.NVML_ERROR_UNKNOWN)
    install(monkeypatch, FakeNvml(FakeGpu(nvmlDeviceGetPowerUsage=[failing, 90_000])))
    gpu = open_nvml().gpus[0]

    first, second = gpu.sample(), gpu.sample()

    assert (first.power_w, first.reasons) == (None, {"power_w": "unknown error of the NVIDIA driver"})
    assert (second.power_w, second.reasons) == (90.0, {})


def test_a_gpu_lost_midway_leaves_its_cells_empty_and_the_other_goes_on(monkeypatch):
    lost = FakeGpu()
    two_gpus(monkeypatch, first=lost)
    one, other = open_nvml().gpus
    assert one.sample().load_percent == 42

    lost.lost = True
    calls = sum(lost.calls.values())
    sample = one.sample()

    assert {getattr(sample, name) for name in SENSOR_READERS} == {None}
    assert sample.memory_total_bytes is None
    assert set(sample.reasons) == {*SENSOR_READERS, "memory_total_bytes"}
    assert set(sample.reasons.values()) == {"the GPU is lost: it does not answer any more; reboot"}
    assert sum(lost.calls.values()) == calls + 1, "a lost GPU is asked once more, not for every sensor"
    assert other.sample().load_percent == 42


def test_a_gpu_lost_in_the_middle_of_a_sample_gives_no_half_row(monkeypatch):
    install(monkeypatch, FakeNvml(FakeGpu(nvmlDeviceGetPowerUsage=LOST)))

    sample = open_nvml().gpus[0].sample()

    assert sample.load_percent is None
    assert "lost" in sample.reasons["load_percent"]


def test_a_gpu_lost_before_the_start_is_listed_with_the_reason(monkeypatch):
    lost = FakeGpu()
    lost.lost = True
    two_gpus(monkeypatch, first=lost)

    one, other = open_nvml().gpus

    assert (one.index, one.uuid, one.name) == (0, None, None)
    assert "lost" in one.lost
    assert "lost" in one.sample().reasons["power_w"]
    assert other.lost is None


def test_throttle_reasons_are_named_and_idling_is_none(monkeypatch):
    bits = [0x4 | 0x8, 0x1, 0x1 | 0x40]
    install(monkeypatch, FakeNvml(FakeGpu(nvmlDeviceGetCurrentClocksEventReasons=bits)))
    gpu = open_nvml().gpus[0]

    texts = [gpu.sample().throttle_reasons for _ in range(3)]

    assert texts == ["sw_power_cap|hw_slowdown", "", "hw_thermal_slowdown"]


def test_pcie_traffic_is_left_out_when_there_is_no_time_for_it(monkeypatch):
    gpu = FakeGpu()
    install(monkeypatch, FakeNvml(gpu))

    sample = open_nvml().gpus[0].sample(pcie=False)

    assert sample.pcie_rx_bytes_per_s is None
    assert sample.reasons == {"pcie_rx_bytes_per_s": PCIE_SKIPPED, "pcie_tx_bytes_per_s": PCIE_SKIPPED}
    assert gpu.calls["nvmlDeviceGetPcieThroughput"] == 0


def test_energy_is_summed_over_the_gpus_in_use(monkeypatch):
    two_gpus(monkeypatch, second=FakeGpu(uuid="GPU-bbbb-2", nvmlDeviceGetTotalEnergyConsumption=250))
    nvml = open_nvml()

    assert nvml.energy_j(["GPU-aaaa-1", "GPU-bbbb-2"]) == 5000.75
    assert nvml.energy_j(["GPU-bbbb-2"]) == 0.25


def test_energy_is_none_when_one_gpu_has_no_counter(monkeypatch):
    two_gpus(monkeypatch, second=FakeGpu(uuid="GPU-b", nvmlDeviceGetTotalEnergyConsumption=NOT_SUPPORTED))
    nvml = open_nvml()

    assert nvml.energy_j(["GPU-aaaa-1", "GPU-b"]) is None
    assert nvml.energy_j(["GPU-unknown"]) is None
    assert nvml.energy_j([]) is None


def test_a_clock_is_the_mean_of_the_gpus_in_use(monkeypatch):
    fake = two_gpus(monkeypatch)
    fake.gpus[1].answers[CLOCK] = 1000
    nvml = open_nvml()

    assert nvml.sm_clock_mhz(["GPU-aaaa-1", "GPU-bbbb-2"]) == (1980 + 1000) / 2
    assert nvml.sm_clock_mhz(["GPU-bbbb-2"]) == 1000


def test_a_clock_is_none_when_one_gpu_does_not_tell(monkeypatch):
    fake = two_gpus(monkeypatch)
    fake.gpus[1].answers[CLOCK] = NOT_SUPPORTED
    nvml = open_nvml()

    assert nvml.sm_clock_mhz(["GPU-aaaa-1", "GPU-bbbb-2"]) is None
    assert nvml.sm_clock_mhz(["GPU-unknown"]) is None
    assert nvml.sm_clock_mhz([]) is None


def test_one_gpu_has_no_interconnect(monkeypatch):
    install(monkeypatch, FakeNvml(FakeGpu()))

    assert interconnect(open_nvml().gpus) is first_link(open_nvml().gpus) is None


def test_gpus_without_nvlink_are_connected_by_pcie(monkeypatch):
    two_gpus(monkeypatch, ancestors={(0, 1): pynvml.NVML_TOPOLOGY_HOSTBRIDGE})

    assert interconnect(open_nvml().gpus) == "PCIe through a host bridge (PHB): gpu0-gpu1"
    assert first_link(open_nvml().gpus) == {"kind": "pcie", "count": None}


def linked(uuid, bus_id, *remotes):
    """A GPU with one active NVLink to each of these PCI bus ids, and one that is off."""
    answers = {("nvmlDeviceGetNvLinkState", link): 1 for link in range(len(remotes))}
    answers[("nvmlDeviceGetNvLinkState", len(remotes))] = 0
    gpu = FakeGpu(uuid=uuid, nvmlDeviceGetPciInfo_v3={"busId": bus_id})
    gpu.answers |= answers
    for link, remote in enumerate(remotes):
        kind = pynvml.NVML_NVLINK_DEVICE_TYPE_GPU if remote else pynvml.NVML_NVLINK_DEVICE_TYPE_SWITCH
        gpu.answers[("nvmlDeviceGetNvLinkRemoteDeviceType", link)] = kind
        gpu.answers[("nvmlDeviceGetNvLinkRemotePciInfo_v2", link)] = {"busId": remote or b"switch"}
    return gpu


def test_gpus_bridged_in_pairs_are_listed_by_kind(monkeypatch):
    buses = [b"00000000:0%d:00.0" % n for n in range(3)]
    one, two = linked("GPU-a", buses[0], buses[1], buses[1]), linked("GPU-b", buses[1], buses[0], buses[0])
    install(monkeypatch, FakeNvml(one, two, linked("GPU-c", buses[2])))

    assert interconnect(open_nvml().gpus) == (
        "NVLink x2: gpu0-gpu1; PCIe across CPU sockets (SYS): gpu0-gpu2, gpu1-gpu2"
    )
    assert first_link(open_nvml().gpus) == {"kind": "nvlink", "count": 2}
    assert first_link(open_nvml().gpus[1:]) == {"kind": "pcie", "count": None}


def test_gpus_on_an_nvlink_switch_are_connected_through_it(monkeypatch):
    gpus = (
        linked("GPU-a", b"00000000:01:00.0", *4 * [b""]),
        linked("GPU-b", b"00000000:02:00.0", *4 * [b""]),
    )
    install(monkeypatch, FakeNvml(*gpus))

    assert interconnect(open_nvml().gpus) == "NVLink x4 through a switch: gpu0-gpu1"
    assert first_link(open_nvml().gpus) == {"kind": "nvlink", "count": 4}


@pytest.mark.gpu
@pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU")
def test_a_real_gpu_tells_its_memory_and_power():
    gpu = open_nvml().gpus[0]

    sample = gpu.sample()

    # The driver may count nothing as used while no process holds any.
    assert 0 <= sample.memory_used_bytes <= sample.memory_total_bytes
    assert sample.power_w is None or 1 < sample.power_w < 5000
