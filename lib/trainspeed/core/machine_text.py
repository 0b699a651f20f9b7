"""What a machine is, in words: its name in a line, and its parts one by one. Knows no table and no report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.format import counted, gigabytes

TRAINED_ON = {"gpu": "GPU", "cpu": "CPU, one core per device"}


def machine_name(machine: Mapping[str, Any]) -> str:
    """Return the GPUs that were trained on, or else the CPU, such as "2 × NVIDIA H200"."""
    gpus = machine.get("gpus")
    if machine.get("device") == "gpu" and gpus:
        return ", ".join(name.removeprefix("1 × ") for name in _grouped(gpu["name"] for gpu in gpus))
    cores = (machine.get("cores") or {}).get("logical")
    return f"{machine.get('cpu') or 'CPU'}" + (f", {cores} cores" if cores else "") + ", no GPU used"


def device_name(machine: Mapping[str, Any], trial: AnyTrial) -> str:
    """Return what a trial ran on: the GPU, or else the CPU and how many of its cores."""
    gpus = machine.get("gpus")
    if machine.get("device") == "gpu" and gpus and not trial.on_cpu:
        return gpus[0]["name"]
    return f"{machine.get('cpu') or 'CPU'} ({counted(trial.devices, 'core')})"


def machine_parts(machine: Mapping[str, Any]) -> dict[str, str | None]:
    """Return each part in words, the most important first; None where it is not known.

    Args:
        machine: As `trainspeed.sensors.machine.detect_machine` returns it, with `device`.
    """
    gpus, container = machine.get("gpus"), machine.get("container")

    def plain(name: str) -> str | None:
        return None if machine.get(name) is None else str(machine[name])

    return {
        "trained on": TRAINED_ON.get(machine.get("device")),
        "GPUs": None if gpus is None else "; ".join(_grouped(map(_gpu, gpus))) or "none",
        "CPU": plain("cpu"),
        "CPU instructions": ", ".join(machine.get("cpu_flags") or []) or None,
        "cores": _cores(machine.get("cores") or {}),
        "memory": None if (size := machine.get("memory_bytes")) is None else gigabytes(size),
        "interconnect": plain("interconnect"),
        "NVIDIA driver": plain("driver"),
        "CUDA of the driver": plain("cuda"),
        "system": plain("os"),
        "in a container": None if container is None else "yes" if container else "no",
        "clock governor": plain("governor"),
        "Python of the notebooks": plain("python"),
    }


def _grouped(names: Iterable[str]) -> list[str]:
    return [f"{number} × {name}" for name, number in Counter(names).items()]


def _gpu(gpu: Mapping[str, Any]) -> str:
    size, limit, capability = (gpu.get(f) for f in ("memory_bytes", "power_limit_w", "compute_capability"))
    facts = [
        gpu.get("name") or "unknown GPU",
        "memory not known" if size is None else gigabytes(size),
        f"{limit:,.0f} W at most" if limit else "power limit not known",
        f"compute capability {capability or 'not known'}",
    ]
    return ", ".join(facts)


def _cores(cores: Mapping[str, Any]) -> str | None:
    facts = [f"{cores[kind]} {kind}" for kind in ("physical", "logical") if cores.get(kind)]
    facts += [f"limited to {cores['quota']:g} at a time"] if cores.get("quota") else []
    return ", ".join(facts) or None
