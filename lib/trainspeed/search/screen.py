"""The folded two-level screen: many switches at once, in mirror pairs, each of which tells of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from trainspeed.core.run import Role
from trainspeed.search.arms import Arm, fit_speedups
from trainspeed.search.design import COLUMNS, hadamard, mirror_pairs
from trainspeed.search.findings import Estimate, Screen
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Set, Switch

BAND = 2.0  # standard errors of an estimate: 95 % of the nulls are within
# Contrasts of columns, from which Lenth's error can be told.
FEWEST_CONTRASTS = 7
SPREAD_OF_LENTH = 1.5  # the median of the absolute values of a normal law is its standard deviation / 1.4826


def columns_of(label: str) -> int | None:
    """Return the number of columns of a screen from the label of its runs; None where it is none's."""
    number = label.removeprefix(Role.SCREEN)
    return int(number) if label.startswith(Role.SCREEN) and number in map(str, COLUMNS) else None


def screen_groups(known: Known, switches: Set, columns: int) -> list[ArmGroup]:
    """Return the mirror pairs of a screen."""
    return [
        ArmGroup(label=f"{Role.SCREEN}{columns}", seed=known.start.seed + number, arms=pair)
        for number, pair in enumerate(mirror_pairs(switches, columns))
    ]


def screen(known: Known, switches: Set, alone: Mapping[Switch, float]) -> Screen | None:
    """Return what the screen's runs say of these switches; None where there are none.

    Args:
        alone: Logarithm of each one's speed-up alone: where pairs are missing, what is left undetermined stays at it.
    """
    arms = known.arms(Role.SCREEN)
    columns = max((columns_of(arm.run.label) or 0 for arm in arms), default=0)
    ran = [switch for switch in switches if any(switch in arm.on for arm in arms)]
    if not columns or not ran:
        return None
    found = fit_speedups(arms, ran, alone)
    empty = _empty(known, columns, found.log)
    lenth = lenth_error([*found.log.values(), *empty])
    own = [Estimate(switches=(s,), log=found.log[s], se=found.se[s]) for s in ran]
    return Screen(
        estimates=tuple(sorted(own, key=lambda one: -one.log)),
        empty=tuple(empty),
        band=BAND * median(one.se for one in own),
        lenth_se=lenth,
        pairs=len({arm.group for arm in arms}),
        planned=columns,
    )


def lenth_error(contrasts: Sequence[float]) -> float | None:
    """Return the standard error of contrasts of which most are noise; None where there are too few of them.

    Source: R. V. Lenth, Quick and easy analysis of unreplicated factorials, Technometrics 31 (1989), 469-473.
    """
    if len(contrasts) < FEWEST_CONTRASTS:
        return None
    sizes = sorted(map(abs, contrasts))
    rough = SPREAD_OF_LENTH * median(sizes)
    return SPREAD_OF_LENTH * median(size for size in sizes if size <= 2.5 * rough)


def _empty(known: Known, columns: int, logs: Mapping[Switch, float]) -> list[float]:
    """Return the contrasts of the columns that no switch has: they would be 0 but for noise."""
    first = min(one.run.trial.seed for one in known.of(Role.SCREEN))
    rows, switches = hadamard(columns), list(logs)
    signed: dict[int, float] = {}
    for pair in _pairs(known.arms(Role.SCREEN)):
        # The first column is on in every row, and off in its mirror image.
        row, mirror = pair if switches[0] in pair[0].on else pair[::-1]
        gained = sum(log * ((s in row.on) - (s in mirror.on)) for s, log in logs.items())
        signed[row.run.trial.seed - first] = mirror.log_s - row.log_s - gained
    whole = {number: value for number, value in signed.items() if number < columns}
    empty = range(len(switches), columns)
    return [fmean(rows[n][column] * value for n, value in whole.items()) for column in empty] if whole else []


def _pairs(arms: Sequence[Arm]) -> list[tuple[Arm, Arm]]:
    groups: dict[object, list[Arm]] = {}
    for arm in arms:
        groups.setdefault(arm.group, []).append(arm)
    return [(own[0], own[1]) for own in groups.values() if len(own) == 2]
