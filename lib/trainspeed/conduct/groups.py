"""The groups of a plan, in the order in which they are given time, and about how long a block of each takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from statistics import median, median_low
from typing import Any, NamedTuple

import numpy as np

from trainspeed.conduct.estimates import estimates_s, imports_s
from trainspeed.conduct.plan import Planned, TrialSet
from trainspeed.conduct.schedule import schedule
from trainspeed.conduct.timetable import FEWEST
from trainspeed.conduct.turns import FEW_ROUNDS, ROUNDS, TURN_S
from trainspeed.core.bursts import FEWEST_OF_A_MEDIAN, beyond_usual_s, looked_up_s
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.programs import again_s
from trainspeed.core.run import Run, Status
from trainspeed.sensors.processes import usable_cores

LEAST_S = 0.1  # of an estimate that is compared with


@dataclass(frozen=True, eq=False)
class PlannedGroup:
    """Arms that are compared with each other, or a single trial, in every block that was asked for.

    Attributes:
        name: Of its set of trials: the field of the plan.
        core: Whether it is left out last.
        around: Whether it is measured before and after all others.
        blocks: The runs of each block.
        lines: Whether its arms are the points of lines.
    """

    name: str
    core: bool
    around: bool
    blocks: tuple[tuple[Planned, ...], ...]
    lines: bool = False

    @property
    def most(self) -> int:
        """Number of blocks that were asked for."""
        return len(self.blocks)

    def place(self, number: int) -> int:
        """Return where in its block's random order it comes."""
        return self.blocks[number][0].group

    @property
    def rounds(self) -> int:
        """How many turns of usual length each arm has time for in a block."""
        return ROUNDS if self.core or self.most >= FEWEST else FEW_ROUNDS

    @property
    def framework(self) -> str:
        """The framework of its first arm."""
        return self.blocks[0][0].trial.framework

    @property
    def model(self) -> tuple[str, str | None]:
        """The framework and the model of its first arm; None of what trains none."""
        return self.framework, getattr(self.blocks[0][0].trial, "model", None)


def groups_of(
    sets: Sequence[TrialSet],
    names: Sequence[str],
    cores: Sequence[bool],
    seed: int,
    *,
    first_group: int = 0,
    first_s: Callable[[PlannedGroup], float] = lambda group: 0.0,
) -> list[PlannedGroup]:
    """Return the groups of a plan's sets, set by set; within one, the first group of each framework comes first.

    Of these the quickest comes first, so that one slow framework does not keep all others out.

    Args:
        first_s: Returns about how many seconds the first block of a group takes.
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
        around = sets[part].around
        core = cores[part] and not around
        group = PlannedGroup(names[part], core, around, tuple(runs), lines=sets[part].lines)
        framework = part, group.framework
        ordered.append(((part, turn[framework], first_s(group)), group))
        turn[framework] += 1
    return [group for _, group in sorted(ordered, key=lambda item: item[0])]


class _Estimate(NamedTuple):
    """Seconds of a group's first block and of each later one, by their arithmetic."""

    first_s: float
    later_s: float


