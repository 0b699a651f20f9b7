"""Nodes reached by Ray: it places, carries text and tells a loss. The only module that imports it.

What of Ray would change a timing is switched off where a node is started: see `ray_node`. Its texts name addresses, so
none of them goes on from here. Source: https://docs.ray.io/en/latest/ray-core/actors.html
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayActorError, RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from trainspeed.conduct.cluster.node import RESOURCE, Node, NodeLost, Refused, check_come
from trainspeed.core.errors import UserError
from trainspeed.sensors.network import address_towards

NAMESPACE = "trainspeed"
NO_NODE = (
    "No node info found"  # what it says, after a minute, where none of its own services runs on this machine
)
REFUSED = "refused"  # the one key of an answer that says why a node cannot do what it was asked for
PLACE_S = 60.0  # until an actor answers: a process, an import; seen: 4 s
LISTENER = "listen_error_messages"  # private: what a driver's thread runs, from ray._private.worker
LOOK_AGAIN_S = 0.5
LET_GO_S = 10.0  # until the nodes of a fleet that has just been ended are free again


class _Actor:
    """A `Site` in an actor of Ray: one thread, so that what it starts dies with it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._site: Any = None

    def call(self, method: str, order: str) -> Iterator[str]:
        """See `Site.call`. What it refuses goes back as text: the head may have no such class."""
        try:
            from trainspeed.conduct.cluster.site import Site

            self._site = self._site or Site(self._name)
            yield from self._site.call(method, order)
        except (Refused, UserError) as problem:
            yield json.dumps({REFUSED: str(problem)})

    def ready(self) -> None:
        """Return once the actor runs."""


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
                if text.startswith(f'{{"{REFUSED}"'):
                    raise Refused(json.loads(text)[REFUSED])
                yield text
        except RayTaskError as problem:
            raise Refused(f"it failed with {type(problem.cause).__name__}") from None
        except RayError:
            raise NodeLost("it no longer answers") from None


def nodes_of(connection: Mapping[str, Any]) -> tuple[Node, ...]:
    """Connect from a report, and return the nodes with these names, without those that are gone.

    Args:
        connection: What `RayCluster.connection` returned: address, names, and the names of their actors.
    Raises:
        UserError: The head does not answer.
    """
    _connect(connection["address"])
    nodes = []
    for name, actor in zip(connection["names"], connection["actors"], strict=True):
        with contextlib.suppress(ValueError):  # it was lost since then
            nodes.append(RayNode(name, ray.get_actor(actor, namespace=NAMESPACE)))
    return tuple(nodes)


def _connect(address: str) -> None:
    _say_no_errors()
    try:
        with _silent():
            ray.init(
                address=address,
                namespace=NAMESPACE,
                log_to_driver=False,
                logging_level="FATAL",
                # Nodes answer to it. Ray would take the address on the way to the internet, or that of the host's name.
                _node_ip_address=address_towards(address.rpartition(":")[0]),
            )
    except (ConnectionError, RayError, RuntimeError) as problem:
        if NO_NODE in f"{problem} {problem.__cause__}":
            raise UserError(
                "no node of that head runs on this machine: start the command on the head itself, or where "
                "`make node` runs."
            ) from None
        raise UserError(
            "the head no longer answers, or has another token: see `make node`, and docs/fleet.md."
        ) from None


def _say_no_errors() -> None:
    """Keep Ray from printing what its services report, such as a lost node with its address and a trace of C++.

    Each driver has a thread for it, whatever `log_to_driver` says, and no setting leaves it out. A version that has
    no such function is left as it is.
    """
    engine = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(engine, LISTENER):
        setattr(engine, LISTENER, lambda *_: None)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Keep what Ray's native code writes to the terminal away from it."""
    terminal, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)
        os.close(nowhere)


