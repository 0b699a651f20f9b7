"""Read `fleet.yaml`: machines of a fleet, how many nodes of each, what an hour of one costs. No address is in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import yaml
from msgspec import Meta

from trainspeed.core.errors import UserError
from trainspeed.core.format import listed

MachineName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$")]


class MachineOfFleet(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Equal nodes.

    Attributes:
        nodes: How many of them; they share the blocks of one report.
        usd_per_hour: Price of an hour of one node; None where it is not known.
    """

    nodes: Annotated[int, Meta(ge=1, le=10_000)] = 1
    usd_per_hour: Annotated[float, Meta(gt=0, le=1e6)] | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    machines: Annotated[dict[MachineName, MachineOfFleet | None], Meta(min_length=1, max_length=10_000)]


@dataclass(frozen=True)
class Fleet:
    """Name of a machine, as its nodes were started with -> what it is."""

    machines: dict[str, MachineOfFleet]


class _Loader(yaml.SafeLoader):
    """YAML in which a name that comes twice is an error; else the last one would hold without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping."""
        names = [key.value for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(problem=f"{name!r} is in it twice")
        return super().construct_mapping(node, deep)


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
        raise UserError(f"{path} is not YAML: {str(problem).splitlines()[0]}") from None
    try:
        file = msgspec.convert(data, _File)
    except msgspec.ValidationError as problem:
        raise UserError(
            f"{path}: {problem}. Such as: machines: {{a10g: {{nodes: 2, usd_per_hour: 1.21}}}}"
        ) from None
    return Fleet({name: machine or MachineOfFleet() for name, machine in file.machines.items()})


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
