"""The runs of a search as arms of groups that took turns, and what each switch brings by a regression over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

import numpy as np

from trainspeed.core.rounds import are_disturbed, common_rounds
from trainspeed.core.run import Run, Status
from trainspeed.search.switch import Switch

# A run is out of line from so many robust standard deviations on and counts for nothing; Tukey's biweight.
OUT_OF_LINE = 4.685
ITERATIONS = 12
MAD_TO_SD = 1.4826  # of a normal law
# Residual degrees of freedom from which they say how much runs scatter; below, a scatter is assumed beside them.
ENOUGH_FREEDOM = 6
# Standard deviation of a run's log time beside others in turns, where too few runs tell: what sets of processes
# scattered by on a busy 2-core machine, 0.023 for a ratio of two.
USUAL_SD = 0.016


@dataclass(frozen=True)
class Ran:
    """A run of the search, and what was on in its trial."""

    run: Run
    on: frozenset[Switch]

    @property
    def ended_well(self) -> bool:
        """Whether it has a result."""
        return self.run.status is Status.OK and bool(self.run.median_s)


@dataclass(frozen=True)
class Arm(Ran):
    """A run that ended well, among those that took turns with it.

    Attributes:
        group: What it shares with those.
        log_s: Logarithm of its seconds an epoch, relative to its group's in the same rounds.
        level: Mean of those logarithms over the group, relative to nothing.
        disturbed: Whether others used the group's cores in these rounds: see `core.rounds`.
    """

    group: tuple[Any, ...]
    log_s: float
    level: float
    disturbed: bool = False


@dataclass(frozen=True)
class Fit:
    """What a regression says of each switch.

    Attributes:
        log: Switch -> logarithm of its speed-up.
        se: Switch -> standard error of that.
        sd: Standard deviation of a run's log time within its group.
        freedom: Residual degrees of freedom.
        arms: Arms that it is from.
    """

    log: Mapping[Switch, float]
    se: Mapping[Switch, float]
    sd: float
    freedom: int
    arms: int


def arms_of(ran: Iterable[Ran]) -> list[Arm]:
    """Return the arms of groups of which two or more ended well, in the order in which they were measured."""
    groups: dict[tuple[Any, ...], list[Ran]] = {}
    for one in ran:
        if one.ended_well:
            run = one.run
            key = (run.label, run.block, run.trial.seed, *(run.alive_with if run.turns else (run.session,)))
            groups.setdefault(key, []).append(one)
    return [arm for key, own in groups.items() if len(own) > 1 for arm in _in_turns(key, own)]


def _in_turns(group: tuple[Any, ...], ran: Sequence[Ran]) -> list[Arm]:
    """Return the arms of a group: what drifts from round to round is in all of them, and taken out.

    So are rounds that others disturbed.
    """
    raw = [math.log(one.run.median_s) for one in ran]
    level = fmean(raw)
    round_s = [one.run.round_s for one in ran]
    rounds = common_rounds([one.run for one in ran])
    relative = [log - level for log in raw]
    if rounds:
        logs = [{number: math.log(own[number]) for number in rounds} for own in round_s]
        middle = {number: fmean(own[number] for own in logs) for number in rounds}
        relative = [median(own[number] - middle[number] for number in rounds) for own in logs]
    disturbed = are_disturbed([one.run for one in ran])
    both = zip(ran, relative, strict=True)
    return [Arm(one.run, one.on, group, log, level, disturbed) for one, log in both]


def fit_speedups(
    arms: Sequence[Arm], switches: Sequence[Switch], expected: Mapping[Switch, float] | None = None
) -> Fit:
    """Return by how much each switch speeds up, by least squares with a level of its own for each group.

    A run that is out of line counts for less, and at last for nothing, where enough others tell.

    Args:
        expected: Switch -> logarithm of its speed-up, as far as it is known from elsewhere: what the arms cannot tell
            apart, as where pairs are missing, stays at that; 0 of others.
    Source: P. W. Holland, R. E. Welsch, Robust regression using iteratively reweighted least-squares, Communications
        in Statistics 6 (1977), 813-827.
    """
    count = len(switches)
    if not arms or not count:
        return Fit({}, {}, USUAL_SD, 0, len(arms))
    names = {name: number for number, name in enumerate(dict.fromkeys(arm.group for arm in arms))}
    group = np.array([names[arm.group] for arm in arms])
    on = np.array([[switch in arm.on for switch in switches] for arm in arms], float)
    faster = -np.array([arm.log_s for arm in arms])
    guess = np.array([(expected or {}).get(switch, 0.0) for switch in switches])
    weight = np.ones(len(arms))
    for _ in range(ITERATIONS):
        design, seen = _centred(on, group, weight), _centred(faster[:, None], group, weight)[:, 0]
        root = np.sqrt(weight)
        solved, _, rank, _ = np.linalg.lstsq(
            design * root[:, None], (seen - design @ guess) * root, rcond=1e-9
        )
        residual = seen - design @ (guess + solved)
        freedom = int(len(arms) - len(names) - rank)
        if freedom < ENOUGH_FREEDOM:
            break
        # Of small groups much of a run's scatter is in its group's level: as many zeros are no smaller scatter.
        scale = MAD_TO_SD * float(np.median(np.abs(residual))) * math.sqrt(len(arms) / freedom)
        if not scale:
            break
        share = np.minimum(1.0, np.abs(residual) / (OUT_OF_LINE * scale))
        weight = np.maximum((1 - share**2) ** 2, 1e-6)
    sd = _sd(float(np.sum(weight * residual**2)), freedom)
    gram = (design * weight[:, None]).T @ design
    spread = sd * np.sqrt(np.clip(np.diag(np.linalg.pinv(gram, rcond=1e-9)), 0, None))
    told = np.diag(gram) > 1e-6
    logs = dict(zip(switches, map(float, guess + solved), strict=True))
    errors = {s: float(e) if known else math.inf for s, e, known in zip(switches, spread, told, strict=True)}
    return Fit(logs, errors, sd, freedom, len(arms))


def _centred(values: np.ndarray, group: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return values less their group's weighted mean; values: (arms, columns)."""
    total = np.bincount(group, weight)
    means = np.stack([np.bincount(group, weight * column) / total for column in values.T], axis=1)
    return values - means[group]


def _sd(squares: float, freedom: int) -> float:
    """Return the scatter of a run; where few tell, with what is usual as further degrees of freedom."""
    lacking = max(0, ENOUGH_FREEDOM - freedom)
    return math.sqrt((squares + lacking * USUAL_SD**2) / (max(0, freedom) + lacking))
