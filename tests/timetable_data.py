"""Groups that cost what a test says, and a time that is spent on them. Nothing is measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from trainspeed.conduct.timetable import Timetable

CORE_S, OTHER_S = 10.0, 4.0


@dataclass(frozen=True)
class FakeGroup:
    name: str
    core: bool = True
    around: bool = False
    most: int = 15
    cost_s: float = CORE_S

    def place(self, number: int) -> int:
        return sum(map(ord, self.name)) * (number + 1) % 7


def block_s(group: FakeGroup) -> float:
    return group.cost_s


def cores(number: int, **fields) -> list[FakeGroup]:
    return [FakeGroup(f"core {n}", **fields) for n in range(number)]


def others(number: int, **fields) -> list[FakeGroup]:
    return [
        FakeGroup(f"other {n}", core=False, **{"most": 1, "cost_s": OTHER_S, **fields}) for n in range(number)
    ]


def spend(
    groups: list[FakeGroup],
    budget_s: float,
    slower_after_s: float = math.inf,
    factor: float = 1.0,
    grace_s: float = 0.0,
    **fields,
):
    """Return the table at the end of a time in which every block takes as long as expected, and what was done."""
    table = Timetable(groups=groups, block_s=block_s, grace_s=grace_s, **fields)
    now_s, done = 0.0, []
    for pick in (table.next, table.next_of_more):
        while (group := pick(budget_s - now_s)) is not None:
            done.append((group, table.had(group)))
            took_s = block_s(group)
            now_s += took_s * (factor if now_s >= slower_after_s else 1)
            table.took(group)
    return table, done, now_s


def counts(table: Timetable) -> dict[str, int]:
    return {group.name: table.had(group) for group in table.groups}