@dataclass
class Pace:
    """How long a block of a group takes: as its blocks took so far, or those of its framework against their estimates.

    Args:
        known: Runs of earlier sessions, on a machine like this one.
        device: "gpu" or "cpu".
        turn_s: As of `study.measure`.
        shortage: Returns what memory a trial lacks; None where it fits. What does not is not run.
    """

    known: Sequence[Run]
    device: str
    turn_s: float = TURN_S
    shortage: Callable[[AnyTrial], str | None] = lambda trial: None
    _took_s: dict[PlannedGroup, list[float]] = field(default_factory=lambda: defaultdict(list), init=False)
    _usual_s: dict[PlannedGroup, list[float]] = field(default_factory=lambda: defaultdict(list), init=False)
    _worked: set[PlannedGroup] = field(default_factory=set, init=False)
    # How many times as long as estimated a model takes, at least.
    _too_slow: dict[Any, float] = field(default_factory=dict, init=False)
    _median_s: dict[PlannedGroup, float] = field(default_factory=dict, init=False)
    _once_s: dict[PlannedGroup, float] = field(default_factory=dict, init=False)
    _looked_up_s: dict[PlannedGroup, float] = field(default_factory=dict, init=False)
    _estimates_s: dict[PlannedGroup, _Estimate] = field(default_factory=dict, init=False)

    def learn(self, group: PlannedGroup, wall_s: float, runs: Iterable[Run]) -> None:
        """Take in what a block took, whoever measured it.

        Args:
            runs: Its runs. Where none of them ended well, it tells nothing of how long other groups take; where there
                was not enough time for it, of those of its model. What their turns took beyond the usual one, as beside
                a neighbour's burst, and what was looked up counts once there are enough blocks for a median of them.
        """
        runs, took_s, usual_s = list(runs), self._took_s[group], self._usual_s[group]
        if (needed_s := _needed_of(runs)) is not None:
            wall_s = max(wall_s, needed_s)
            self._too_slow[group.model] = wall_s / max(self._estimate_s(group).first_s, LEAST_S)
        if any(run.status is Status.OK for run in runs):
            self._worked.add(group)
        took_s.append(wall_s)
        # Turns come one at a time; on a CPU as many arms look up at once as it has cores.
        at_once = max(1, min(len(runs), len(usable_cores()))) if self.device == "cpu" else 1
        not_usual_s = sum(beyond_usual_s(run) + looked_up_s(run) / at_once for run in runs)
        usual_s.append(max(0.0, wall_s - not_usual_s))
        self._once_s.setdefault(group, sum(run.busy_s - again_s(run) for run in runs))
        usual_look_s = median_low(map(looked_up_s, runs)) if runs else 0.0
        self._looked_up_s.setdefault(group, len(runs) / at_once * usual_look_s)
        # The first has compiled what later ones take again.
        later_s = max(0.0, usual_s[0] - self._once_s[group])
        enough = len(took_s) > FEWEST_OF_A_MEDIAN
        self._median_s[group] = median(took_s[1:] if enough else usual_s[1:] or [later_s])

    def first_s(self, group: PlannedGroup) -> float:
        """Return about how many seconds the first block of a group takes."""
        if group in self._median_s:
            return self._took_s[group][0]
        return self._estimate_s(group).first_s * self._ratio(group, first=True)

    def block_s(self, group: PlannedGroup) -> float:
        """Return about how many seconds a further block of a group takes, which compiles little anew."""
        if group in self._median_s:
            return self._median_s[group]
        return self._estimate_s(group).later_s * self._ratio(group)

    def decided_s(self, groups: Iterable[PlannedGroup]) -> float:
        """Return about how many seconds it takes until groups have an interval, as far as they are to have one."""
        return sum(
            self.first_s(group) + (min(FEWEST, group.most) - 1) * self.block_s(group) for group in groups
        )

    def _estimate_s(self, group: PlannedGroup) -> _Estimate:
        if group not in self._estimates_s:
            arms = [arm for arm in group.blocks[0] if self.shortage(arm.trial) is None]
            # Workers of environments are imported once at least, and anew where others had to make room for them.
            begin_s = imports_s(arm.trial for arm in arms) / max(group.most, 1)
            both = [*arms, *(replace(arm, block=arm.block + 1) for arm in arms)]
            runs_s = estimates_s(both, self.known, self.device, self.turn_s, rounds=group.rounds)
            firsts_s, laters_s = runs_s[: len(arms)], runs_s[len(arms) :]
            self._estimates_s[group] = _Estimate(begin_s + sum(firsts_s), begin_s + sum(laters_s))
        return self._estimates_s[group]

    def _ratio(self, group: PlannedGroup, *, first: bool = False) -> float:
        """Return how much longer than estimated blocks take: of this group's framework, or of all.

        From three groups on it is their median, in which each counts by the seconds that it was estimated at: a burst
        of a neighbour's can make one block several times as long, and says nothing of the next one.

        Args:
            first: Of a first block, which looks up what ran.
        """
        if (slow := self._too_slow.get(group.model)) is not None:
            return slow
        known = [one for one in self._took_s if one in self._worked]
        own = [one for one in known if one.framework == group.framework] or known
        # Of a session that goes on, the first block that it measures is a later one.
        estimates = [(self._once_s[one], self._estimate_s(one)) for one in own]
        estimated_s = [estimate.first_s if once_s else estimate.later_s for once_s, estimate in estimates]
        took_s = [self.block_s(one) + self._once_s[one] + first * self._looked_up_s[one] for one in own]
        if len(own) >= FEWEST_OF_A_MEDIAN and all(estimated_s):
            ratios = np.divide(took_s, estimated_s)
            return float(np.quantile(ratios, 0.5, weights=estimated_s, method="inverted_cdf"))
        return sum(took_s) / sum(estimated_s) if sum(estimated_s) else 1.0


def _needed_of(runs: Iterable[Run]) -> float | None:
    """Return how many seconds a block would have taken for which there was not enough time; None for any other."""
    return max((run.failure.needs_s for run in runs if run.failure and run.failure.lacked_time), default=None)
