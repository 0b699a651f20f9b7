"""What a study would measure and how long that would take: values that its notebook hands to `make plan`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from trainspeed.conduct.groups import Pace, PlannedGroup
from trainspeed.conduct.timetable import FEW_ROUNDS, FEWEST, ROUNDS, Timetable

WORKERS_START_S = 8.0  # until the frameworks are imported, side by side


@dataclass(frozen=True, eq=False, kw_only=True)
class ForecastGroup:
    """A group of a plan: see `PlannedGroup`.

    Attributes:
        arms: What is measured, in words.
        block_s, short_block_s: Seconds of a block with the usual and with few rounds of turns.
        foreseen: Whether its trials stand for others that earlier results will decide.
    """

    name: str
    core: bool
    arms: tuple[str, ...]
    most: int
    block_s: float
    short_block_s: float
    foreseen: bool = False

    def place(self, number: int) -> int:
        """Return 0: the order within a block does not matter for its time."""
        return 0


@dataclass(frozen=True, kw_only=True)
class StudyPlan:
    """What a study would measure.

    Attributes:
        depends: Whether it measures more that depends on what these runs find.
    """

    study: str
    groups: tuple[ForecastGroup, ...]
    depends: bool = False

    @property
    def wanted_s(self) -> float:
        """Seconds until all that it compares is decided and the rest is shown: its weight among other studies."""
        return sum(_first_blocks(group) * group.short_block_s for group in self.groups)

    @property
    def least_s(self) -> float:
        """Seconds of one block of one comparison, with what starting takes: less is no measurement."""
        return WORKERS_START_S + (self.groups[0].short_block_s if self.groups else 0.0)

    def forecast(self, budget_s: float | None) -> Timetable[ForecastGroup]:
        """Return the timetable at its end: how many blocks of each group fit into a time; all without one."""
        left_s = math.inf if budget_s is None else budget_s - WORKERS_START_S
        return Timetable(groups=list(self.groups), block_s=_block_s).forecast(left_s)

    def spent_s(self, budget_s: float | None) -> float:
        """Return how much of a time it takes."""
        return WORKERS_START_S + self.forecast(budget_s).forecast_s


def _first_blocks(group: ForecastGroup) -> int:
    """Return how many blocks a group wants before any has more: 6 where it may have a verdict, else one."""
    decides = group.core or group.most >= FEWEST
    return min(FEWEST, group.most) if decides else min(1, group.most)


def _block_s(group: ForecastGroup, rounds: int) -> float:
    return group.block_s if rounds == ROUNDS else group.short_block_s


def plan_of(
    study: str,
    groups: Sequence[PlannedGroup],
    pace: Pace,
    *,
    depends: bool,
    foreseen: Sequence[PlannedGroup] = (),
) -> StudyPlan:
    """Return the plan of a study's groups."""
    return StudyPlan(
        study=study,
        depends=depends,
        groups=tuple(_forecast(group, pace, group in foreseen) for group in (*groups, *foreseen)),
    )


def _forecast(group: PlannedGroup, pace: Pace, foreseen: bool) -> ForecastGroup:
    return ForecastGroup(
        name=group.name,
        core=group.core,
        arms=tuple(", ".join([*arm.trial.describe(), *filter(None, [arm.label])]) for arm in group.blocks[0]),
        most=group.most,
        block_s=pace.block_s(group, ROUNDS),
        short_block_s=pace.block_s(group, FEW_ROUNDS),
        foreseen=foreseen,
    )


def write_plan(path: Path, plan: StudyPlan) -> None:
    """Write a plan for the process that asked for it."""
    path.write_bytes(msgspec.json.encode(plan))


def read_plan(path: Path) -> StudyPlan | None:
    """Return the plan that a notebook wrote; None where it wrote none."""
    return msgspec.json.decode(path.read_bytes(), type=StudyPlan) if path.is_file() else None
