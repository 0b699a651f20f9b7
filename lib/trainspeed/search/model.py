"""What all runs of a search say together: what each switch brings alone, and which two do more or less than both.

A linear mixed model of the logarithm of speed: an effect for each switch, one for each pair that shows itself, a level
for each group of runs that took turns. A level is random, not free: so that most of what is told comes from within the
groups, and interactions, which mirror pairs hold in their levels only, are told from levels as far as these are steady.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from trainspeed.search.arms import ENOUGH_FREEDOM, MAD_TO_SD, OUT_OF_LINE, USUAL_SD, Arm
from trainspeed.search.findings import Estimate, Interaction
from trainspeed.search.switch import Set, Switch

ITERATIONS = 8
# Standard errors from which on an interaction is tried, and those that it has to keep beside the others: of 100 pairs
# that have none, noise keeps one in 1 of 100 models. As long as one is missing, all scatters more than it does.
ENTRY_T, STAY_T = 2.5, 4.0
MOST_INTERACTIONS = 6
ALIKE = 0.98  # correlation from which two pairs cannot be told apart
LEAST_SD = 1e-4
LEAST_INFORMATION = 0.02  # of a run, in a column: below, nothing is told of it
USUAL_FREEDOM = 4  # degrees of freedom that the usual scatter counts for beside what is measured


@dataclass(frozen=True)
class Model:
    """A fitted model.

    Attributes:
        switches: Those with an effect, in order of the first columns.
        pairs: Those with an interaction, in order of the columns after.
        effects: Of each column: logarithm of the speed-up alone, then of what a pair brings beyond both.
        covariance: Of the effects.
        sd: Scatter of a run's log time within its group; levels scatter by `level_sd` beside that.
        aliases: Pair -> other pairs that would explain the same.
    """

    switches: Set
    pairs: tuple[tuple[Switch, Switch], ...]
    effects: np.ndarray
    covariance: np.ndarray
    sd: float
    level_sd: float
    aliases: dict[tuple[Switch, Switch], tuple[tuple[Switch, Switch], ...]]

    def column(self, switches: Sequence[Switch]) -> np.ndarray:
        """Return the model's columns where these are on: 1 or 0 each."""
        on = set(switches)
        single = [switch in on for switch in self.switches]
        return np.array([*single, *(one in on and other in on for one, other in self.pairs)], float)

    def speed(self, switches: Sequence[Switch]) -> float:
        """Return the logarithm of the speed-up of all of these over the plain trial."""
        return float(self.column(switches) @ self.effects)

    def brings(self, gone: Sequence[Switch], on: Sequence[Switch]) -> Estimate:
        """Return what some bring on top of the others that are on."""
        difference = self.column([*on, *gone]) - self.column([s for s in on if s not in gone])
        variance = float(difference @ self.covariance @ difference)
        log = float(difference @ self.effects)
        return Estimate(switches=tuple(gone), log=log, se=math.sqrt(max(variance, LEAST_SD**2)))

    @property
    def interactions(self) -> tuple[Interaction, ...]:
        """The pairs, the largest first."""
        spread = np.sqrt(np.clip(np.diag(self.covariance), 0, None))
        numbers = range(len(self.switches), len(self.effects))
        found = [
            Interaction(
                pair=pair,
                log=float(self.effects[n]),
                se=float(spread[n]),
                aliases=self.aliases.get(pair, ()),
            )
            for pair, n in zip(self.pairs, numbers, strict=True)
        ]
        return tuple(sorted(found, key=lambda one: -abs(one.log)))


