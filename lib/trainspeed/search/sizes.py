"""How large the stages of a search are, so that it ends in its time. Decides nothing by a result.

What is left out where time is short, in this order:

1. the third and fourth large switch that are left out one by one in the fresh blocks;
2. half of the blocks of the elimination;
3. all that are left out in the fresh blocks, of which there are 6: they say what all bring together, and no more;
4. the elimination, first half of what is left of it: the screen decides what is confirmed;
5. columns of the screen: 16 and then 8, for the switches that are quickest alone;
6. the races: what was seen of each alone decides;
7. the screen: what was seen of each alone decides, and the fresh blocks;
8. what was not looked at alone yet, in the reverse of the registry's order: see `stages`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from trainspeed.core.run import Role
from trainspeed.search.confirm import BLOCKS, LARGE, LARGES
from trainspeed.search.design import COLUMNS, PARTS
from trainspeed.search.findings import Feasible
from trainspeed.search.known import Known
from trainspeed.search.race import BLOCKS as RACE_BLOCKS

ELIMINATE_BLOCKS = 15
TOGETHER_RUNS = (
    2  # of what is promising and of the plain trial, where no screen tells whether it goes together
)
SPARE = 1.1  # of what runs take by themselves: starting, writing, a second round of the elimination


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much of each stage there is.

    Attributes:
        races: Blocks of each race; 0 for none.
        columns: Of the screen; 0 for none.
        eliminate: Blocks of a round of the elimination; 0 for none.
        large: Switches that are left out one by one in fresh blocks; 0 for neither these nor the small ones.
        confirm: Fresh blocks that the time has to be enough for.
    """

    races: int
    columns: int
    eliminate: int
    large: int
    confirm: int

    def runs(self, raced: int) -> dict[str, int]:
        """Return stage -> number of runs, where so many switches are raced."""
        left_out = self.large + 1 if self.large else 0
        return {
            Role.RACE: self.races * (raced + math.ceil(raced / 5)),
            Role.SCREEN: 2 * self.columns,
            Role.ELIMINATE: PARTS * self.eliminate,
            Role.TOGETHER: 0 if self.columns else TOGETHER_RUNS,
            Role.RECIPE: (2 + left_out) * self.confirm,
            Role.PLAIN_AGAIN: self.confirm,
        }


def options(count: int, confirm: int) -> list[Sizes]:
    """Return what a search of so many switches may be, the largest first: see the module.

    Args:
        confirm: Fresh blocks that were asked for; more than are usual come out of time that is left over.
    """
    whole = columns_for(count)
    fewest, usual = min(confirm, 6), min(confirm, BLOCKS)
    full = Sizes(races=RACE_BLOCKS, columns=whole, eliminate=ELIMINATE_BLOCKS, large=LARGE, confirm=usual)
    found = [full]

    def less(**fewer: int) -> None:
        found.append(Sizes(**{**found[-1].__dict__, **fewer}))

    less(large=LARGES[1])
    less(eliminate=ELIMINATE_BLOCKS // 2)
    less(large=0, confirm=fewest)
    less(eliminate=ELIMINATE_BLOCKS // 4)
    less(eliminate=0)
    for columns in sorted((c for c in COLUMNS if c < whole), reverse=True):
        less(columns=columns, eliminate=ELIMINATE_BLOCKS // 4)
        less(eliminate=0)
    less(races=0)
    less(columns=0)
    return found


def columns_for(count: int) -> int:
    """Return how many columns a screen of so many switches has: of 8 two are empty, or the noise cannot be told."""
    return next((c for c in COLUMNS if c >= count + (2 if c == COLUMNS[0] else 0)), COLUMNS[-1])


def sizes_for(
    known: Known, found: Sequence[Feasible], count: int, raced: int, confirm: int, budget_s: float | None
) -> Sizes:
    """Return the largest search that ends in its time, by what runs of each switch alone took.

    Args:
        count: Switches that may enter the screen.
        raced: Switches that are raced.
        budget_s: Seconds for the whole search, the runs so far among them; None for any time.
    """
    possible = options(count, confirm)
    if budget_s is None:
        return possible[0]
    spent_s = SPARE * sum(one.run.busy_s for one in known.ran)
    cost_s = run_cost_s(found)
    for sizes in possible:
        runs = sizes.runs(raced)
        had = {stage: len(known.of(stage)) for stage in runs}
        ahead = sum(max(0, runs[stage] - had[stage]) for stage in runs)
        if spent_s + SPARE * ahead * cost_s <= budget_s:
            return sizes
    return possible[-1]


def run_cost_s(found: Sequence[Feasible]) -> float:
    """Return about how many seconds a run takes with half of the switches on.

    What one adds, such as the time to compile, adds up; what one saves is counted as nothing, as turns last alike.
    """
    pairs = [(o.cost_s, o.plain_cost_s) for o in found if o.cost_s is not None and o.plain_cost_s is not None]
    if not pairs:
        return 0.0
    return fmean(plain for _, plain in pairs) + sum(max(0.0, cost - plain) for cost, plain in pairs) / 2
