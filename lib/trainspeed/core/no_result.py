"""Runs of a notebook that gave no result, in a line. Prints nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trainspeed.core.format import counted, one_line
from trainspeed.core.probe import FULL
from trainspeed.core.run import Run, Status


def failures_in_short(runs: Sequence[Run]) -> str | None:
    """Return how many runs gave no result, and why most of them did.

    None where all did, and where some did and the others cannot be had here: the page says why. A probe that ran out of
    memory as it was to has done what it should.
    """
    failed = [run for run in runs if run.status is not Status.OK and not _is_to_fail(run)]
    why = failed if len(failed) == len(runs) else [r for r in failed if r.status is not Status.UNSUPPORTED]
    if not why:
        return None
    (status, reason), _ = Counter((run.status, run.reason or "") for run in why).most_common(1)[0]
    return f"{len(why)} of {counted(len(runs), 'run')} gave no result: {one_line(f'{status}: {reason}')}"


def _is_to_fail(run: Run) -> bool:
    return run.trial.phase.probe and run.trial.name == FULL and run.status is Status.OOM


def has_result(runs: Sequence[Run]) -> bool:
    """Return whether a notebook measured anything, where it was to measure something."""
    return not runs or any(run.status is Status.OK for run in runs)
