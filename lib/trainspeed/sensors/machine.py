"""Find out which machine this is: CPU, memory, GPUs, driver, system. Knows no framework.

The result may be shared: it has no user name, host name or home path, and UUIDs only hashed.
"""

from __future__ import annotations

import os
import platform
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil

from trainspeed.sensors.control_groups import FILE_SYSTEM, control_groups
from trainspeed.sensors.cpu import cpu_flags, cpu_name
from trainspeed.sensors.cpu_limit import core_quota
from trainspeed.sensors.gpus import ChosenGpus, choose_gpus, hashed
from trainspeed.sensors.interconnect import first_link, interconnect
from trainspeed.sensors.memory import LIMITS, huge_pages_mode
from trainspeed.sensors.nvml import Gpu, Nvml, open_nvml
from trainspeed.sensors.processes import usable_cores

# The instruction sets that decide how fast a CPU trains, and in which precisions.
SPEED_FLAGS = ("avx2", "avx512f", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_tile")
# With one of these TensorFlow has oneDNN on by itself. Source: `DefaultOneDnnPolicy` in tensorflow/core/util/port.cc.
ONEDNN_FLAGS = frozenset(("avx512_vnni", "avx512_bf16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16"))
CONTAINERS = ("docker", "kubepods", "containerd", "libpod", "lxc")


def detect_machine() -> dict[str, Any]:
    """Return this machine as JSON, without a look at which GPUs are to be used: all that answer are."""
    with closing(open_nvml()) as nvml:
        return describe_machine(nvml, choose_gpus(nvml.gpus, None))


def describe_machine(nvml: Nvml, chosen: ChosenGpus) -> dict[str, Any]:
    """Return this machine as JSON; what is not known is None.

    `cpu_flags` are those of SPEED_FLAGS that the CPU has: none where it is not x86. `cores` counts those that
    this process may run on, "physical" and "logical"; its "quota" is how many cores' worth of time a container
    grants, None where it does not limit it; `onednn_by_itself` is whether TensorFlow switches oneDNN on, None where the
    CPU is not x86; `memory_bytes` is at most what a container grants. `huge_pages` says which
    programs get them: "always", "madvise" (those that ask) or "never". `gpus` are those that are used, in the order of
    use: a trial of n devices runs on the first n; `other_gpus` are the others, each with the reason, an
    `ExclusionReason`, as `left_out`. `no_gpus` says why the driver shows none. `link` is what connects
    the first two that are used, as in `trainspeed.core.links`. `cuda` is what the driver can run, not what a framework
    was built with.

    Args:
        nvml: The driver, open.
    """
    flags = cpu_flags()
    return {
        "cpu": cpu_name() or platform.processor() or platform.machine() or None,
        "cores": {"physical": physical_cores(), "logical": logical_cores(), "quota": core_quota()},
        "cpu_flags": [flag for flag in SPEED_FLAGS if flag in flags],
        "onednn_by_itself": bool(flags & ONEDNN_FLAGS) if "sse2" in flags else None,
        "governor": _read(FILE_SYSTEM / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "memory_bytes": machine_memory_bytes(),
        "huge_pages": huge_pages_mode(),
        "gpus": [_gpu(gpu) for gpu in chosen.used],
        "other_gpus": [{**_gpu(gpu), "left_out": why.value} for gpu, why in chosen.left_out],
        "no_gpus": nvml.reason,
        "interconnect": interconnect(chosen.used),
        "link": first_link(chosen.used),
        "driver": nvml.driver,
        "cuda": nvml.cuda,
        "os": operating_system(),
        "python": platform.python_version(),
        "container": in_container(),
    }


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "name": gpu.name,
        "uuid": None if gpu.uuid is None else hashed(gpu.uuid),
        "memory_bytes": gpu.memory_total_bytes,
        "power_limit_w": gpu.power_limit_w,
        "compute_capability": gpu.compute_capability,
    }


def logical_cores() -> int:
    """Return how many logical cores (hardware threads) this process may run on."""
    return len(usable_cores()) or os.cpu_count() or 1


def physical_cores(root: Path = FILE_SYSTEM) -> int | None:
    """Return how many physical cores this process may run on; None where the system does not tell."""
    cores = set()
    for cpu in usable_cores():
        topology = root / f"sys/devices/system/cpu/cpu{cpu}/topology"
        cores.add((_read(topology / "physical_package_id"), _read(topology / "core_id")))
    known = {core for core in cores if None not in core}
    return len(known) or (None if cores else psutil.cpu_count(logical=False))


def machine_memory_bytes(root: Path = FILE_SYSTEM) -> int:
    """Return the machine's memory in bytes, or what its control groups grant (a container's, a job's) if less."""
    groups = control_groups("memory", root)
    limits = [_read(group / limit) or "" for group in groups for limit, *_ in LIMITS]
    # "max" means no limit; version 1 has a number beyond every machine for that
    return min([psutil.virtual_memory().total, *(int(limit) for limit in limits if limit.isdigit())])


def operating_system() -> str:
    """Return the distribution and the kernel: "Debian GNU/Linux 12 (bookworm), Linux 6.1.0-18-amd64"."""
    kernel = f"{platform.system()} {platform.release()}"
    try:
        return f"{platform.freedesktop_os_release()['PRETTY_NAME']}, {kernel}"
    except (OSError, KeyError):
        return kernel


def in_container(root: Path = FILE_SYSTEM) -> bool:
    """Return whether this process runs in a container, by the marks that container engines leave."""
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        return True
    groups = _read(root / "proc/1/cgroup") or ""
    return any(name in groups for name in CONTAINERS)


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
