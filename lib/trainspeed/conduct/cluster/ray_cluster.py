"""Nodes reached by Ray: it places, carries text and tells a loss. The only module that imports it.

What of Ray would change a timing is switched off where a node is started: see `ray_node`.
Source: https://docs.ray.io/en/latest/ray-core/actors.html
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from trainspeed.conduct.cluster.node import Node, NodeLost, Refused
from trainspeed.core.errors import UserError

NAMESPACE = "trainspeed"


class _Actor:
    """A `Site` in an actor of Ray: one thread, so that what it starts dies with it."""

    def __init__(self, name: str) -> None:
        from trainspeed.conduct.cluster.site import Site

        self._site = Site(name)

    def call(self, method: str, order: str) -> Iterator[str]:
        """See `Site.call`. A refusal goes back as text: the head may have no such class."""
        from trainspeed.conduct.cluster.node import Refused

        try:
            yield from self._site.call(method, order)
        except Refused as problem:
            yield json.dumps({"refused": str(problem)})


@dataclass(frozen=True)
class RayNode:
    """A node: see `Node`."""

    name: str
    actor: Any

    def call(self, method: str, order: str = "{}") -> Iterator[str]:
        """See `Node.call`."""
        try:
            for reference in self.actor.call.options(num_returns="streaming").remote(method, order):
                text = ray.get(reference)
                if text.startswith('{"refused"'):
                    raise Refused(json.loads(text)["refused"])
                yield text
        except RayTaskError as problem:
            raise Refused(type(problem.cause).__name__) from None
        except RayError:
            raise NodeLost("it no longer answers") from None


def nodes_of(told: Mapping[str, Any]) -> tuple[Node, ...]:
    """Connect from a report, and return the nodes with these names.

    Args:
        told: What `RayCluster.told` returned: address, names and variables.
    """
    os.environ.update(told["variables"])
    _connect(told["address"])
    for name in told["variables"]:
        del os.environ[name]
    return tuple(RayNode(name, ray.get_actor(name, namespace=NAMESPACE)) for name in told["names"])


def _connect(address: str) -> None:
    try:
        ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, logging_level="FATAL")
    except (ConnectionError, RayError, RuntimeError):
        raise UserError(
            "the head does not answer, or has another token: see `make node`, and docs/fleet.md"
        ) from None


@dataclass
class RayCluster:
    """The nodes under a head.

    Args:
        address: The head's, as `host:port`.
    """

    address: str
    _actors: list[Any] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        _connect(self.address)

    def nodes(self, machine: str) -> list[Node]:
        """See `Cluster.nodes`: those that were started with this machine's name."""
        alive = [node for node in ray.nodes() if node["Alive"] and machine in node["Resources"]]
        named = []
        for number, node in enumerate(sorted(alive, key=lambda node: node["NodeID"]), 1):
            name = f"{machine}-{number}"
            strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            actor = (
                ray.remote(_Actor)
                .options(
                    name=name,
                    num_cpus=node["Resources"].get("CPU", 0),
                    scheduling_strategy=strategy,
                    max_restarts=0,
                    max_task_retries=0,
                )
                .remote(name)
            )
            self._actors.append(actor)
            named.append(RayNode(name, actor))
        return named

    def told(self, nodes: Sequence[Node]) -> str:
        """Return what a report on a node needs to reach these nodes."""
        names = [node.name for node in nodes]
        variables = {name: text for name, text in os.environ.items() if name.startswith("RAY_AUTH")}
        return json.dumps({"address": self.address, "names": names, "variables": variables}) if names else ""

    def close(self) -> None:
        """See `Cluster.close`."""
        for actor in self._actors:
            with contextlib.suppress(RayActorError):
                ray.kill(actor)
        ray.shutdown()
