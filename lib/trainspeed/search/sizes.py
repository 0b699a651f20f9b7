"""How large the stages of a search are, so that it ends in its time. Decides nothing by a result.

What is left out where time is short, in this order:

1. the third and fourth large switch that are left out one by one in the fresh blocks;
2. half of the blocks of the elimination;
3. all that are left out in the fresh blocks, of which there are 6: they say what all bring together, and no more;
4. the elimination, first half of what is left of it: the screen decides what is confirmed;
5. columns of the screen: 24, 20, 16, 12 and then 8, for the switches that are quickest alone;
6. the races: what was seen of each alone decides;
7. the screen: what was seen of each alone decides, and the fresh blocks;
8. what was not looked at alone yet, in the reverse of the registry's order: see `stages`.

So it is planned with the longest runs that may come. What is left over as a stage ends is spent: see `in_time`.

Where a few switches, such as a compiler, make every run long, they leave no time for a screen: then it is one without
them, and they are on and off beside all that is promising, which takes fewer runs: see `toggle`. Where there is no
screen at all, what looked quick is looked at alone once more.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from trainspeed.core.run import Role
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.search.confirm import BLOCKS, LARGE, LARGES
from trainspeed.search.design import COLUMNS, PARTS
from trainspeed.search.feasible import looks_had
from trainspeed.search.findings import Feasible
from trainspeed.search.known import Known
from trainspeed.search.race import BLOCKS as RACE_BLOCKS
from trainspeed.search.switch import Set, Switch
from trainspeed.search.toggle import blocks_had

ELIMINATE_BLOCKS = 15
LOOKS = (4, 2, 1)  # more blocks of what looked quick alone; with the first one too few for an interval
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
        looks: Blocks in which what looked quick alone is looked at again; where there is a screen, in which what was
            too long for it is on and off beside what is promising: see `toggle`.
        eliminate: Blocks of a round of the elimination; 0 for none.
        large: Switches that are left out one by one in fresh blocks; 0 for neither these nor the small ones.
        confirm: Fresh blocks that the time has to be enough for.
    """

    races: int
    columns: int
    looks: int = 0
    eliminate: int
    large: int
    confirm: int

    def runs(self, raced: int) -> dict[str, int]:
        """Return stage -> number of runs, where so many switches are raced; without those that are looked at again."""
        left_out = self.large + 1 if self.large else 0
        return {
            Role.RACE: self.races * (raced + math.ceil(raced / 5)),
            Role.SCREEN: 2 * self.columns,
            Role.ELIMINATE: PARTS * self.eliminate,
            Role.TOGETHER: 0 if self.columns else TOGETHER_RUNS,
            Role.RECIPE: (2 + left_out) * self.confirm,
            Role.PLAIN_AGAIN: self.confirm,
        }

    def ahead_s(
        self, known: Known, costs: Costs, raced: Set, entered: Set, long: Set, late: Set, promising: Set
    ) -> float:
        """Return about how many seconds the runs take that are still missing.

        Args:
            raced, entered: Switches that are raced, and that may enter the screen.
            long: Those that take too long for it, and were not clearly slower alone.
            late: Those that come in with the elimination.
            promising: Those that the runs so far speak for: a screen that has not run yet may speak for others.
        """
        likely = tuple(dict.fromkeys((*entered, *promising))) if self._screens_yet(known) else promising
        runs = self.runs(len(raced))
        alone_only = len(long) > 1 or not self.looks  # no block has all that takes long beside the others
        if alone_only and not set(long).isdisjoint(promising):
            runs[Role.TOGETHER] = TOGETHER_RUNS
        plain_s, all_s, once_s = costs.of(()), costs.of(likely), costs.once(likely)
        run_s = {
            Role.RACE: costs.of(raced, 1 / len(raced)) if raced else plain_s,
            Role.SCREEN: costs.of(entered, 1 / 2) + costs.once(entered, 1 / 2),  # each of a set of its own
            Role.ELIMINATE: costs.of(tuple(dict.fromkeys((*likely, *late)))),
            Role.TOGETHER: (plain_s + all_s + once_s) / 2,
            Role.RECIPE: all_s - (all_s - plain_s) * self.confirm / runs[Role.RECIPE],
            Role.PLAIN_AGAIN: plain_s,
        }
        sets = {Role.RACE: 1, Role.ELIMINATE: PARTS, Role.RECIPE: runs[Role.RECIPE] // self.confirm - 1}
        first_s = sum(
            number * once_s for stage, number in sets.items() if runs[stage] and not known.of(stage)
        )
        missing_s = (max(0, runs[stage] - len(known.of(stage))) * run_s[stage] for stage in runs)
        looked, had = (long, blocks_had(known)) if self.columns else (promising, looks_had(known))
        looks = max(0, self.looks - had) if looked else 0
        first_s += costs.once(looked) if looks and not had else 0.0
        return sum(missing_s) + first_s + looks * (plain_s + sum(costs.of([switch]) for switch in looked))

    def _screens_yet(self, known: Known) -> bool:
        return self.columns > 0 and not known.of(Role.SCREEN)


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What runs take.

    Attributes:
        plain_s: Seconds of a run of the plain trial.
        more_s: Switch -> seconds that it adds, such as to compile. What one saves is counted as nothing, as turns last
            alike.
        once_s: Switch -> seconds that the first run of a set that it is in takes besides. A set compiles once: of
            several switches, the longest.
    """

    plain_s: float
    more_s: Mapping[Switch, float]
    once_s: Mapping[Switch, float] = field(default_factory=dict)

    def of(self, switches: Sequence[Switch], share: float = 1.0) -> float:
        """Return the seconds of a run with a share of these switches on."""
        return self.plain_s + share * sum(self.more_s.get(switch, 0.0) for switch in switches)

    def once(self, switches: Sequence[Switch], share: float = 1.0) -> float:
        """Return the seconds that the first run of a set adds to these, with a share of these switches on."""
        return share * max((self.once_s.get(switch, 0.0) for switch in switches), default=0.0)


def options(count: int, confirm: int) -> list[Sizes]:
    """Return what a search of so many switches may be, the largest first: see the module.

    Args:
        confirm: Fresh blocks that were asked for; more than are usual come out of time that is left over.
    """
    whole = columns_for(count)
    fewest, usual = min(confirm, MIN_BLOCKS), min(confirm, BLOCKS)
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
    for looks in LOOKS:
        less(columns=0, looks=looks)
    less(looks=0)
    return found


def columns_for(count: int) -> int:
    """Return how many columns a screen of so many switches has, or of as many of them as fit."""
    return next((columns for columns in COLUMNS if most_switches(columns) >= count), COLUMNS[-1])


def most_switches(columns: int) -> int:
    """Return how many switches a screen has columns for; at least one stays empty, so that it shows the noise.

    Of 8 two do, or there are too few contrasts to tell it from effects.
    """
    return max(0, columns - (2 if columns == COLUMNS[0] else 1))


def sizes_for(
    known: Known,
    costs: Costs,
    *,
    raced: Set,
    entered: Set,
    long: Set,
    late: Set,
    promising: Set,
    confirm: int,
    budget_s: float,
) -> Sizes:
    """Return the largest search that ends in its time.

    Args:
        raced, entered, long, late, promising: See `Sizes.ahead_s`.
        confirm: Fresh blocks that were asked for.
        budget_s: Seconds for the whole search, the runs so far among them.
    """
    possible = options(len(entered), confirm)
    if long:  # one look decides too little of what may bring most
        screens = [one for one in possible if one.columns]
        possible = [*(replace(one, looks=looks) for looks in LOOKS for one in screens), *possible]
    left_s = budget_s - SPARE * spent_s(known)
    lasts = (SPARE * one.ahead_s(known, costs, raced, entered, long, late, promising) for one in possible)
    return next(
        (one for one, seconds in zip(possible, lasts, strict=True) if seconds <= left_s), possible[-1]
    )


def long_switches(costs: Costs, switches: Set) -> Set:
    """Return those of these switches with which a run takes twice as long as the plain one, or longer."""
    return tuple(s for s in switches if costs.more_s.get(s, 0.0) > costs.plain_s > 0)


def costs_of(found: Sequence[Feasible]) -> Costs:
    """Return what runs take, by those of each switch alone."""
    known = [one for one in found if one.cost_s is not None and one.plain_cost_s is not None]
    again_s = {one.switch: one.cost_s if one.again_s is None else one.again_s for one in known}
    return Costs(
        plain_s=fmean(one.plain_cost_s for one in known) if known else 0.0,
        more_s={one.switch: max(0.0, again_s[one.switch] - one.plain_cost_s) for one in known},
        once_s={one.switch: one.cost_s - again_s[one.switch] for one in known},
    )


def spent_s(known: Known) -> float:
    """Return the seconds that the runs of a search took so far."""
    return sum(one.run.busy_s for one in known.ran)
