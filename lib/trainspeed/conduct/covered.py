"""How much of a plan was measured within its time, for the record beside the ledger."""

from __future__ import annotations

from collections.abc import Iterable

from trainspeed.conduct.groups import PlannedGroup
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.coverage import GroupCoverage
from trainspeed.core.run import Run, Status


def covered_groups(table: Timetable[PlannedGroup], runs: Iterable[Run]) -> tuple[GroupCoverage, ...]:
    """Return how many blocks each group has of a timetable at its end, but for groups around all others.

    Args:
        runs: All of the session.
    """
    ended_well = {run.key for run in runs if run.status is Status.OK}
    found = []
    for group in (group for group in table.groups if not group.around):
        blocks = sum(any(planned.key in ended_well for planned in block) for block in group.blocks)
        found.append(
            GroupCoverage(
                part=group.name,
                core=group.core,
                trials=tuple(arm.trial.spec.as_dict() for arm in group.blocks[0]),
                blocks=blocks,
                most=group.most,
                failed=group in table.over or (table.had(group) > 0 and not blocks),
            )
        )
    return tuple(found)
