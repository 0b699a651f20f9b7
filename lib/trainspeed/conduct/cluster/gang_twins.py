"""Twins that train with this node: for each run of several nodes they fork the other ranks, which follow rank 0."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainspeed.conduct.cluster.node import Node, NodeLost, Refused
from trainspeed.conduct.cluster.orders import (
    AddressOrder,
    FollowEnd,
    FollowOrder,
    PlannedRun,
    answer_of,
    encode_message,
)
from trainspeed.conduct.cluster.twins import sources_of
from trainspeed.conduct.context import TWINS_VARIABLE
from trainspeed.conduct.forked_run import ForkedRun, RunOutcome
from trainspeed.conduct.gangs import GangIncomplete, judged
from trainspeed.conduct.turns import ROUNDS
from trainspeed.core.result import Failure
from trainspeed.core.run import Status
from trainspeed.sensors.network import address_towards, free_port, interface_of
from trainspeed.worker.gang import Gang
from trainspeed.worker.request import Request

TELL_S = 90.0  # until an engine says that a node whose cable was pulled is lost: seen, 62 s
END_S = 30.0  # until a run that follows is over, when rank 0's has ended well
FORKED_S = 0.1


@dataclass
class TwinFollowers:
    """Runs on twins that follow one here: see `Followers`."""

    gang: Gang
    nodes: Sequence[Node]
    orders: Sequence[str]
    _lost: str | None = field(default=None, init=False)
    _failed: RunOutcome | None = field(default=None, init=False)
    _threads: list[threading.Thread] = field(default_factory=list, init=False)

    def follow(self, run: ForkedRun) -> None:
        """See `Followers.follow`."""
        for node, order in zip(self.nodes, self.orders, strict=True):
            words = {"target": self._await, "args": (node, order, run), "name": node.name}
            self._threads.append(threading.Thread(**words, daemon=True))
            self._threads[-1].start()

    def ended(self, outcome: RunOutcome) -> RunOutcome:
        """See `Followers.ended`."""
        until_s = time.monotonic() + (END_S if outcome.status is Status.OK else TELL_S)
        for thread in self._threads:
            thread.join(max(0.0, until_s - time.monotonic()))
        return judged(outcome, self._lost, self._failed)

    def _await(self, node: Node, order: str, run: ForkedRun) -> None:
        try:
            told = FollowEnd(status=Status.CRASHED)
            for line in node.call("follow", order):
                told = answer_of(line).ended or told
            if told.status is Status.OK:
                return
            reason = f"on {node.name}: {told.reason or 'it said nothing'}"
            self._failed = self._failed or RunOutcome(status=told.status, reason=reason, failure=Failure())
        except Refused as problem:
            reason = f"on {node.name}: {problem}"
            # Another report measures there, its disk is full: that may end, and what is unsupported is final.
            self._failed = RunOutcome(status=Status.CRASHED, reason=reason, failure=Failure())
        except (NodeLost, ValueError):
            self._lost = node.name
        while run.outcome is None:  # else it waits for a rank that never comes
            run.kill()
            time.sleep(FORKED_S)


class TwinGangs:
    """This node and its twins: see `Gangs`.

    Args:
        address: This node's own, in the fleet's network.
        settings: Fields of the study for `FollowOrder`.
    """

    def __init__(self, nodes: Sequence[Node], address: str, settings: Mapping[str, Any]) -> None:
        self._twins, self._own, self._settings = nodes, address, settings
        self._addresses: dict[str, str] = {}

    @property
    def nodes(self) -> int:
        """See `Gangs.nodes`."""
        return 1 + len(self._twins)

    def begin(self, request: Request, limit_s: float) -> TwinFollowers:
        """See `Gangs.begin`."""
        trial = request.trial
        others = self._twins[: trial.nodes - 1]
        if len(others) < trial.nodes - 1:
            raise GangIncomplete(f"it is for {trial.nodes} nodes, and there are {self.nodes}")
        addresses = (self._own, *map(self._address_of, others))
        gang = Gang(addresses=addresses, port=free_port(self._own), interface=interface_of(self._own))
        run = PlannedRun(block=0, label="", trial=trial.as_dict())
        orders = [
            encode_message(
                FollowOrder(
                    runs=(run,),
                    addresses=addresses,
                    port=gang.port,
                    node=number,
                    limit_s=limit_s,
                    accuracy_blocks=0,
                    rounds=ROUNDS,
                    sources=sources_of([trial.model]),
                    **self._settings,
                )
            )
            for number in range(1, trial.nodes)
        ]
        return TwinFollowers(gang, others, orders)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Of this node and of those that have trained with it: no text that is kept may hold one."""
        return (self._own, *self._addresses.values())

    def _address_of(self, node: Node) -> str:
        if node.name not in self._addresses:
            try:
                (line,) = node.call("address", encode_message(AddressOrder(towards=self._own)))
                address = answer_of(line).address
            except (NodeLost, Refused, ValueError):
                address = None
            if address is None:
                raise GangIncomplete(f"a node was lost: {node.name}")
            self._addresses[node.name] = address
        return self._addresses[node.name]


def gangs_here(twins: Sequence[Node], **settings: Any) -> TwinGangs | None:
    """Return this node and its twins, to train together; None where there are none.

    Args:
        settings: Fields of the study for `FollowOrder`.
    """
    if not twins:
        return None
    head = json.loads(os.environ[TWINS_VARIABLE])["address"].rpartition(":")[0].strip("[]")
    return TwinGangs(twins, address_towards(head) or head, settings)
