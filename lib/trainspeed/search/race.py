"""Switches that exclude each other are raced first, and the best that go together enter the screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trainspeed.core.run import Role
from trainspeed.search.arms import fit_speedups
from trainspeed.search.design import covers
from trainspeed.search.feasible import alone_groups
from trainspeed.search.findings import Estimate, Race
from trainspeed.search.known import ArmGroup, Known
from trainspeed.search.switch import Set, Switch, compatible

BLOCKS = 3
LITTLE = 1e-6  # what a switch counts for that does not pay alone: it may pay together with others


def rivals(known: Known, switches: Sequence[Switch]) -> list[Set]:
    """Return the sets of switches of which each excludes another one of its set, or needs it; not the lone ones."""
    found: list[list[Switch]] = []
    for switch in switches:
        near = [own for own in found if any(_rival(known, switch, other) for other in own)]
        found = [own for own in found if own not in near]
        found.append([*(other for own in near for other in own), switch])
    order = {switch: number for number, switch in enumerate(switches)}
    return [tuple(sorted(own, key=order.__getitem__)) for own in found if len(own) > 1]


def race_label(own: Set) -> str:
    """Return the label of a race's runs."""
    return f"{Role.RACE}{race_name(own)}"


def race_name(own: Set) -> str:
    """Return the names of a race's levers."""
    return "+".join(dict.fromkeys(switch.lever for switch in own))


def race_groups(known: Known, own: Set) -> list[ArmGroup]:
    """Return what a race measures."""
    return alone_groups(known, own, BLOCKS, race_label(own))


def race(known: Known, own: Set) -> Race:
    """Return how a race ended; one that was not run is decided by what was seen of each alone."""
    arms = known.arms(race_label(own), Role.FEASIBLE)
    arms = [arm for arm in arms if arm.on <= frozenset().union(*(known.on_with([s]) for s in own))]
    logs, errors = {}, {}
    for switch in own:
        on = known.on_with([switch])
        groups = {arm.group for arm in arms if arm.on == on}
        pairs = [arm for arm in arms if arm.group in groups and (arm.on == on or not arm.on)]
        if (found := fit_speedups(pairs, [switch])).log:
            logs[switch], errors[switch] = found.log[switch], found.se[switch]
    blocks = {(arm.run.trial.seed, arm.run.block) for arm in known.arms(race_label(own))}
    return Race(
        name=race_name(own),
        estimates=tuple(Estimate(switches=(s,), log=logs[s], se=errors[s]) for s in own if s in logs),
        entered=_best(known, own, logs),
        blocks=len({block for _, block in blocks}),
    )


def _best(known: Known, own: Set, logs: dict[Switch, float]) -> Set:
    """Return those that go together and bring most; one at least, as what does not pay alone may pay with others."""
    ran = [switch for switch in own if switch in logs]
    adds = _added(ran, logs)
    best: tuple[float, Set] = 0.0, ()
    for chosen in _together(known, ran):
        # What two of them come with counts once.
        on = {switch for switch in ran if any(covers(one, switch) for one in chosen)}
        worth = sum(adds[switch] for switch in on) + LITTLE * len(chosen)
        if not any(logs[switch] > 0 for switch in chosen):
            worth = LITTLE + max(logs[switch] for switch in chosen) * LITTLE
        best = max(best, (worth, chosen), key=lambda pair: pair[0])
    return best[1]


def _added(ran: Sequence[Switch], logs: Mapping[Switch, float]) -> dict[Switch, float]:
    """Return what each switch brings on top of those that it comes with; less than 0 where these are faster alone."""
    below = {switch: [o for o in ran if o != switch and covers(switch, o)] for switch in ran}
    adds: dict[Switch, float] = {}
    for switch in sorted(ran, key=lambda one: len(below[one])):
        adds[switch] = max(logs[switch], 0.0) - sum(adds.get(other, 0.0) for other in below[switch])
    return adds


def _together(known: Known, switches: Sequence[Switch]) -> list[Set]:
    """Return the sets of switches in which none excludes or needs another one."""
    sets: list[Set] = [()]
    for switch in switches:
        sets += [(*own, switch) for own in sets if not any(_rival(known, switch, other) for other in own)]
    return sets[1:]


def _rival(known: Known, one: Switch, other: Switch) -> bool:
    return covers(one, other) or covers(other, one) or not compatible(known.start, (one, other))
