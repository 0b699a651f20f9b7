"""A node of a fleet as others see it: it is called with text and answers with lines of text. Knows no engine.

What goes either way is JSON: no object of a class, so that a node with other code cannot even be misunderstood.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

TWINS_VARIABLE = "TRAINSPEED_TWINS"  # tells a report which equal nodes share its blocks
NODE_VARIABLE = "TRAINSPEED_NODE"  # tells a report what its own node is called: "a10g-2"


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

    def nodes(self, machine: str) -> list[Node]:
        """Return the nodes of a machine, in a stable order, each reserved whole; fewer than there are where taken."""

    def told(self, nodes: Sequence[Node]) -> str:
        """Return what a report needs to reach these nodes, as text; empty where there are none."""

    def close(self) -> None:
        """End what was begun on the nodes, and let go of them."""