@dataclass
class RayCluster:
    """The nodes under a head.

    Args:
        address: The head's, as `host:port`; see `ray_node.check_head`.
    """

    address: str
    _actors: list[Any] = field(default_factory=list, init=False)
    _placed_on: dict[str, Mapping[str, Any]] = field(default_factory=dict, init=False)
    _closed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        _connect(self.address)

    def nodes(self, machine: str, most: int, *, after: int = 0) -> list[Node]:
        """See `Cluster.nodes`. Their order is that of Ray's ids, which are others once nodes are started again."""
        alive = [node for node in ray.nodes() if node["Alive"]]
        check_come(machine, most, [_machine_of(node) for node in alive])
        own = sorted((n for n in alive if _machine_of(n) == machine), key=lambda node: node["NodeID"])
        names = {f"{machine}-{number}": node for number, node in enumerate(own, after + 1)}
        until_s, found = time.monotonic() + LET_GO_S, {}
        while len(found) < most:
            for name in [name for name in names if name not in found]:
                if len(found) < most and (actor := self._place(name, names[name])):
                    found[name] = actor
            if time.monotonic() > until_s:
                raise UserError(
                    f"{most - len(found)} of {most} nodes of {machine!r} cannot be had: another fleet measures there, "
                    "wait for its end."
                )
        for name, actor in found.items():
            _wait_for(actor, name)
        return [RayNode(name, found[name]) for name in names if name in found]

    def _place(self, name: str, node: Mapping[str, Any]) -> Any | None:
        """Begin an actor that has a node whole; None where another fleet has it."""
        whole = {"num_cpus": node["Resources"].get("CPU", 0), "num_gpus": node["Resources"].get("GPU", 0)}
        strategy = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        options = dict(
            name=_actor_on(node), scheduling_strategy=strategy, max_restarts=0, max_task_retries=0, **whole
        )
        try:
            actor = ray.remote(_Actor).options(**options).remote(name)
        except ValueError:  # there is one of that name
            time.sleep(LOOK_AGAIN_S)
            return None
        self._actors.append(actor)
        self._placed_on[name] = node
        return actor

    def connection(self, nodes: Sequence[Node]) -> str:
        """See `Cluster.connection`. The token is not in it: each node has its own copy."""
        names = [node.name for node in nodes]
        actors = [_actor_on(self._placed_on[name]) for name in names]
        return json.dumps({"address": self.address, "names": names, "actors": actors}) if names else ""

    def renewed(self, nodes: Sequence[Node]) -> list[Node]:
        """See `Cluster.renewed`. An actor has one thread, and may follow a run whose rank 0 is gone."""
        for node in nodes:
            with contextlib.suppress(RayError):
                ray.kill(node.actor)
        # An actor on a node that is gone would be waited for in vain.
        alive = set() if self._closed else {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        names = [node.name for node in nodes if self._placed_on[node.name]["NodeID"] in alive]
        until_s, found = time.monotonic() + LET_GO_S, {}
        while len(found) < len(names) and time.monotonic() < until_s:
            for name in [name for name in names if name not in found]:
                if self._closed:  # Ctrl-C; Ray would begin a cluster of its own here
                    return []
                if actor := self._place(name, self._placed_on[name]):
                    found[name] = actor
        again = []
        for name, actor in found.items():
            with contextlib.suppress(UserError):  # it is lost, too
                _wait_for(actor, name)
                again.append(RayNode(name, actor))
        return again

    def close(self) -> None:
        """See `Cluster.close`."""
        self._closed = True
        for actor in self._actors:
            with contextlib.suppress(RayActorError):
                ray.kill(actor)
        ray.shutdown()


def _wait_for(actor: Any, name: str) -> None:
    try:
        ray.get(actor.ready.remote(), timeout=PLACE_S)
    except GetTimeoutError:
        raise UserError(f"{name} does not begin: something else has reserved it.") from None
    except RayError:
        raise UserError(
            f"{name} was lost as it began: see the terminal of its `make node`; or the head cannot reach its ports, "
            "which docs/fleet.md lists."
        ) from None


def _actor_on(node: Mapping[str, Any]) -> str:
    """Return the name of the actor that has a node: whatever another fleet calls the node, it has one."""
    return f"{NAMESPACE}-{node['NodeID']}"


def _machine_of(node: Mapping[str, Any]) -> str:
    """Return what a node was called with AS; "" for a head that does not measure."""
    names = [name for name in node["Resources"] if name.startswith(RESOURCE)]
    return names[0].removeprefix(RESOURCE) if names else ""
