"""Whose block is next, and who measures it: this machine alone, or this machine and its twins side by side.

A block goes to one of them whole. Knows no node and no process.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from trainspeed.conduct.groups import PlannedGroup
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.errors import UserError

MOST_LOSSES = 2  # a block that three nodes were lost with may be why


@dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """A block of a group, or what a resumed session has left of it.

    Attributes:
        number: From 0.
        planned: Its runs.
        losses: How many nodes have been lost with it.
    """

    group: PlannedGroup
    number: int
    planned: Sequence[Planned]
    losses: int = 0


@dataclass(kw_only=True)
class BlockQueue:
    """Blocks in the order of a timetable, for one or several that measure.

    Attributes:
        table: Gives out the time.
        end_s: `time.monotonic()` at which the time is over.
        ask: Returns further groups, given the seconds that are left: what depends on the runs so far.
        left_of: Returns what is left to measure of a group's block.
        begin: Is told of groups that are new in the table.
        starting: Is told of a block that is taken, before the table counts it.
        depends: Whether `ask` may return something.
    """

    table: Timetable[PlannedGroup]
    end_s: float
    ask: Callable[[float], list[PlannedGroup]]
    left_of: Callable[[PlannedGroup, int], Sequence[Planned]]
    begin: Callable[[Sequence[PlannedGroup]], None]
    starting: Callable[[Sequence[Planned], float], None] = lambda planned, left_s: None
    depends: bool = False
    hands: int = 1
    lock: threading.Condition = field(default_factory=threading.Condition)
    _out: int = field(default=0, init=False)
    _back: list[Block] = field(default_factory=list, init=False)
    _over: bool = field(default=False, init=False)

    @property
    def left_s(self) -> float:
        """Seconds until the time is over."""
        return self.end_s - time.monotonic()

    def take(self) -> Block | None:
        """Return the next block, to be measured whole and then given to `finished` or to `lost`; None at the end.

        Waits where others still measure what may decide what is next, or may be lost.
        """
        with self.lock:
            while not self._over:
                if block := self._next():
                    self._out += 1
                    return block
                if not self._out:
                    self._over = True
                    self.lock.notify_all()
                    break
                self.lock.wait()
            return None

    def finished(self) -> None:
        """Say that a block has been measured."""
        with self.lock:
            self._out -= 1
            self.lock.notify_all()

    def lost(self, block: Block) -> None:
        """Give a block back whose node was lost: it is measured anew, whole, by somebody else.

        Raises:
            UserError: It has taken too many nodes along.
        """
        with self.lock:
            self._out -= 1
            self.hands -= 1
            if block.losses == MOST_LOSSES:
                self._over = True
                self.lock.notify_all()
                raise UserError(
                    f"{MOST_LOSSES + 1} nodes were lost while they measured the same block: look at what ends them, "
                    "then go on with RESUME=1."
                )
            self._back.append(replace(block, losses=block.losses + 1))
            self.lock.notify_all()

    def end(self) -> None:
        """Give out nothing more."""
        with self.lock:
            self._over = True
            self.lock.notify_all()

    def _next(self) -> Block | None:
        while True:
            if self._back:
                return self._back.pop(0)
            left_s = self.left_s * self.hands if self.left_s < math.inf else math.inf
            group = self.table.next(left_s)
            if group is None and self.depends:
                if self._out:
                    return None  # what is being measured decides
                if more := self.ask(left_s):
                    self.table.groups += more
                    self.begin(more)
                    continue
            group = group or self.table.next_of_more(left_s)
            if group is None:
                return None
            number = self.table.had(group)
            if left := self.left_of(group, number):
                self.starting(left, self.left_s)
            self.table.took(group)
            if left:
                return Block(group=group, number=number, planned=left)
