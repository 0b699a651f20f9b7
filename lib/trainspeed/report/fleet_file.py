"""Read `fleet.yaml`: machines of a fleet, how many nodes of each, what an hour of one costs. No address is in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from trainspeed.conduct.cluster.node import MACHINE_NAME
from trainspeed.core.errors import UserError, check_name, check_whole
from trainspeed.core.format import listed
from trainspeed.report.plain_yaml import PlainLoader, wrong
from trainspeed.report.yaml_error import yaml_error

MACHINES = "machines"  # the one field of the file
EXAMPLE = "`machines: {a10g: {nodes: 2, usd_per_hour: 1.21}}`"
MOST_NODES = 10_000
MOST_USD_PER_HOUR = 1e6


@dataclass(frozen=True, kw_only=True)
class MachineOfFleet:
    """Equal nodes.

    Attributes:
        nodes: How many of them; they share the blocks of one report.
        usd_per_hour: Price of an hour of one node; None where it is not known.
    """

    nodes: int = 1
    usd_per_hour: float | None = None


@dataclass(frozen=True)
class Fleet:
    """Name of a machine, as its nodes were started with -> what it is."""

    machines: dict[str, MachineOfFleet]


class _Loader(PlainLoader):
    """YAML in which every name is text, such as 4090, and one that comes twice is an error.

    Else 4090 would be a number, "no" a truth value, and of two the last one would hold without a word.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping."""
        mapping: dict[Any, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise wrong(key, "a name must be a word, and no list")
            if key.value in mapping:
                raise wrong(key, f"{key.value!r} is in it twice")
            mapping[key.value] = self.construct_object(value, deep=deep)
        return mapping


def read_fleet(path: Path) -> Fleet:
    """Read a file.

    Raises:
        UserError: It is not there, or something in it is wrong.
    """
    try:
        data = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except OSError as problem:
        raise UserError(f"cannot read {path} ({problem.strerror}): name a file, FLEET=fleet.yaml") from None
    except (yaml.YAMLError, ValueError) as problem:
        raise yaml_error(path, problem) from None
    if not isinstance(data, dict | None):
        raise UserError(f"{path} must begin with the word {MACHINES} and a colon, such as {EXAMPLE}")
    for field in data or ():
        check_name(f"field of {path}", field, [MACHINES])
    machines = (data or {}).get(MACHINES)
    if not machines:
        raise UserError(f"{path} has no machines: name one, such as {EXAMPLE}")
    if not isinstance(machines, dict):
        raise UserError(
            f"{path}: {MACHINES}",
            machines,
            f"must have a name and a colon for each machine, such as {EXAMPLE}",
        )
    return Fleet({name: _machine(path, name, machine) for name, machine in machines.items()})


def _machine(path: Path, name: str, given: object) -> MachineOfFleet:
    """Return what a machine of a file is; its name alone is one node without a price."""
    if not MACHINE_NAME.fullmatch(name):
        raise UserError(
            f"{path}: the machine {name!r} must have a name of at most 40 letters without accents, digits, - _ and ., "
            "which begins with a letter or a digit"
        )
    if given is None:
        return MachineOfFleet()
    if not isinstance(given, dict):
        raise UserError(f"{path}: {name}", given, f"must have its fields in braces, such as {EXAMPLE}")
    known = [field.name for field in fields(MachineOfFleet)]
    for field in given:
        check_name(f"field of {name} in {path}", field, known)
    machine = MachineOfFleet(**given)
    check_whole(f"{path}: nodes of {name}", machine.nodes, 1, most=MOST_NODES)
    price = machine.usd_per_hour
    if price is None:
        return machine
    is_number = isinstance(price, int | float) and not isinstance(price, bool) and math.isfinite(price)
    if not is_number or not 0 < price <= MOST_USD_PER_HOUR:
        raise UserError(
            f"{path}: usd_per_hour of {name}",
            price,
            f"must be a number above 0 and up to {MOST_USD_PER_HOUR:.0f}, such as 1.21, without quotes or a currency; "
            "leave it out where you pay nothing, or do not know the price",
        )
    return machine


def check_together(machines: Mapping[str, MachineOfFleet], together: int) -> None:
    """Raise a UserError where a machine has fewer nodes in the file than are to train together."""
    few = [name for name, machine in machines.items() if machine.nodes < together]
    if few:
        raise UserError(
            "NODES",
            together,
            f"is more nodes than fleet.yaml gives {listed(few)}: say `{few[0]}: {{nodes: {together}}}` there, or leave "
            f"{'it' if len(few) == 1 else 'them'} out, or lower NODES.",
        )