def model(arms: Sequence[Arm], switches: Sequence[Switch]) -> Model | None:
    """Return the model of these arms; None where there are none with a switch.

    Interactions come in one by one, the one first that explains most; and those that are not told go again, the one
    first that explains least.
    """
    ran = tuple(s for s in switches if 0 < sum(s in arm.on for arm in arms) < len(arms))
    if not ran:
        return None
    design = np.array([[switch in arm.on for switch in ran] for arm in arms], float)
    groups = {name: number for number, name in enumerate(dict.fromkeys(arm.group for arm in arms))}
    group = np.array([groups[arm.group] for arm in arms])
    faster = -np.array([arm.log_s + arm.level for arm in arms])
    possible = list(combinations(range(len(ran)), 2))
    products = np.array([design[:, one] * design[:, other] for one, other in possible]).T
    chosen: list[int] = []
    alike: dict[int, list[int]] = {}
    fitted = _Fitted(design, group, faster)
    while possible and len(chosen) < MOST_INTERACTIONS:
        scores, correlation = fitted.scores(products)
        scores[chosen] = 0.0
        best = int(np.argmax(np.abs(scores)))
        if abs(scores[best]) < ENTRY_T:
            break
        alike[best] = [int(n) for n in np.flatnonzero(np.abs(correlation[best]) > ALIKE) if n != best]
        chosen.append(best)
        fitted = _Fitted(np.hstack([design, products[:, chosen]]), group, faster)
    while (
        chosen
        and abs((told := fitted.t_statistics[-len(chosen) :])[least := int(np.argmin(np.abs(told)))]) < STAY_T
    ):
        del chosen[least]
        fitted = _Fitted(np.hstack([design, products[:, chosen]]), group, faster)
    named = {index: tuple(ran[number] for number in pair) for index, pair in enumerate(possible)}
    aliases = {named[index]: tuple(named[n] for n in alike[index]) for index in chosen}
    pairs = tuple(named[index] for index in chosen)
    effects, covariance = fitted.effects[1:], fitted.covariance[1:, 1:]
    return Model(ran, pairs, effects, covariance, fitted.sd, fitted.level_sd, aliases)


class _Fitted:
    """Henderson's equations of a mixed model, solved with Tukey's weights, so that a run out of line counts little."""

    def __init__(self, columns: np.ndarray, group: np.ndarray, faster: np.ndarray) -> None:
        count, groups = len(faster), int(group.max()) + 1
        self._fixed = np.hstack([np.ones((count, 1)), columns])
        levels = np.zeros((count, groups))
        levels[np.arange(count), group] = 1.0
        self._whole = np.hstack([self._fixed, levels])
        width = self._fixed.shape[1]
        freedom = max(1, count - groups - np.linalg.matrix_rank(columns))
        self.sd, self.level_sd, weight = USUAL_SD, 2 * USUAL_SD, np.ones(count)
        for _ in range(ITERATIONS):
            penalty = np.zeros(self._whole.shape[1])
            penalty[width:] = (self.sd / self.level_sd) ** 2
            # As good as none, where the arms cannot tell two columns apart.
            penalty[1:width] = 1e-6
            gram = (self._whole * weight[:, None]).T @ self._whole + np.diag(penalty)
            inverse = np.linalg.inv(gram)
            solved = inverse @ (self._whole.T @ (weight * faster))
            residual = faster - self._whole @ solved
            squares = float(np.sum(weight * residual**2)) + USUAL_FREEDOM * USUAL_SD**2
            self.sd = max(LEAST_SD, math.sqrt(squares / (freedom + USUAL_FREEDOM)))
            own = solved[width:]
            spread = float(np.sum(own**2)) + self.sd**2 * float(np.trace(inverse[width:, width:]))
            self.level_sd = max(LEAST_SD, math.sqrt(spread / groups))
            inflated = math.sqrt(count / max(1, freedom))
            scale = MAD_TO_SD * float(np.median(np.abs(residual))) * min(inflated, 2.0)
            # Where few runs tell, most of them fit exactly, and the others are not therefore out of line.
            scale = max(scale, USUAL_SD if freedom < ENOUGH_FREEDOM else USUAL_SD / 2)
            share = np.minimum(1.0, np.abs(residual) / (OUT_OF_LINE * scale))
            weight = np.maximum((1 - share**2) ** 2, 1e-4)
        self._weight, self._inverse, self._residual = weight, inverse, residual
        self.effects = solved[:width]
        self.covariance = self.sd**2 * inverse[:width, :width]

    @property
    def t_statistics(self) -> np.ndarray:
        """By how many standard errors each effect differs from 0."""
        return self.effects[1:] / np.sqrt(np.diag(self.covariance)[1:])

    def scores(self, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return by how many standard errors each further column would differ from 0, and how they correlate."""
        weighted = columns * self._weight[:, None]
        cleared = columns - self._whole @ (self._inverse @ (self._whole.T @ weighted))
        information = cleared.T @ weighted
        own = np.diag(information)
        told = own > LEAST_INFORMATION
        root = np.sqrt(np.where(told, own, 1.0))
        scores = np.where(told, (weighted.T @ self._residual) / root / self.sd, 0.0)
        return scores, np.where(told[:, None] & told, information / root[:, None] / root, 0.0)
