"""What a run that failed reports: how, why, and whether the user's own file is the cause. Knows no framework."""

from __future__ import annotations

from trainspeed.core import user_model
from trainspeed.core.convolution import AnyTrial
from trainspeed.core.errors import UserError
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Status
from trainspeed.worker import user_code
from trainspeed.worker.device_errors import fault_of
from trainspeed.worker.events import Failed
from trainspeed.worker.failures import Invalid, NeedsPackage, first_line


def failed_by(problem: BaseException, trial: AnyTrial, stage: str, reached: RunResult) -> Failed:
    """Return the event of an exception that nobody raised on purpose: what its text means, and what it says.

    Where its text is not known and it came through the user's file, it says where; where it is known to name no cause,
    that is said in its place.

    Args:
        reached: What was measured until then.
    """
    fault, error = fault_of(problem), type(problem).__name__
    raised = None if fault else user_code.raised_in(getattr(trial, "model", ""), problem)
    failure = Failure(stage=stage, error=error, cause=fault and fault.cause, in_user_file=raised is not None)
    said = (fault and fault.says) or f"{error} in stage {stage!r}: {first_line(problem)}"
    reason = f"{raised}, in stage {stage!r}" if raised else said
    status = fault.status if fault else Status.CRASHED
    return Failed(status=status, reason=reason, failure=failure, result=reached)


def is_fault_of_user(problem: Exception, trial: AnyTrial) -> bool:
    """Return whether the cause is the user's own model or data: a mistake in it, or a package that it needs."""
    has_user_model = user_model.is_user_model(getattr(trial, "model", ""))
    return has_user_model and isinstance(problem, Invalid | NeedsPackage | UserError)
