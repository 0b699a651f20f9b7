"""What a study would measure and how long that would take: values that its notebook hands to `make plan`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trainspeed.conduct.groups import Pace, PlannedGroup
from trainspeed.conduct.timetable import FEWEST, GRACE, STEADY, Timetable
from trainspeed.core.quantities import MOST_S, Count

WORKERS_START_S = 8.0  # until the frameworks are imported, side by side
ROUNDING_S = 1e-6  # that a share may lack of the sum that it is
# Times as long as estimated that blocks of a core may take: on 2 cores of an EPYC, one of them beside a busy neighbour,
# those of whole reports took 1.0 to 1.25 times as long. What is not needed is for the notebook's other groups.
SPARE = 1.2


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastGroup:
    """A group of a plan: see `PlannedGroup`.

    Attributes:
        arms: What is measured, in words.
        first_s: Seconds of its first block, which compiles what later ones take again.
        block_s: Seconds of each later block.
        around: Whether it is measured before and after all others.
        foreseen: Whether its trials stand for others that earlier results will decide.
        lines: Whether its arms are the points of lines.
    """

    name: str
    core: bool
    arms: tuple[str, ...]
    most: int
    first_s: float
    block_s: float
    around: bool = False
    foreseen: bool = False
    lines: bool = False

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
        starts: Whether it starts its workers: those of a report's earlier notebook go on, but where an import is timed.
    """

    study: str
    groups: tuple[ForecastGroup, ...]
    depends: bool = False
    shared: bool = True
    last: bool = False
    starts: bool = True

    @property
    def start_s(self) -> float:
        """Seconds until its workers are there."""
        return WORKERS_START_S if self.starts and self.groups else 0.0

    @property
    def needs_s(self) -> tuple[float, ...]:
        """Seconds that it needs in the order in which the notebooks of a report are given time.

        Until the first comparison of its core is decided; until all of its core is; until the first of its lines are
        shown; until all of them are; until everything else is shown once; until no single block decides the core; until
        everything else is decided as well, as far as it may be.
        """
        around_s = sum(group.blocks_s(0, group.most) for group in self.groups if group.around)
        core = [group for group in self.groups if group.core and not group.around]
        others = [group for group in self.groups if not (group.core or group.around)]
        lines = [group for group in others if group.lines]
        to_decide = [group for group in core if group.most >= FEWEST][1:]
        first = [group for group in core if group not in to_decide]
        return (
            self.start_s + around_s + SPARE * _needed_s(first, 0, FEWEST),
            SPARE * _needed_s(to_decide, 0, FEWEST),
            _needed_s(lines[:1], 0, 1),
            _needed_s(lines[1:], 0, 1),
            _needed_s([group for group in others if not group.lines], 0, 1),
            _needed_s(core, FEWEST, STEADY),
            _needed_s([group for group in others if group.most >= FEWEST], 1, FEWEST),
        )

    @property
    def least_s(self) -> float:
        """Seconds of one block of one comparison, with what starting takes: less is no measurement."""
        of_others = next((group.first_s for group in self.groups if not group.around), 0.0)
        return self.start_s + of_others

    def forecast(self, budget_s: float | None, hands: int = 1) -> Timetable[ForecastGroup]:
        """Return the timetable at its end: how many blocks of each group fit into a time; all without one.

        Args:
            hands: Number of equal machines that share the blocks.
        """
        hands = self.hands_of(hands)
        left_s = math.inf if budget_s is None else (budget_s - self.start_s) * hands
        left_s += ROUNDING_S
        costs = {name: attrgetter(name) for name in ("first_s", "block_s")}
        grace_s = GRACE * budget_s if budget_s is not None else 0.0
        table = Timetable(groups=[*self.groups], hands=hands, grace_s=grace_s, yields=not self.last, **costs)
        return table.forecast(left_s)

    def hands_of(self, hands: int) -> int:
        """Return how many of equal machines measure its blocks."""
        return hands if self.shared else 1

    def spent_s(self, budget_s: float | None, hands: int = 1) -> float:
        """Return how much of a time it takes."""
        return self.start_s + self.forecast(budget_s, hands).forecast_s / self.hands_of(hands)


def _needed_s(groups: Iterable[ForecastGroup], begin: int, end: int) -> float:
    return sum(group.blocks_s(begin, end) for group in groups)


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
    starts: bool = True,
    foreseen: Sequence[PlannedGroup] = (),
) -> StudyPlan:
    """Return the plan of a study's groups."""
    forecasts = [_forecast(group, pace) for group in groups]
    forecasts += [_forecast(group, pace, foreseen=True) for group in foreseen]
    return StudyPlan(study=study, depends=depends, shared=shared, starts=starts, groups=tuple(forecasts))


def _forecast(group: PlannedGroup, pace: Pace, *, foreseen: bool = False) -> ForecastGroup:
    return ForecastGroup(
        name=group.name,
        core=group.core,
        around=group.around,
        arms=tuple(", ".join([*arm.trial.describe(), *filter(None, [arm.label])]) for arm in group.blocks[0]),
        most=group.most,
        first_s=pace.first_s(group),
        block_s=pace.block_s(group),
        foreseen=foreseen,
        lines=group.lines,
    )


def write_plan(path: Path, plan: StudyPlan) -> None:
    """Write a plan for the process that asked for it."""
    path.write_bytes(msgspec.json.encode(plan))


def read_plan(path: Path) -> StudyPlan | None:
    """Return the plan that a notebook wrote; None where it wrote none."""
    return msgspec.json.decode(path.read_bytes(), type=StudyPlan) if path.is_file() else None
