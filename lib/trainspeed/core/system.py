"""What times depend on beside the trial: the machine and the versions. Says where two of them differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainspeed.core.format import NAMES, listed
from trainspeed.core.machine_text import VARIABLES, machine_parts

# Field of the machine -> its name among `machine_parts`. The system and its memory are left out: they change between
# two boots without a bearing on times.
FACTS = {
    "device": "trained on",
    "gpus": "GPUs",
    "cpu": "CPU",
    "cpu_flags": "CPU instructions",  # a virtual machine's processor may have the same name as a much slower one
    "cores": "cores",
    "driver": "NVIDIA driver",
    "environment": VARIABLES,
}
GPU_FACTS = ("name", "uuid", "memory_bytes")  # a laptop changes its power limit by itself
GPU_FACTS_OF_EQUAL_NODES = ("name", "memory_bytes", "power_limit_w")


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A fact in which two systems differ.

    Attributes:
        what: Its name, such as "NVIDIA driver" or "PyTorch: cuda".
        before, now: Its values in words.
    """

    what: str
    before: str
    now: str


def machine_differences(
    before: Mapping[str, Any], now: Mapping[str, Any], *, equal_nodes: bool = False
) -> list[Difference]:
    """Return where two machines differ; a fact that one of them does not tell is no difference.

    Args:
        equal_nodes: Whether they are two nodes of a fleet's machine: each has GPUs of its own, of one kind.
    """
    known = [fact for fact in FACTS if fact in before and fact in now]
    of_gpus = GPU_FACTS_OF_EQUAL_NODES if equal_nodes else GPU_FACTS
    return [
        _difference(FACTS[fact], *(machine_parts(machine)[FACTS[fact]] for machine in (before, now)))
        for fact in known
        if _value(before, fact, of_gpus) != _value(now, fact, of_gpus)
    ]


def version_differences(
    framework: str, before: Mapping[str, str], now: Mapping[str, str]
) -> list[Difference]:
    """Return the packages of a framework that both name, in different versions."""
    return [
        _difference(f"{NAMES[framework]}: {package}", before[package], version)
        for package, version in now.items()
        if before.get(package, version) != version
    ]


def _difference(what: str, before: str | None, now: str | None) -> Difference:
    before, now = before or "none", now or "none"
    return Difference(what=what, before=before, now=f"another {now}" if now == before else now)


def _value(machine: Mapping[str, Any], fact: str, of_gpus: Sequence[str]) -> Any:
    value = machine[fact]
    if fact == "gpus":
        return [tuple(gpu.get(name) for name in of_gpus) for gpu in value or ()]
    return value


def differences_text(differences: Iterable[Difference]) -> str:
    """Return differences in words, each once: "NVIDIA driver (550.54, then 580.65)"."""
    texts = dict.fromkeys(f"{one.what} ({one.before}, then {one.now})" for one in differences)
    return listed([*texts])
