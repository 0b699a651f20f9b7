"""The nodes that train one trial together, as one of them sees it. Knows no framework and no engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Gang:
    """Machines with as many devices each, which train as one.

    Attributes:
        addresses: Of each node, in the order in which their ranks are numbered: ranks on a node are neighbours, so
            that a ring over all of them passes from node to node only once. The ranks meet at the first one.
        port: At the first address; a fresh one for each run.
        node: Which of them this is, from 0. The run on node 0 gives out the turns and is the one that counts; the
            others follow it.
        interface: This node's network interface on the way to the others; None: the library chooses.
    """

    addresses: tuple[str, ...]
    port: int
    node: int = 0
    interface: str | None = None

    @property
    def nodes(self) -> int:
        """How many there are."""
        return len(self.addresses)

    @property
    def follows(self) -> bool:
        """Whether another node gives out the turns."""
        return self.node > 0
