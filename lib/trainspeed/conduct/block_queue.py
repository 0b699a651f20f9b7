"""Whose block is next, and who measures it: this machine alone, or this machine and its twins side by side.

A block goes to one of them whole. Each of them is a hand here: knows no node and no process.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

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

    What is left of the time is that of all hands together: a timetable gives out its sum. No hand begins a block that
    it would not end in time.

    Attributes:
        table: Gives out the time.
        end_s: `time.monotonic()` at which the time is over.
        ask: Returns further groups: what depends on the runs so far.
        ask_spare: Returns what to measure then in the seconds that are left, after all that is in the table.
        left_of: Returns what is left to measure of a group's block.
        in_vain: Returns whether a group's block is not worth measuring, as its trials would fail again.
        begin: Is told of groups that are new in the table.
        depends: Whether `ask` or `ask_spare` may return something.
        asks_first: Whether it is asked before what is decided has more blocks: what it returns is to be decided, too.
        hands: How many measure.
        problem: What ended it before its time; None where nothing did.
    """

    table: Timetable[PlannedGroup]
    end_s: float
    left_of: Callable[[PlannedGroup, int], Sequence[Planned]]
    begin: Callable[[Sequence[PlannedGroup]], None]
    in_vain: Callable[[PlannedGroup, int], bool] = lambda group, number: False
    ask: Callable[[], list[PlannedGroup]] = list
    ask_spare: Callable[[float], list[PlannedGroup]] = lambda left_s: []
    depends: bool = False
    asks_first: bool = False
    hands: int = 1
    problem: Exception | None = field(default=None, init=False)
    lock: threading.Condition = field(default_factory=threading.Condition)
    _out: dict[Block, float] = field(default_factory=dict, init=False)  # block -> when it was given out
    _back: list[Block] = field(default_factory=list, init=False)
    _given: dict[PlannedGroup, set[int]] = field(default_factory=dict, init=False)  # numbers of its blocks
    _hand_of: dict[int, str] = field(
        default_factory=dict, init=False
    )  # number -> who measures it of all groups
    _over: bool = field(default=False, init=False)
    _asked_in_vain: bool = field(default=False, init=False)
    _kept: bool = field(default=False, init=False)  # what is next, for this machine

    @property
    def left_s(self) -> float:
        """Seconds that all hands have together until the time is over, but for what is being measured."""
        left_s = self.end_s - time.monotonic()
        return left_s if left_s == math.inf else left_s * self.hands - self._busy_s

    @property
    def _busy_s(self) -> float:
        """Seconds that what is being measured still takes."""
        now_s = time.monotonic()
        takes_s = self.table.takes_s
        return sum(max(0.0, takes_s(b.group, b.number) - now_s + at_s) for b, at_s in self._out.items())

    def outlook(self) -> tuple[int, float]:
        """Return how many runs are being measured or still to come, and about how many seconds all that takes."""
        self.table.hands = max(1, self.hands)
        end = self.table.forecast(self.left_s)
        to_come = (group.blocks[self.table.had(group) : end.had(group)] for group in end.groups)
        runs = sum(map(len, (block for blocks in to_come for block in blocks)))
        runs += sum(len(block.planned) for block in (*self._out, *self._back))
        return runs, (end.forecast_s + self._busy_s) / max(1, self.hands)

    def take(self, hand: str = "", *, wait: bool = True) -> Block | None:
        """Return the next block, to be measured whole and then given to `finished` or to `lost`; None at the end.

        What is measured before and after all others shows whether a machine is still the same: it is for this one
        alone, and the twins wait.

        Args:
            hand: Name of a twin; empty for this machine.
            wait: Whether to wait where others still measure what may decide what is next, or may be lost; else None
                is returned there, too.
        """
        with self.lock:
            while not self._over:
                if block := self._next(hand):
                    self._out[block] = time.monotonic()
                    self.lock.notify_all()
                    return block
                if not self._out and not self._kept:
                    self.end()
                elif not wait:
                    break
                else:
                    self.lock.wait()
            return None

    def joined(self) -> None:
        """Say that another one measures from now on."""
        with self.lock:
            self.hands += 1

    def left(self) -> None:
        """Say that one of those that measure does so no longer."""
        with self.lock:
            self.hands -= 1
            self.lock.notify_all()

    def finished(self, block: Block) -> None:
        """Say that a block has been measured."""
        with self.lock:
            del self._out[block]
            self.lock.notify_all()

    def lost(self, block: Block, *, begun: bool = True) -> None:
        """Give a block back whose node was lost: it is measured anew, whole, by somebody else.

        Args:
            begun: Whether the node had begun to measure it, so that the block may be why.
        """
        with self.lock:
            del self._out[block]
            if begun and block.losses == MOST_LOSSES:
                self.fail(
                    UserError(
                        f"{MOST_LOSSES + 1} nodes were lost while they measured the same block: look at what ends "
                        "them, then go on with RESUME=1."
                    )
                )
            else:
                self._back.append(replace(block, losses=block.losses + begun))
                self.lock.notify_all()

    def end(self) -> None:
        """Give out nothing more."""
        with self.lock:
            self._over = True
            self.lock.notify_all()

    def fail(self, problem: Exception) -> None:
        """Give out nothing more, for a reason that ends the study."""
        with self.lock:
            self.problem = self.problem or problem
            self.end()

    def _next(self, hand: str) -> Block | None:
        self._kept = False
        self.table.hands = max(1, self.hands)
        one_s = self.end_s - time.monotonic() - self.table.after_s
        self.table.longest_s = one_s if self.hands > 1 else math.inf
        self.table.choose = partial(self._choice, hand) if self.hands > 1 else None
        if block := self._next_of_lost():
            return block
        while True:
            self._let_go()
            left_s = self.left_s
            group = self.table.next_of_first(left_s) if self.asks_first else self.table.next(left_s)
            if group is None and self.depends:
                if self._out:
                    # What is being measured may decide. Not so between the blocks of a level that was begun after it
                    # had nothing to ask for: one hand alone would ask between them, many would wait for each other.
                    if not (self._asked_in_vain and self.table.is_in_level):
                        return None
                elif more := self.ask() or self._spare(left_s):
                    self._asked_in_vain = False
                    self.table.groups += more
                    self.begin(more)
                    continue
                else:
                    self._asked_in_vain = True
            group = group or self.table.next(left_s) or self.table.next_of_more(left_s)
            if group is None:
                return None
            if group.around and (hand or (self.table.had(group) and self._out)):
                self._kept = True
                return None
            number = self._number_for(hand, group)
            self.table.took(group)
            if left := self.left_of(group, number):
                return Block(group=group, number=number, planned=left)

    def _let_go(self) -> None:
        """Take the groups out of the table that have nothing more that is worth measuring."""
        wanted = [group for group in self.table.groups if self.table.had(group) < group.most]
        self.table.let_go({group for group in wanted if next(self._free(group), None) is None})

    def _spare(self, left_s: float) -> list[PlannedGroup]:
        return [] if self.asks_first and self.table.next(left_s) else self.ask_spare(left_s)

    def _next_of_lost(self) -> Block | None:
        """Return a block that was lost; the time may not be enough for it any more, but for a first one."""
        while self._back:
            block = self._back.pop(0)
            takes_s = self.table.takes_s(block.group, block.number)
            if not block.number or takes_s <= self.end_s - time.monotonic():
                return block
            self.table.gave_back(block.group)
            self._given[block.group].remove(block.number)
        return None

    def _choice(self, hand: str, groups: Sequence[PlannedGroup]) -> PlannedGroup:
        """Return the group whose block a hand is to measure, of those that lack some of a level.

        Trials of two groups are compared block by block, too, if they are of one node: a hand goes on with the same
        block of all groups, where that can be.
        """

        def rank(group: PlannedGroup) -> tuple[bool, int, int]:
            had = self.table.had(group)
            return not self._own(hand, group), had, group.place(had)

        return min(groups, key=rank)

    def _number_for(self, hand: str, group: PlannedGroup) -> int:
        """Return which block of a group a hand measures; of a group that may have no second one, the first."""
        free = [*self._free(group)]
        new = (number for number in free if number not in self._hand_of)
        in_order = self.hands == 1 or (not group.core and free[0] == 0)
        number = free[0] if in_order else next(iter(self._own(hand, group)), next(new, free[0]))
        self._given[group].add(number)
        self._hand_of.setdefault(number, hand)
        return number

    def _own(self, hand: str, group: PlannedGroup) -> list[int]:
        """Return the blocks that a group lacks and that the hand has measured of others."""
        return [number for number in self._free(group) if self._hand_of.get(number) == hand]

    def _free(self, group: PlannedGroup) -> Iterator[int]:
        """Yield the blocks that a group lacks, and that are worth measuring."""
        given = self._given.setdefault(group, {*range(self.table.had(group))})
        return (n for n in range(group.most) if n not in given and not self.in_vain(group, n))
