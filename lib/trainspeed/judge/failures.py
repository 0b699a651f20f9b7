"""Which failures are alike, so that one sentence tells all of them."""

from __future__ import annotations

from collections.abc import Hashable

from trainspeed.core.run import Run, Status


def kind_of_failure(run: Run) -> Hashable:
    """Return what equal failures share; a reason may also say how much memory this very run asked for."""
    if run.status in (Status.UNSUPPORTED, Status.INVALID):
        return str(run.status), run.reason
    return str(run.status), run.failure and (run.failure.stage, run.failure.error, run.failure.cause)
