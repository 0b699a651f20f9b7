"""Which blocks of which groups are measured, in which order, so that a study keeps to its time. Measures nothing.

The order in which time is given out, and the reverse of the order in which groups are left out:

1. 6 blocks of the core's groups;
2. one block of each further group;
3. 9 blocks of the core's groups: from 9 on, one block that is out of line does not move an end of an interval;
4. 6 blocks of the further groups that may have as many;
5. 9, 12, 15 … blocks of all that have come so far, alike; where that is too much for what is left, and nobody else
   can use it, of the first of them;
6. one block of what was left out, for a look at it; not of the core, where other notebooks can use the time.

What was left out of the core comes back where others were quicker than expected, if need be a little late. Only time
decides, never a result, so that no verdict can be stopped at when it looks good.

A group of the core that was begun and turns out slower than expected may end its 6 blocks after the time, within a
grace: 5 blocks have no interval, and all their time would be lost. One that cannot have 6 goes no further where
another one of the core is decided. Where it was clear from the beginning that 6 do not fit, so that they are begun as
a study is not to be empty, they may be a little late only.

A group whose trials have failed for good leaves the table: it takes no time from the others, and is none that is
decided.

Groups around all others have their first block before them and their last one after them, in any case: their time
is kept for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

FEWEST = 6  # blocks that give an interval
STEP = 3  # 7 and 8 blocks give a wider interval than 6: two more do not make up for the next pair of outliers
STEADY = FEWEST + STEP  # blocks of which one may be out of line
# Of a notebook's share of a report's time: what it takes beyond that, those after it share less.
GRACE = 0.2
# Of the grace: what was given up may be expected to end its 6 blocks so late. In a report beside a neighbour six fresh
# blocks of PyTorch, expected to take 55 s (in four others 53 to 61), were not begun with 46 s left, which went to less.
REVIVED = 0.25


class Group(Hashable, Protocol):
    """What is measured together in a block: arms that are compared, or a single one.

    Attributes:
        core: Whether it is left out last.
        around: Whether it is measured before and after all others, and compared with none of them.
        most: Number of blocks that were asked for.
    """

    core: bool
    around: bool
    most: int

    def place(self, number: int) -> int:
        """Return where in its block's random order it comes."""


G = TypeVar("G", bound=Group)


