"""What a machine is, in words: its name in a line, and its parts one by one. Knows no table and no report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.cuda import CUDA_13_CAPABILITY, ExclusionReason
from trainspeed.core.format import counted, gigabytes, hundredths
from trainspeed.core.levers.host import AS_SET
from trainspeed.core.levers.registry import words_of

LEFT_OUT = {
    ExclusionReason.NOT_WANTED: "TRAINSPEED_DEVICE is cpu",
    ExclusionReason.HIDDEN: "left out by CUDA_VISIBLE_DEVICES",
    ExclusionReason.TOO_OLD: "older than compute capability {}.{}, for which CUDA 13 has no kernels".format(
        *CUDA_13_CAPABILITY
    ),
    ExclusionReason.LOST: "it does not answer the driver",
    ExclusionReason.NO_INSTANCE: "in MIG mode, without an instance to use",
    ExclusionReason.SECOND_INSTANCE: "a process can use one MIG instance, or whole GPUs",
}
UNKNOWN_GPU = "unknown GPU"
TRAINED_ON = {"gpu": "GPU", "cpu": "CPU, one core per device"}
HUGE_PAGES = {  # what the kernel is set to -> which programs have them
    "always": "for all programs",
    "madvise": "for programs that ask for them",
    "never": "none",
}
ALL = "all cores"
CORE_PER_DEVICE = "one core per device"
VARIABLES = "environment variables"  # that users have set: see `trainspeed.core.variables`


def machine_name(machine: Mapping[str, Any]) -> str:
    """Return the GPUs that were trained on, or else the CPU, such as "2 × NVIDIA H200"."""
    gpus = machine.get("gpus")
    if machine.get("device") == "gpu" and gpus:
        return ", ".join(
            name.removeprefix("1 × ") for name in _grouped(gpu["name"] or UNKNOWN_GPU for gpu in gpus)
        )
    cores = (machine.get("cores") or {}).get("logical")
    number = f", {counted(cores, 'core')}{_limit(machine, cores)}" if cores else ""
    return f"{machine.get('cpu') or 'CPU'}{number}, no GPU used"


def cores_at_once(machine: Mapping[str, Any]) -> int | None:
    """Return how many cores can be busy at a time: all, or the whole ones that a limit of time grants, one at least.

    None where it is not known.
    """
    facts = machine.get("cores") or {}
    cores, quota = facts.get("logical"), facts.get("quota")
    return min(cores, max(1, int(quota))) if cores and quota else cores


def _limit(machine: Mapping[str, Any], cores: int) -> str:
    """Return what follows a number of cores where a limit of CPU time grants less than these."""
    quota = (machine.get("cores") or {}).get("quota")
    return f", limited to {hundredths(quota)}" if quota and quota < cores else ""


def device_is_core(machine: Mapping[str, Any]) -> bool:
    """Whether a device is a CPU core, as no GPU was used."""
    return machine.get("device") == "cpu"


def device_name(machine: Mapping[str, Any], trial: AnyTrial) -> str:
    """Return what a trial ran on: the kinds of its GPUs, or else the CPU and how many of its cores."""
    if names := gpu_names(machine, trial):
        return " and ".join(dict.fromkeys(names))
    return f"{machine.get('cpu') or 'CPU'} ({cores_in_words(machine, trial)})"


def cores_in_words(machine: Mapping[str, Any], trial: AnyTrial) -> str:
    """Return on how much of a machine's CPU a trial runs: as `cores_of`, with the number of all, and a limit."""
    cores = (machine.get("cores") or {}).get("logical")
    words = counted(cores, "core") if cores and cores_of(trial) == ALL else cores_of(trial)
    return f"{words}{_limit(machine, trial.cores or cores or 0)}"


def cores_of(trial: AnyTrial) -> str:
    """Return on how much of a CPU a trial runs: "2 cores", "all cores" or "as many threads as the environment sets"."""
    if trial.cores is not None:
        return counted(trial.cores, "core")
    return words_of([AS_SET]) if AS_SET in trial.levers else ALL


