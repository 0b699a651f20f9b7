"""Which blocks are not worth measuring any more, since trials of theirs have failed for good. Measures nothing.

A comparison of which one side is gone is none, and an A/A control of nothing shows the noise of nothing. Only
failures decide here, never how fast a trial was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields

from trainspeed.conduct.groups import PlannedGroup
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.timetable import FEWEST
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.run import AGAIN, DATA_ROLES, Role

NoUse = Callable[[Planned], bool]


def is_in_vain(group: PlannedGroup, number: int, *, groups: Iterable[PlannedGroup], is_no_use: NoUse) -> bool:
    """Return whether a block of a group is not worth measuring.

    Where one trial is left of several that were to be compared, its first block is measured, so that it is known, and
    no other (of what a search combines not even that: it is known by other runs); but for an A/A control while anything
    else is compared, and for a trial that is compared across groups.
    Data of whole training steps have as many blocks as an interval takes: other reports are compared with them.

    Args:
        groups: All of the study.
        is_no_use: Returns whether a run would fail again: see `trainspeed.conduct.given_up`.
    """
    left = _left(group.blocks[number], is_no_use)
    if not left:
        return True
    if left[0].block < _fewest(left) or len(_trials(group.blocks[number])) == 1 or len(_trials(left)) > 1:
        return False
    others = [other for other in groups if other is not group]
    controls = any(one.label in AGAIN.values() for one in left)
    if controls and any(len(_trials(_left(other.blocks[0], is_no_use))) > 1 for other in others):
        return False
    return not left[0].across or not any(_compares(left[0], other, is_no_use) for other in others)


def _fewest(left: Sequence[Planned]) -> int:
    """Return how many blocks there are of what is left alone."""
    if Role.of(left[0].label) in (Role.ELIMINATE, Role.TOGGLE):
        return 0
    data = any(Role.of(one.label) in DATA_ROLES for one in left)
    return FEWEST if data and left[0].trial.phase.trains else 1


def _left(block: Sequence[Planned], is_no_use: NoUse) -> list[Planned]:
    return [planned for planned in block if not is_no_use(planned)]


def _trials(block: Iterable[Planned]) -> set[AnyTrial]:
    return {planned.trial.spec for planned in block}


def _compares(one: Planned, group: PlannedGroup, is_no_use: NoUse) -> bool:
    """Return whether a group has a trial that one of another group is compared with."""
    return any(
        _differ_in(one.across, one.trial.spec, o.trial.spec) for o in _left(group.blocks[0], is_no_use)
    )


def _differ_in(names: Sequence[str], one: AnyTrial, other: AnyTrial) -> bool:
    """Return whether two trials differ in some of these fields, and in no other."""
    if type(one) is not type(other) or one == other:
        return False
    return all(getattr(one, f.name) == getattr(other, f.name) for f in fields(one) if f.name not in names)
