"""Which failures are alike, so that one sentence tells all of them, and which blocks they cost a comparison."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

from trainspeed.core.run import Run, Status

MOST_LETTERS = 60  # of what a crash says, by which it is told from others


def kind_of_failure(run: Run) -> Hashable:
    """Return what equal failures share; a reason may also say how much memory this very run asked for.

    Crashes of one class of error are one only where they say the same but for numbers: RuntimeError is most of torch's.
    """
    if run.status in (Status.UNSUPPORTED, Status.INVALID):
        return str(run.status), run.reason
    words = re.sub(r"\d+", "", run.reason or "")[:MOST_LETTERS] if run.status is Status.CRASHED else None
    return str(run.status), words, run.failure and (run.failure.stage, run.failure.error, run.failure.cause)


def one_sided_blocks(one: Iterable[Run], other: Iterable[Run], value: Callable[[Run], object | None]) -> int:
    """Return the number of blocks in which both trials ran, and one alone ended well and has the value."""
    sides = [tuple(one), tuple(other)]
    ran = [{run.block for run in runs} for runs in sides]
    has = [{r.block for r in runs if r.status is Status.OK and value(r) is not None} for runs in sides]
    return len((ran[0] & ran[1]) & (has[0] ^ has[1]))