@dataclass(kw_only=True)
class Timetable(Generic[G]):
    """How many blocks each group has had, and which one is next.

    Attributes:
        groups: In the order in which they are given time.
        block_s: Returns about how many seconds a later block of a group takes.
        first_s: The same of its first one, which compiles what later ones take again, and of the first one of each
            hand; None: as `block_s`.
        counts: Blocks that each group has had.
        over: Groups of which no further block is worth measuring: see `let_go`.
        forecast_s: Of a forecast, the seconds of all hands that it gives out until its end.
        hands: How many measure side by side: the seconds that are left are those of all of them.
        grace_s: Seconds beyond the time that what was begun of the core may take to its 6 blocks.
        longest_s: Of a block: where several measure side by side, the time of all together may be enough for what no
            single one can end in time.
        yields: Whether others can use what is left of the time: the notebooks of a report that come after it.
        choose: Returns whose block is next of groups that lack some of a level; by default that of the fewest, in
            their random order.
    """

    groups: list[G]
    block_s: Callable[[G], float]
    first_s: Callable[[G], float] | None = None
    counts: dict[G, int] = field(default_factory=dict)
    over: set[G] = field(default_factory=set)
    forecast_s: float = 0.0
    hands: int = 1
    grace_s: float = 0.0
    longest_s: float = math.inf
    yields: bool = False
    choose: Callable[[Sequence[G]], G] | None = None
    _given_up: set[G] = field(default_factory=set)
    _tight: set[G] = field(default_factory=set)  # begun though their 6 blocks did not fit
    _level: int = FEWEST
    _step: tuple[G, int] | None = None  # whose step was begun alone, and to which level

    def had(self, group: G) -> int:
        """Return how many blocks a group has had."""
        return self.counts.get(group, 0)

    def takes_s(self, group: G, number: int) -> float:
        """Return about how many seconds a block of a group takes, by its number from 0."""
        return (self.first_s if self.first_s and number < self.hands else self.block_s)(group)

    def took(self, group: G) -> None:
        """Count a block of a group."""
        self.counts[group] = self.had(group) + 1

    def gave_back(self, group: G) -> None:
        """Take back the count of a block that was lost, and that there is no time for any more."""
        self.counts[group] = self.had(group) - 1

    def let_go(self, groups: set[G]) -> None:
        """Give no time to these groups any more, as their trials would fail again.

        What was given up since the time was not enough for all has another try with what they leave.
        """
        if not groups <= self.over:
            self._given_up.clear()
        self.over = groups

    @property
    def _open(self) -> list[G]:
        return [group for group in self.groups if group not in self.over]

    @property
    def is_in_level(self) -> bool:
        """Whether groups of the level that was begun last still lack blocks of it."""
        growing = [group for group in self._open if self._grows(group)]
        steadier = any(g.core and FEWEST < self.had(g) < min(STEADY, g.most) for g in growing)
        return steadier or bool(self._below(growing, self._level)) or self._stepping is not None

    @property
    def _stepping(self) -> G | None:
        """The group whose step was begun and is not done."""
        group, level = self._step or (None, 0)
        return group if group in self._open and self.had(group) < min(level, group.most) else None

    def next(self, left_s: float) -> G | None:
        """Return whose block is next until every group has its first ones; None where nothing else of these fits."""
        of_first = self.next_of_first(left_s)
        left_s -= self.hands * self.after_s
        return of_first or self._steadier(left_s) or self._of_others(left_s, FEWEST)

    def next_of_first(self, left_s: float) -> G | None:
        """Return whose block is next until the core is decided and the rest was looked at; None where no more fits.

        The first group of the core gets a block in any case, so that a study is never empty.
        """
        left_s -= self.hands * self.after_s  # all wait for the one hand that measures these
        return self._around(before=True) or self._of_core(left_s) or self._of_others(left_s, 1)

    def next_of_more(self, left_s: float) -> G | None:
        """Return whose block is next after those; None where no further level fits, or the machine got slower."""
        return self._larger(left_s - self.hands * self.after_s) or self._around(before=False)

    def _around(self, *, before: bool) -> G | None:
        """Return a group around all others that lacks its first block, or its last ones."""
        around = (group for group in self._open if group.around)
        return next((g for g in around if self.had(g) < (min(1, g.most) if before else g.most)), None)

    @property
    def after_s(self) -> float:
        """Seconds of the last blocks of the groups around all others; those that they have had count too."""
        return sum((g.most - 1) * self.block_s(g) for g in self._open if g.around and g.most)

    def _larger(self, left_s: float) -> G | None:
        if (begun := self._stepping) is not None and self._needed_s([begun], 1 + self.had(begun)) <= left_s:
            return begun
        growing = [group for group in self._open if self._grows(group)]
        behind, level = self._below(growing, self._level), self._level
        most = max((group.most for group in growing), default=0)
        while not behind and level < most:
            level += STEP
            behind = self._below(growing, level)
            if self._needed_s(behind, level) <= left_s:
                self._level = level if behind else self._level
            elif self.yields:
                return self._for_a_look(left_s)
            else:  # one after the other: where the machine gets slower, one at most is left between two levels
                behind = [group for group in behind if self._needed_s([group], level) <= left_s][:1]
                self._step = (behind[0], level) if behind else self._step
        if not behind:
            return self._for_a_look(left_s)
        block = self._of_least(behind)
        begins = len(block) == len(behind)
        if begins and self._needed_s(block, 1 + self.had(block[0])) > left_s:
            return None
        group = self._first(behind)
        return group if self.block_s(group) <= self.longest_s else None

    def _for_a_look(self, left_s: float) -> G | None:
        unseen = (group for group in self._open if not self.had(group) and not group.around)
        if self.yields:
            unseen = (group for group in unseen if not (group.core and group.most >= FEWEST))
        return next((group for group in unseen if self._needed_s([group], 1) <= left_s), None)

    def _of_core(self, left_s: float) -> G | None:
        core = [group for group in self._open if group.core and group not in self._given_up]
        if unseen := [group for group in core if not self.had(group)]:
            begun = [group for group in core if self.had(group)]
            # A study is not to be empty: not even where what it began with failed for good, as far as its time goes.
            failed = any(group.core for group in self.over)
            for group in unseen:
                first = not begun and (not failed or self._needed_s([group], 1) <= left_s)
                fits = self._needed_s([*begun, group], FEWEST) <= left_s
                if first or fits:
                    self._tight |= set() if fits else {group}
                    return group
                self._given_up.add(group)
        behind = self._below([group for group in core if self.had(group)], FEWEST)
        late_s = left_s + (REVIVED if self._tight & {*behind} else 1.0) * self.grace_s
        while len(behind) > 1 and self._needed_s(behind, FEWEST) > late_s:
            self._given_up.add(behind.pop())
        if len(behind) == 1 and self._needed_s(behind, FEWEST) > late_s:
            # Where nothing of the core can have 6, as many as fit.
            decided = any(self.had(group) >= FEWEST for group in core)
            if decided or self._needed_s(behind, 1 + self.had(behind[0])) > left_s:
                self._given_up.add(behind.pop())
        return self._first(behind) if behind else self._revived(left_s)

    def _revived(self, left_s: float) -> G | None:
        """Return a group of the core that was given up and fits now, or nearly: others were quicker than expected."""
        for group in self._below((g for g in self._open if g.core and g in self._given_up), FEWEST):
            late_s = REVIVED * self.grace_s if group.most >= FEWEST else 0.0
            if left_s > 0 and self._needed_s([group], FEWEST) <= left_s + late_s:
                self._given_up.remove(group)
                return group
        return None

    def _steadier(self, left_s: float) -> G | None:
        """Return a group of the core that has 6 blocks or more, and may have 9; the last ones do without."""
        behind = self._below([group for group in self._open if group.core and self._grows(group)], STEADY)
        behind = [group for group in behind if self._needed_s([group], STEADY) <= left_s]
        while behind and self._needed_s(behind, STEADY) > left_s:
            behind.pop()
        return self._first(behind) if behind else None

    def _of_others(self, left_s: float, level: int) -> G | None:
        others = (g for g in self._open if not (g.core or g.around) and g not in self._given_up)
        for group in self._below(others, level):
            if self._needed_s([group], level) <= left_s:
                return group
            self._given_up.add(group)
        return None

    def _below(self, groups: Iterable[G], level: int) -> list[G]:
        """Return the groups that have had fewer blocks, and are to have more."""
        return [group for group in groups if self.had(group) < min(level, group.most)]

    def _first(self, behind: Sequence[G]) -> G:
        return self.choose(behind) if self.choose else self._of_least(behind)[0]

    def _of_least(self, groups: Sequence[G]) -> list[G]:
        """Return those that have had the fewest blocks, in their random order."""
        least = min(map(self.had, groups))
        return sorted((g for g in groups if self.had(g) == least), key=lambda group: group.place(least))

    def _grows(self, group: G) -> bool:
        return not group.around and group not in self._given_up and self.had(group) >= min(FEWEST, group.most)

    def _needed_s(self, groups: Iterable[G], level: int) -> float:
        """Return the seconds until these groups have so many blocks, or all that were asked for."""
        needed_s = 0.0
        for group in groups:
            had, end = self.had(group), min(level, group.most)
            if had >= end:
                continue
            if self.takes_s(group, had) > self.longest_s:
                return math.inf
            firsts = max(0, min(self.hands, end) - had)
            needed_s += (end - had - firsts) * self.block_s(group)
            needed_s += firsts * self.takes_s(group, 0)
        return needed_s

    def forecast(self, left_s: float = math.inf) -> Timetable[G]:
        """Return the timetable at its end, if all takes as long as expected."""
        # Looked up once: they do not change meanwhile, and a plan may have hundreds of groups.
        firsts_s, laters_s = (
            {group: of(group) for group in self.groups} for of in (self.first_s or self.block_s, self.block_s)
        )
        costs = {"block_s": laters_s.__getitem__, "first_s": firsts_s.__getitem__}
        copy = Timetable(groups=self.groups, counts=dict(self.counts), hands=self.hands, **costs)
        copy.grace_s, copy.yields, copy.over = self.grace_s, self.yields, set(self.over)
        copy._given_up, copy._tight = set(self._given_up), set(self._tight)
        copy._level, copy._step = self._level, self._step
        for pick in (copy.next, copy.next_of_more):
            while (group := pick(left_s)) is not None:
                takes_s = copy.takes_s(group, copy.had(group)) * (self.hands if group.around else 1)
                copy.forecast_s += takes_s
                left_s -= takes_s
                copy.took(group)
        return copy
