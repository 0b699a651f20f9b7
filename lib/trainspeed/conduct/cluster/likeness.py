"""Whether nodes are equal, so that they may share the blocks of one report; names what differs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainspeed.conduct.cluster.orders import NodeFacts
from trainspeed.core.errors import UserError
from trainspeed.core.format import NAMES, listed
from trainspeed.core.machine_text import VARIABLES, machine_parts

# Part of the machine -> its fields in the ledger. Of the memory, a firmware keeps some MB, more on one board than on
# the next.
PARTS = {
    "trained on": ("device",),
    "GPUs": ("gpus", "other_gpus"),
    "CPU": ("cpu",),
    "CPU instructions": ("cpu_flags",),
    "cores": ("cores",),
    "memory": ("memory_bytes",),
    "huge pages": ("huge_pages",),
    "interconnect": ("interconnect", "link"),
    "NVIDIA driver": ("driver",),
    "CUDA of the driver": ("cuda",),
    "system": ("os",),
    "in a container": ("container",),
    "clock governor": ("governor",),
    "Python of the notebooks": ("python",),
    VARIABLES: ("environment",),
}
OWN = ("uuid",)  # each GPU's
MEMORY_BYTES = 1e9
MOST_NAMED = 5


def check_equal(facts: Mapping[str, NodeFacts]) -> None:
    """Raise a UserError where nodes are not equal, with what differs and both values.

    Args:
        facts: Node -> what it is: see `trainspeed.conduct.cluster.facts.node_facts`.
    """
    (first, known), *others = facts.items()
    for node, other in others:
        if found := differences(known, other):
            named = [f"{what} ({one} on {first}, {two} on {node})" for what, (one, two) in found.items()]
            named = named[:MOST_NAMED] + [f"{len(named) - MOST_NAMED} more"] * (len(named) > MOST_NAMED)
            raise UserError(
                f"{first} and {node} are not equal, and only equal nodes share the blocks of a report: "
                f"{listed(named)}. Make them equal, or give them two names in the fleet's file."
            )


def check_code(facts: Mapping[str, NodeFacts], code: str) -> None:
    """Raise a UserError where a node has other code than the head.

    Args:
        code: Hash of the head's.
    """
    if others := [node for node, known in facts.items() if known.code != code]:
        raise UserError(
            f"{listed(others)} {'have' if len(others) > 1 else 'has'} another version of Trainspeed than the head, "
            "or changed notebooks or presets: bring all to the same one, and `make setup` there."
        )


def differences(one: NodeFacts, other: NodeFacts) -> dict[str, tuple[str, str]]:
    """Return what differs between two nodes -> both values in words."""
    machines = [one.machine, other.machine]
    words = [machine_parts(machine) for machine in machines]
    found = {
        part: tuple(text[part] or "not known" for text in words)
        for part, fields in PARTS.items()
        if not all(_alike(field, *(machine.get(field) for machine in machines)) for field in fields)
    }
    versions = [one.versions, other.versions]
    for framework in dict.fromkeys([*versions[0], *versions[1]]):
        name = NAMES.get(framework, framework)
        packages = [known.get(framework) for known in versions]
        if None in packages:
            found[name] = tuple("not installed" if known is None else "installed" for known in packages)
            continue
        for package in sorted({*packages[0], *packages[1]}):
            pair = tuple(known.get(package, "not installed") for known in packages)
            if pair[0] != pair[1]:
                found[f"{name}: {package}"] = pair
    if one.code != other.code:
        found["Trainspeed's code"] = one.code, other.code
    return {what: (a, f"another {b}") if a == b else (a, b) for what, (a, b) in found.items()}


def _alike(field: str, one: Any, other: Any) -> bool:
    if field == "memory_bytes" and None not in (one, other):
        return abs(one - other) < MEMORY_BYTES
    if field in ("gpus", "other_gpus"):
        one, other = (
            [{name: value for name, value in gpu.items() if name not in OWN} for gpu in gpus or ()]
            for gpus in (one, other)
        )
    return one == other
