"""A node of a fleet as others see it: it is called with text and answers with lines of text. Knows no engine.

What goes either way is JSON: no object of a class, so that a node with other code cannot even be misunderstood.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Protocol

from trainspeed.core.errors import UserError, check_name

NODE_VARIABLE = "TRAINSPEED_NODE"  # tells a report what its own node is called: "a10g-2"
# Variables that an engine sets for whatever it starts, where they would hold for a user's model and OpenCV, too; and
# what stands before their names where a user's own values are kept meanwhile.
ENGINE_SETS = ("OMP_NUM_THREADS",)
USERS_OWN = "TRAINSPEED_USERS_"
RESOURCE = "trainspeed-"  # before a machine's name, where an engine keeps it
MACHINE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")  # the only name that gets into pages


def resource_of(machine: str) -> str:
    """Return the name under which the nodes of a machine are found: no other resource is called so."""
    return RESOURCE + machine


def check_come(machine: str, asked: int, come: Sequence[str]) -> None:
    """Raise a UserError where fewer nodes of a machine have come than are asked for.

    Args:
        come: What each node was called as it was started.
    """
    known = sorted({*come} - {""})
    if not known:
        raise UserError(f"no node has come yet: `make node AS={machine} HEAD=…` on each machine.")
    check_name("machine in fleet.yaml", machine, known)
    if (count := come.count(machine)) < asked:
        raise UserError(
            f"fleet.yaml asks for {asked} nodes of {machine!r}, and {count} came: `make node AS={machine} HEAD=…` on "
            "each of them, or ask for fewer."
        )


class NodeLost(Exception):
    """A node no longer answers: its process, its machine or the way to it is gone."""


class Refused(Exception):
    """A node answered that it cannot do what it was asked for; the message says why, in one line."""


class Node(Protocol):
    """One node.

    Attributes:
        name: The machine's name and a number: "a10g-2".
    """

    name: str

    def call(self, method: str, order: str = "{}") -> Iterator[str]:
        """Have a method of the node's `Site` called, and yield what it answers, as it comes.

        Args:
            order: What is asked for, as JSON.
        Raises:
            NodeLost: It no longer answers.
            Refused: It cannot do that.
        """


class Cluster(Protocol):
    """The nodes that have come together under a head."""

    def nodes(self, machine: str, most: int, *, after: int = 0) -> list[Node]:
        """Return so many nodes of a machine, in a stable order, each reserved whole.

        Args:
            after: The largest number that an earlier fleet has given to one, which may have been another.
        Raises:
            UserError: Fewer have come, or another fleet has them.
        """

    def connection(self, nodes: Sequence[Node]) -> str:
        """Return what a report needs to reach these nodes, as text; empty where there are none."""

    def renewed(self, nodes: Sequence[Node]) -> list[Node]:
        """End whatever these nodes do, and return them, without those that are lost, free for what comes next."""

    def close(self) -> None:
        """End what was begun on the nodes, and let go of them."""
