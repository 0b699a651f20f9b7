"""Checks of memory: is what a run takes seen, and does running out of it harm nothing else?"""

from __future__ import annotations

from trainspeed.core.format import gigabytes
from trainspeed.core.probe import FULL
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.checks import Check, CheckOutcome, Finding, Values, of_probe, unmeasured_finding

PROBE = "memory"
MARGIN = 0.05


def is_seen(runs: RunSet) -> list[Check]:
    """Return whether memory that was planted is in the peak that runs report, and in what the driver tells."""
    expected = f"what was planted, within {100 * MARGIN:.0f} %; by the driver at least as much"
    return of_probe(runs, PROBE, name="Planted memory is seen", expected=expected, find=_seen)


def _seen(values: Values) -> Finding:
    planted, peak, used = (values[name] for name in ("planted_bytes", "peak_bytes", "used_bytes"))
    if peak is None:
        reason = "the peak of a run's memory cannot be read here"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)
    measured = f"{gigabytes(peak, 3)} of {gigabytes(planted, 3)}"
    if used is not None:
        measured += f"; {gigabytes(used, 3)} by the driver"
    reason = ""
    if abs(peak / planted - 1) > MARGIN:
        reason = "the peak that runs report is not what they take"
    elif used is not None and used < planted * (1 - MARGIN):
        reason = "the driver does not see it: its GPU is not the one that was used"
    outcome = CheckOutcome.NOT_OK if reason else CheckOutcome.OK
    return Finding(measured=measured, outcome=outcome, reason=reason)


def running_out_is_a_row(runs: RunSet) -> list[Check]:
    """Return whether a run that asks for too much memory ends as such, and the framework's next run ends well."""
    mine = [run for run in runs if run.trial.phase.probe and run.trial.name == FULL]
    return [
        Check(
            name="Running out of memory harms no other run",
            expected="such a run says so, and the next one ends well",
            framework=run.trial.framework,
            **vars(_harmless(run, runs)),
        )
        for run in {run.trial.framework: run for run in mine}.values()
    ]


def _harmless(run: Run, runs: RunSet) -> Finding:
    if run.status is Status.UNSUPPORTED:
        return unmeasured_finding(run)
    if run.status is not Status.OOM:
        reason = f"a run that asked for more memory than there is ended as {run.status}: {run.reason or 'no reason'}"
        return Finding(measured=str(run.status), outcome=CheckOutcome.NOT_OK, reason=reason)
    later = [
        other
        for other in runs
        if other.trial.framework == run.trial.framework and (other.started_at or "") > (run.started_at or "")
    ]
    if not later:
        reason = "no run of this framework came after it"
        return Finding(measured=str(run.status), outcome=CheckOutcome.UNDECIDED, reason=reason)
    after = min(later, key=lambda other: other.started_at)
    if after.status in (Status.OK, Status.UNSUPPORTED):
        return Finding(measured=f"{run.status}, then {after.status}", outcome=CheckOutcome.OK)
    reason = f"the run after it ended as {after.status}: {after.reason}"
    return Finding(measured=f"{run.status}, then {after.status}", outcome=CheckOutcome.NOT_OK, reason=reason)
