"""The groups of a plan, in the order in which they are given time, and about how long a block of each takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import NamedTuple

from trainspeed.conduct.estimates import estimates_s
from trainspeed.conduct.plan import Planned, TrialSet, schedule
from trainspeed.conduct.timetable import ROUNDS
from trainspeed.conduct.turns import TURN_S
from trainspeed.core.run import Run


@dataclass(frozen=True, eq=False)
class PlannedGroup:
    """Arms that are compared with each other, or a single trial, in every block that was asked for.

    Attributes:
        name: Of its set of trials: the field of the plan.
        core: Whether it is left out last.
        blocks: The runs of each block.
    """

    name: str
    core: bool
    blocks: tuple[tuple[Planned, ...], ...]

    @property
    def most(self) -> int:
        """Number of blocks that were asked for."""
        return len(self.blocks)

    def place(self, number: int) -> int:
        """Return where in its block's random order it comes."""
        return self.blocks[number][0].group

    @property
    def framework(self) -> str:
        """The framework of its first arm."""
        return self.blocks[0][0].trial.framework


def groups_of(
    sets: Sequence[TrialSet],
    names: Sequence[str],
    cores: Sequence[bool],
    seed: int,
    *,
    first_group: int = 0,
    block_s: Callable[[PlannedGroup], float] = lambda group: 0.0,
) -> list[PlannedGroup]:
    """Return the groups of a plan's sets, set by set; within one, the first group of each framework comes first.

    Of these the quickest comes first, so that one slow framework does not keep all others out.

    Args:
        block_s: Returns about how many seconds a block of a group takes.
        names: Of each set.
        cores: Whether each set is the core.
        first_group: See `schedule`.
    """
    blocks: dict[tuple[int, frozenset], list[tuple[Planned, ...]]] = defaultdict(list)
    planned = schedule(sets, seed, first_group=first_group)
    for _, members in groupby(planned, key=lambda one: (one.block, one.group)):
        runs = tuple(members)
        blocks[runs[0].part, frozenset(run.kind for run in runs)].append(runs)
    trials = [[*part.trials, *part.anchors] for part in sets]
    places = [{trial.spec: place for place, trial in reversed([*enumerate(own)])} for own in trials]
    turn: dict[tuple[int, str], int] = defaultdict(int)
    ordered = []
    for (part, _), runs in sorted(
        blocks.items(),
        key=lambda item: (item[0][0], min(places[item[0][0]][trial] for _, trial in item[0][1])),
    ):
        group = PlannedGroup(names[part], cores[part], tuple(runs))
        framework = part, group.framework
        ordered.append(((part, turn[framework], block_s(group)), group))
        turn[framework] += 1
    return [group for _, group in sorted(ordered, key=lambda item: item[0])]


class _Block(NamedTuple):
    """What a block of a group took: seconds, those of them in turns, and the rounds of turns."""

    wall_s: float
    turns_s: float
    rounds: int


@dataclass
class Pace:
    """How long a block of a group takes: as its blocks took so far, or those of its framework against their estimates.

    Args:
        known: Runs of earlier sessions.
        device: "gpu" or "cpu".
        turn_s: Seconds of a turn.
    """

    known: Sequence[Run]
    device: str
    turn_s: float = TURN_S
    _took: dict[PlannedGroup, list[_Block]] = field(default_factory=lambda: defaultdict(list), init=False)
    _estimates: dict[PlannedGroup, float] = field(default_factory=dict, init=False)

    def learn(self, group: PlannedGroup, wall_s: float, runs: Iterable[Run], rounds: int) -> None:
        """Take in what a block took."""
        turns_s = sum(sum(turn.epoch_s) for run in runs for turn in run.turns)
        self._took[group].append(_Block(wall_s, turns_s, rounds))

    def block_s(self, group: PlannedGroup, rounds: int = ROUNDS) -> float:
        """Return about how many seconds a block takes with that many rounds of turns."""
        # The first block looks up layers and accuracy, too.
        if took := self._took.get(group):
            later = took[1:] or took
            return median(b.wall_s - b.turns_s * (1 - rounds / b.rounds) for b in later)
        arms = len(group.blocks[0])
        fewer_s = arms * (ROUNDS - rounds) * self.turn_s if arms > 1 else 0.0
        estimate_s = self._estimate_s(group)
        return max(estimate_s / 2, estimate_s - fewer_s) * self._ratio(group.framework)

    def _estimate_s(self, group: PlannedGroup) -> float:
        if group not in self._estimates:
            self._estimates[group] = sum(estimates_s(group.blocks[0], self.known, self.device, self.turn_s))
        return self._estimates[group]

    def _ratio(self, framework: str) -> float:
        """Return how much longer than estimated the first blocks took: of this framework, or of all."""
        own = [group for group in self._took if group.framework == framework] or list(self._took)
        estimated_s = sum(map(self._estimate_s, own))
        return sum(self._took[group][0].wall_s for group in own) / estimated_s if estimated_s else 1.0
