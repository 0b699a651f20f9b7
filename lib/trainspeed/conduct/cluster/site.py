"""What a node does for others: it says what it is, runs a report, measures blocks of a twin's study. Knows no engine.

A method takes an order as JSON and yields its answers, as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from trainspeed.conduct.cluster.clean import clean_process
from trainspeed.conduct.cluster.facts import node_facts
from trainspeed.conduct.cluster.guest_study import GuestStudy
from trainspeed.conduct.cluster.node_folder import NodeFolder
from trainspeed.conduct.cluster.orders import (
    AddressOrder,
    BlockOrder,
    FollowOrder,
    Reply,
    ReportOrder,
    encode_message,
)
from trainspeed.conduct.cluster.report_process import run_report
from trainspeed.sensors.network import address_towards


class Site:
    """A node, in a process of its own on its machine.

    Args:
        name: What it is called: "a10g-2".
    """

    def __init__(self, name: str) -> None:
        clean_process()
        self.name = name
        self._folder = NodeFolder()
        self._folder.keep_temporary_files()
        self._guest: GuestStudy | None = None

    def call(self, method: str, order: str) -> Iterator[str]:
        """Yield the answers of a method, by name."""
        methods = {"facts": self.facts, "report": self.report}
        methods |= {"start": self.start, "measure": self.measure, "end": self.end}
        methods |= {"address": self.address, "follow": self.follow}
        yield from methods[method](order)

    def facts(self, order: str) -> Iterator[str]:
        """Yield what must be equal on nodes that share blocks."""
        yield encode_message(Reply(facts=node_facts()))

    def report(self, order: str) -> Iterator[str]:
        """Run a report here, and yield what it writes and prints, as it comes."""
        asked = msgspec.json.decode(order, type=ReportOrder)
        self._end_guest()  # what a first node that was lost has left
        for answer in run_report(asked, self.name, self._folder.path):
            yield encode_message(answer)

    def start(self, order: str) -> Iterator[str]:
        """Import what the runs of a study need, before anything is measured."""
        asked = msgspec.json.decode(order, type=BlockOrder)
        self._guest_of(asked).start([run.planned() for run in asked.runs])
        yield encode_message(Reply())

    def measure(self, order: str) -> Iterator[str]:
        """Measure a block of a study: yield that it has begun, then the lines of its runs."""
        asked = msgspec.json.decode(order, type=BlockOrder)
        guest = self._guest_of(asked)
        yield encode_message(Reply())
        for answer in guest.measure([run.planned() for run in asked.runs], asked.rounds):
            yield encode_message(answer)

    def address(self, order: str) -> Iterator[str]:
        """Yield this node's address on the way to another."""
        asked = msgspec.json.decode(order, type=AddressOrder)
        yield encode_message(Reply(address=address_towards(asked.towards)))

    def follow(self, order: str) -> Iterator[str]:
        """Fork this node's ranks of a run that several nodes train together, and yield how that ended."""
        asked = msgspec.json.decode(order, type=FollowOrder)
        yield encode_message(self._guest_of(asked).follow(asked))

    def end(self, order: str) -> Iterator[str]:
        """End the workers of a study that is measured no longer, and yield what the monitor saw last."""
        for answer in self._end_guest():
            yield encode_message(answer)

    def _end_guest(self) -> list[Reply]:
        guest, self._guest = self._guest, None
        return [*guest.end()] if guest else []

    def _guest_of(self, asked: BlockOrder) -> GuestStudy:
        """Return the study of another node, with its warm workers here; that of another one ends."""
        if self._guest and self._guest.key != (asked.session, asked.study):
            self._end_guest()
        if self._guest is None:
            self._guest = GuestStudy(asked, self.name, self._folder.new())
        self._guest.take(asked.sources)
        return self._guest
