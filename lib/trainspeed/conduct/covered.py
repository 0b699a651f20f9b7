"""How much of a plan was measured within its time, for the record beside the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from trainspeed.conduct.groups import PlannedGroup
from trainspeed.conduct.plan import Planned
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.coverage import NOTHING_CHOSEN, Choice, Coverage, GroupCoverage
from trainspeed.core.run import Run, Status


def covered(
    session: str,
    study: str,
    table: Timetable[PlannedGroup],
    runs: Iterable[Run],
    *,
    budget_s: float,
    spent_s: float,
    choice: Choice = NOTHING_CHOSEN,
) -> Coverage:
    """Return how many blocks each group has of a timetable at its end, but for groups around all others.

    Args:
        runs: All of the session.
        budget_s, spent_s, choice: See `Coverage`.
    """
    runs = list(runs)
    ended_well = {run.key: run.busy_s for run in runs if run.status is Status.OK}
    needed_s = {run.key: run.failure.needs_s for run in runs if run.failure and run.failure.lacked_time}
    groups = [group for group in table.groups if not group.around]
    planned_in = Counter(
        key for group in groups for key in {arm.key for block in group.blocks for arm in block}
    )
    found = []
    for group in groups:
        own_s = [needed_s[arm.key] for block in group.blocks for arm in block if arm.key in needed_s]
        measured = [block for block in group.blocks if _was_measured(block, ended_well, planned_in)]
        blocks = len(measured)
        took_s = sum(ended_well.get(arm.key, 0.0) for block in measured for arm in block)
        found.append(
            GroupCoverage(
                part=group.name,
                core=group.core,
                trials=tuple(arm.trial.spec.as_dict() for arm in group.blocks[0]),
                blocks=blocks,
                most=group.most,
                failed=not own_s and (group in table.over or (table.had(group) > 0 and not blocks)),
                needs_s=max(own_s, default=None),
                block_s=took_s / blocks if blocks else None,
            )
        )
    took = {"budget_s": budget_s, "spent_s": spent_s}
    return Coverage(session=session, study=study, groups=tuple(found), choice=choice, **took)


def _was_measured(
    block: Sequence[Planned], ended_well: Collection[Any], planned_in: Mapping[Any, int]
) -> bool:
    """Return whether a run of a block ended well that no other group has too, where there is such a one.

    A search asks for its fresh blocks once more with further arms: what the first group measured is not the second's.
    """
    own = [planned.key for planned in block if planned_in[planned.key] == 1]
    return any(key in ended_well for key in own or [planned.key for planned in block])
