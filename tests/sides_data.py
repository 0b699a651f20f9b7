"""Made-up sides of a comparison: exact times, a ledger's worth of runs each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from study_data import make_run
from trainspeed.core.run import Run
from trainspeed.studies.across.common import Common, common_trials
from trainspeed.studies.across.jobs import Job, KindOf, find_jobs


def blocks(seconds: float, count: int = 6, *, step: float = 0.001, **more) -> list[Run]:
    """Return runs of one trial, a block each; each takes a step longer than the one before, as a share."""
    return [
        make_run(seconds * (1 + step * block), block=block, **{"dataset": "digits"} | more)
        for block in range(count)
    ]


def common_of(**sides: Iterable[Run]) -> Common:
    """Return what these sides have in common."""
    return common_trials(sides)


def jobs_of(
    sides: Mapping[str, Iterable[Run]], *, kind_of: KindOf | None = None, **usd_per_hour: float
) -> list[Job]:
    """Return the jobs of these sides; a price that is not named is not known, and no two sides are alike by default."""
    return find_jobs(common_trials(sides), {side: usd_per_hour.get(side) for side in sides}, kind_of)
