"""What a study trains on, and what its pages and memory checks say about it, on made-up drivers."""

import pytest

from fake_nvml import FakeGpu, FakeNvml, install, install_none
from study_data import tiny_trial
from trainspeed.conduct.estimates import check_memory
from trainspeed.conduct.machine import DEVICE_VARIABLE, cores_here, devices, devices_here, has_gpu
from trainspeed.conduct.plan import Planned
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.core.errors import UserError
from trainspeed.core.levers.host import ALL_CORES
from trainspeed.core.machine_text import device_name, gpu_names, machine_name, machine_parts

OLD, FAST, NEW = "GeForce GT 1030", "GeForce RTX 4090", "GeForce RTX 5060"


def gpu(uuid, name, capability, gigabytes):
    memory = {"total": int(gigabytes * 1e9), "reserved": 0, "used": 0, "free": 0}
    return FakeGpu(
        uuid=uuid,
        name=name,
        nvmlDeviceGetCudaComputeCapability=capability,
        nvmlDeviceGetMemoryInfo_v2=memory,
    )


@pytest.fixture(autouse=True)
def unset(monkeypatch):
    for variable in (DEVICE_VARIABLE, "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def workstation(monkeypatch):
    """In the order of the slots: one that draws the screen, one to compute on, a new small one."""
    gpus = (
        gpu("GPU-old", OLD, (6, 1), 2),
        gpu("GPU-fast", FAST, (8, 9), 24),
        gpu("GPU-new", NEW, (12, 0), 8),
    )
    return install(monkeypatch, FakeNvml(*gpus))


def trial(**changed):
    usual = {"mode": "eager", "images": 8, "height": 100, "width": 100}
    return Conv2dTrial(library="torch", **{**usual, **changed})


def names(machine):
    return [one["name"] for one in machine["gpus"]]


def test_what_a_user_has_set_is_part_of_the_machine(workstation, monkeypatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    *_, machine = devices()
    assert machine["environment"]["NVIDIA_TF32_OVERRIDE"] == "0"
    assert "NVIDIA_TF32_OVERRIDE=0" in machine_parts(machine)["environment variables"]


def test_the_machine_of_a_study_is_the_gpus_it_uses_in_the_order_of_use(workstation):
    device, uuids, machine = devices()

    assert (device, uuids) == ("gpu", ("GPU-new", "GPU-fast"))
    assert names(machine) == [NEW, FAST]
    assert machine_name(machine) == f"{NEW}, {FAST}"
    left_out = f"not used: 1 × {OLD} (older than compute capability 7.5, for which CUDA 13 has no kernels)"
    assert machine_parts(machine)["GPUs"].endswith(left_out)
    assert machine["interconnect"] == "PCIe across CPU sockets (SYS): gpu2-gpu1"


def test_sentences_name_the_gpu_that_was_chosen_and_not_the_first_one(workstation, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")

    machine = devices()[2]

    assert (machine_name(machine), device_name(machine, trial())) == (FAST, FAST)
    assert machine["interconnect"] is None
    parts = machine_parts(machine)["GPUs"]
    assert parts.startswith(f"1 × {FAST}, 24 GB")
    assert parts.endswith(
        f"not used: 1 × {OLD} (left out by CUDA_VISIBLE_DEVICES), 1 × {NEW} (left out by CUDA_VISIBLE_DEVICES)"
    )


def test_a_trial_on_several_gpus_names_each_kind(workstation):
    machine = devices()[2]

    assert device_name(machine, trial()) == NEW
    assert device_name(machine, trial(devices=2)) == f"{NEW} and {FAST}"
    assert gpu_names(machine, trial(devices=2)) == [NEW, FAST]


def test_memory_is_checked_on_the_gpus_that_a_trial_uses(workstation, monkeypatch):
    """10 GB fit on the fast one, not on the small new one."""
    large = trial(images=840, filters=256)
    assert 8e9 < large.device_bytes < 24e9, large.device_bytes
    planned = [Planned(trial=large, block=0, label="")]

    with pytest.raises(UserError, match="a GPU's memory, and 8"):
        check_memory(planned, 10**12, devices()[2]["gpus"])
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    check_memory(planned, 10**12, devices()[2]["gpus"])


@pytest.mark.parametrize(("variable", "value"), [(DEVICE_VARIABLE, "cpu"), ("CUDA_VISIBLE_DEVICES", "")])
def test_gpus_that_are_not_to_be_used_leave_a_study_on_the_cpu_and_are_named(
    workstation, monkeypatch, variable, value
):
    monkeypatch.setenv(variable, value)

    device, uuids, machine = devices()

    assert (device, uuids, machine["gpus"], has_gpu()) == ("cpu", (), [], False)
    assert machine_parts(machine)["GPUs"].startswith(f"not used: 1 × {OLD} (")
    assert variable in machine_parts(machine)["GPUs"]


@pytest.mark.parametrize(
    ("quota", "count", "name"),
    [
        (None, 64, "Example CPU, 64 cores, no GPU used"),
        (4 / 3, 1, "Example CPU, 64 cores, limited to 1.33, no GPU used"),
        (0.5, 1, "Example CPU, 64 cores, limited to 0.5, no GPU used"),
        (4.0, 4, "Example CPU, 64 cores, limited to 4, no GPU used"),
        (64.0, 64, "Example CPU, 64 cores, no GPU used"),
    ],
)
def test_a_limit_of_cpu_time_leaves_as_many_devices_as_it_grants_cores_and_is_named(
    monkeypatch, quota, count, name
):
    """Threads stay as many as a plain script has: those are told to nobody."""
    install_none(monkeypatch)
    for fact, value in {"logical_cores": 64, "core_quota": quota, "cpu_name": "Example CPU"}.items():
        monkeypatch.setattr(f"trainspeed.sensors.machine.{fact}", lambda value=value: value)
    machine = devices()[2]

    assert (devices_here("multi_gpu"), cores_here("multi_gpu")) == ((count, "CPU core"), count)
    assert machine_name(machine) == name
    limit = f", limited to {quota:.3g}" if quota and quota < 64 else ""
    assert device_name(machine, tiny_trial(levers=(ALL_CORES,))) == f"Example CPU (64 cores{limit})"


def test_a_gpu_that_is_wanted_and_not_there_is_one_line_with_the_reason(workstation, monkeypatch):
    monkeypatch.setenv(DEVICE_VARIABLE, "gpu")
    assert devices()[0] == "gpu"

    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "7")
    with pytest.raises(UserError, match=r"none to use here: not used: .* \(left out by CUDA_VISIBLE_DEVICES"):
        devices()
    install_none(monkeypatch)
    with pytest.raises(UserError, match="none to use here: no NVIDIA driver library found"):
        devices()


def test_the_preset_auto_asks_for_what_would_be_trained_on(workstation, monkeypatch):
    from trainspeed.report import cli

    assert cli._has_gpu("auto") and not cli._has_gpu("quick")
    monkeypatch.setenv(DEVICE_VARIABLE, "cpu")
    assert not cli._has_gpu("auto")
