"""What a study would measure and how long that would take: values that its notebook hands to `make plan`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trainspeed.conduct.groups import Pace, PlannedGroup
from trainspeed.conduct.timetable import FEWEST, STEADY, Timetable
from trainspeed.core.quantities import MOST_S, Count

WORKERS_START_S = 8.0  # until the frameworks are imported, side by side


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastGroup:
    """A group of a plan: see `PlannedGroup`.

    Attributes:
        arms: What is measured, in words.
        first_s: Seconds of its first block, which compiles what later ones take again.
        block_s: Seconds of each later block.
        around: Whether it is measured before and after all others.
        foreseen: Whether its trials stand for others that earlier results will decide.
    """

    name: str
    core: bool
    arms: tuple[str, ...]
    most: int
    first_s: float
    block_s: float
    around: bool = False
    foreseen: bool = False

    def place(self, number: int) -> int:
        """Return 0: the order within a block does not matter for its time."""
        return 0

    def blocks_s(self, begin: int, end: int) -> float:
        """Return the seconds of its blocks from one number to before another, of those that it has."""
        begin, end = min(begin, self.most), min(end, self.most)
        first = begin == 0 < end
        return first * self.first_s + (end - begin - first) * self.block_s


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """What a study would measure.

    Attributes:
        depends: Whether it measures more that depends on what these runs find.
        shared: Whether equal machines share its blocks: not what checks one, nor what they train together.
        last: Whether nothing else of the report measures after it: see `Timetable.yields`.
    """

    study: str
    groups: tuple[ForecastGroup, ...]
    depends: bool = False
    shared: bool = True
    last: bool = False

    @property
    def needs_s(self) -> tuple[float, ...]:
        """Seconds that it needs in the order in which a `Timetable` gives out time.

        Until the first comparison of its core is decided; until all of its core is; until everything else is shown
        once; until no single block decides the core; until everything else is decided as well, as far as it may be.
        """
        around_s = sum(group.blocks_s(0, group.most) for group in self.groups if group.around)
        cores = [group for group in self.groups if group.core and not group.around]
        to_decide = [group for group in cores if group.most >= FEWEST][1:]
        second_s = sum(group.blocks_s(0, FEWEST) for group in to_decide)

        def needed(core: bool, begin: int, end: int) -> float:
            own = [group for group in self.groups if group.core == core and not group.around]
            return sum(group.blocks_s(begin, end) for group in own)

        decided = sum(g.blocks_s(1, FEWEST) for g in self.groups if not g.core and g.most >= FEWEST)
        start_s = WORKERS_START_S + around_s if self.groups else 0.0
        first_s = start_s + needed(True, 0, FEWEST) - second_s
        return first_s, second_s, needed(False, 0, 1), needed(True, FEWEST, STEADY), decided

    @property
    def least_s(self) -> float:
        """Seconds of one block of one comparison, with what starting takes: less is no measurement."""
        of_others = next((group.first_s for group in self.groups if not group.around), 0.0)
        return WORKERS_START_S + of_others

    def forecast(self, budget_s: float | None, hands: int = 1) -> Timetable[ForecastGroup]:
        """Return the timetable at its end: how many blocks of each group fit into a time; all without one.

        Args:
            hands: Number of equal machines that share the blocks.
        """
        hands = self.hands_of(hands)
        left_s = math.inf if budget_s is None else (budget_s - WORKERS_START_S) * hands
        costs = {name: attrgetter(name) for name in ("first_s", "block_s")}
        table = Timetable(groups=list(self.groups), hands=hands, yields=not self.last, **costs)
        return table.forecast(left_s)

    def hands_of(self, hands: int) -> int:
        """Return how many of equal machines measure its blocks."""
        return hands if self.shared else 1

    def spent_s(self, budget_s: float | None, hands: int = 1) -> float:
        """Return how much of a time it takes."""
        return WORKERS_START_S + self.forecast(budget_s, hands).forecast_s / self.hands_of(hands)


class PlanSums(msgspec.Struct, kw_only=True, frozen=True):
    """What a whole report would take.

    Attributes:
        seconds: From its beginning to its end.
        fewest: Blocks of the comparison that has the fewest; `most` of the one that has the most.
    """

    seconds: Annotated[float, Meta(ge=0, le=MOST_S)]
    runs: Count
    fewest: Count
    most: Count


def plan_of(
    study: str,
    groups: Sequence[PlannedGroup],
    pace: Pace,
    *,
    depends: bool,
    shared: bool = True,
    foreseen: Sequence[PlannedGroup] = (),
) -> StudyPlan:
    """Return the plan of a study's groups."""
    return StudyPlan(
        study=study,
        depends=depends,
        shared=shared,
        groups=tuple(_forecast(group, pace, group in foreseen) for group in (*groups, *foreseen)),
    )


def _forecast(group: PlannedGroup, pace: Pace, foreseen: bool) -> ForecastGroup:
    return ForecastGroup(
        name=group.name,
        core=group.core,
        around=group.around,
        arms=tuple(", ".join([*arm.trial.describe(), *filter(None, [arm.label])]) for arm in group.blocks[0]),
        most=group.most,
        first_s=pace.first_s(group),
        block_s=pace.block_s(group),
        foreseen=foreseen,
    )


def write_plan(path: Path, plan: StudyPlan) -> None:
    """Write a plan for the process that asked for it."""
    path.write_bytes(msgspec.json.encode(plan))


def read_plan(path: Path) -> StudyPlan | None:
    """Return the plan that a notebook wrote; None where it wrote none."""
    return msgspec.json.decode(path.read_bytes(), type=StudyPlan) if path.is_file() else None