def trained_on(machine: Mapping[str, Any], trials: Iterable[AnyTrial]) -> str | None:
    """Return what trials ran on in words, and where that is a CPU, on how much of it; None where it is not known."""
    words = TRAINED_ON.get(machine.get("device"))
    if words != TRAINED_ON["cpu"]:
        return words
    kinds = {CORE_PER_DEVICE if trial.cores is not None else cores_of(trial) for trial in trials}
    kinds = sorted(kinds or {CORE_PER_DEVICE}, key=CORE_PER_DEVICE.__eq__)
    return f"CPU, {' or '.join(kinds)}{', as each trial says' if len(kinds) > 1 else ''}"


def gpu_names(machine: Mapping[str, Any], trial: AnyTrial) -> list[str]:
    """Return the names of the GPUs that a trial ran on, one for each; none where it ran on the CPU."""
    if machine.get("device") != "gpu" or trial.on_cpu:
        return []
    return [gpu["name"] or UNKNOWN_GPU for gpu in (machine.get("gpus") or [])[: trial.devices]]


def machine_parts(machine: Mapping[str, Any]) -> dict[str, str | None]:
    """Return each part in words, the most important first; None where it is not known.

    Args:
        machine: As `trainspeed.sensors.machine.detect_machine` returns it, with `device`.
    """
    gpus, container = machine.get("gpus"), machine.get("container")
    used = _grouped(map(_gpu, gpus or []))
    not_used = ", ".join(_grouped(map(_not_used, machine.get("other_gpus") or [])))
    not_used = f"not used: {not_used}" if not_used else ""

    def plain(name: str) -> str | None:
        return None if machine.get(name) is None else str(machine[name])

    return {
        "trained on": TRAINED_ON.get(machine.get("device")),
        "GPUs": None if gpus is None else "; ".join(filter(None, [*used, not_used])) or "none",
        "CPU": plain("cpu"),
        "CPU instructions": ", ".join(machine.get("cpu_flags") or []) or None,
        "cores": _cores(machine.get("cores") or {}),
        "memory": None if (size := machine.get("memory_bytes")) is None else gigabytes(size),
        "huge pages": HUGE_PAGES.get(machine.get("huge_pages")),
        "interconnect": plain("interconnect"),
        "NVIDIA driver": plain("driver"),
        "CUDA of the driver": plain("cuda"),
        "system": plain("os"),
        "in a container": None if container is None else "yes" if container else "no",
        "clock governor": plain("governor"),
        "Python of the notebooks": plain("python"),
        VARIABLES: ", ".join(map("=".join, (machine.get("environment") or {}).items())) or None,
    }


def _grouped(names: Iterable[str]) -> list[str]:
    return [f"{number} × {name}" for name, number in Counter(names).items()]


def _gpu(gpu: Mapping[str, Any]) -> str:
    size, limit, capability = (gpu.get(f) for f in ("memory_bytes", "power_limit_w", "compute_capability"))
    facts = [
        gpu.get("name") or UNKNOWN_GPU,
        "memory not known" if size is None else gigabytes(size),
        f"{limit:,.0f} W at most" if limit else "power limit not known",
        f"compute capability {capability or 'not known'}",
    ]
    return ", ".join(facts)


def _not_used(gpu: Mapping[str, Any]) -> str:
    return f"{gpu.get('name') or UNKNOWN_GPU} ({LEFT_OUT.get(str(gpu.get('left_out')), 'reason not known')})"


def _cores(cores: Mapping[str, Any]) -> str | None:
    facts = [f"{cores[kind]} {kind}" for kind in ("physical", "logical") if cores.get(kind)]
    facts += [f"limited to {hundredths(cores['quota'])} at a time"] if cores.get("quota") else []
    return ", ".join(facts) or None
