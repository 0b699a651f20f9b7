"""What a machine is, with and without GPUs."""

import getpass
import json
import platform
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from fake_nvml import FakeGpu, FakeNvml, install, install_none
from trainspeed.sensors import machine as detect
from trainspeed.sensors.cpu import FLAGS_VARIABLE


def write(root, path, text):
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_a_machine_is_strict_json_and_names_its_parts(monkeypatch):
    install_none(monkeypatch)

    machine = detect.detect_machine()

    assert json.loads(json.dumps(machine, allow_nan=False)) == machine
    assert 0 < machine["memory_bytes"] <= psutil.virtual_memory().total
    assert 1 <= machine["cores"]["logical"] <= psutil.cpu_count()
    assert platform.release() in machine["os"]
    assert machine["python"] == platform.python_version()
    assert machine["cpu"]


def test_a_machine_without_gpus_says_why(monkeypatch):
    install_none(monkeypatch)

    machine = detect.detect_machine()

    assert (machine["gpus"], machine["other_gpus"]) == ([], [])
    assert machine["no_gpus"] == "no NVIDIA driver library found"
    assert (machine["driver"], machine["cuda"], machine["interconnect"]) == (None, None, None)


def test_gpus_are_listed_with_hashed_uuids(monkeypatch):
    fake = install(monkeypatch, FakeNvml(FakeGpu(), FakeGpu(uuid="GPU-bbbb-2")))

    machine = detect.detect_machine()

    assert machine["gpus"][0] == {
        "name": "NVIDIA Fake 1",
        "uuid": "c3045f930569",
        "memory_bytes": 80_000,
        "power_limit_w": 700.0,
        "compute_capability": "9.0",
    }
    assert "GPU-" not in json.dumps(machine)
    assert (machine["driver"], machine["cuda"], machine["no_gpus"]) == ("580.65.06", "13.0", None)
    assert machine["interconnect"] == "PCIe across CPU sockets (SYS): gpu0-gpu1"
    assert not fake.is_open


def test_a_machine_tells_nobody_who_uses_it(monkeypatch):
    install_none(monkeypatch)

    texts = [text for text in detect.detect_machine().values() if isinstance(text, str)]

    assert str(Path.home()) not in texts
    assert platform.node() not in texts
    assert getpass.getuser() not in texts


def test_only_the_cores_this_process_may_use_count(tmp_path, monkeypatch):
    """Four threads on two cores of two sockets; this process may run on three of the threads."""
    for cpu, (socket, core) in enumerate([(0, 0), (0, 0), (1, 0), (1, 0)]):
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/physical_package_id", f"{socket}\n")
        write(tmp_path, f"sys/devices/system/cpu/cpu{cpu}/topology/core_id", f"{core}\n")
    monkeypatch.setattr(detect.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)

    assert detect.logical_cores() == 3
    assert detect.physical_cores(tmp_path) == 2


def test_physical_cores_are_none_where_the_system_does_not_tell(tmp_path, monkeypatch):
    monkeypatch.setattr(detect.os, "sched_getaffinity", lambda _: {0, 1}, raising=False)

    assert detect.physical_cores(tmp_path) is None


@pytest.mark.parametrize(
    ("path", "text", "known"),
    [
        ("memory.max", "4000\n", 4000),
        ("memory.max", "max\n", 9000),
        ("memory.max", "10000\n", 9000),
        ("jobs/memory.max", "6000\n", 6000),
        ("jobs/7/step/memory.max", "4000\n", 4000),
        ("jobs/8/memory.max", "3000\n", 9000),
        ("memory/memory.limit_in_bytes", "5000\n", 5000),
        ("memory/memory.limit_in_bytes", "9223372036854771712\n", 9000),
        ("unknown", "", 9000),
    ],
)
def test_a_container_has_no_more_memory_than_it_is_granted(tmp_path, monkeypatch, path, text, known):
    monkeypatch.setattr(detect.psutil, "virtual_memory", lambda: SimpleNamespace(total=9000))
    write(tmp_path, f"sys/fs/cgroup/{path}", text)
    write(tmp_path, "proc/self/cgroup", "0::/jobs/7/step\n")

    assert detect.machine_memory_bytes(tmp_path) == known


@pytest.mark.parametrize(
    ("path", "text", "inside"),
    [
        (".dockerenv", "", True),
        ("run/.containerenv", "", True),
        ("proc/1/cgroup", "0::/kubepods/besteffort/pod1\n", True),
        ("proc/1/cgroup", "0::/init.scope\n", False),
        ("etc/hostname", "docker\n", False),
    ],
)
def test_knows_a_container_by_the_marks_of_its_engine(tmp_path, path, text, inside):
    write(tmp_path, path, text)

    assert detect.in_container(tmp_path) is inside


@pytest.mark.parametrize(
    ("flags", "named"),
    [("", []), ("fpu amx_tile avx avx2 avx512f avx512_bf16x", ["avx2", "avx512f", "amx_tile"])],
)
def test_cpu_flags_are_those_that_decide_the_speed(monkeypatch, flags, named):
    install_none(monkeypatch)
    monkeypatch.setenv(FLAGS_VARIABLE, flags)

    assert detect.detect_machine()["cpu_flags"] == named


@pytest.mark.parametrize(
    ("flags", "by_itself"),
    [
        ("fpu sse2 avx2 fma", False),
        ("fpu sse2 avx2 avx512f avx512_vnni", True),
        ("sse2 avx2 avx_vnni", True),
        ("sse2 amx_tile", True),
        ("fp asimd bf16", None),  # of an Arm processor, whose model decides
    ],
)
def test_whether_tensorflow_switches_onednn_on_by_itself_depends_on_the_cpu(monkeypatch, flags, by_itself):
    install_none(monkeypatch)
    monkeypatch.setenv(FLAGS_VARIABLE, flags)

    assert detect.detect_machine()["onednn_by_itself"] is by_itself


def test_a_system_without_a_release_file_is_named_by_its_kernel(monkeypatch):
    def none():
        raise OSError("no os-release")

    monkeypatch.setattr(detect.platform, "freedesktop_os_release", none)

    assert detect.operating_system() == f"{platform.system()} {platform.release()}"
