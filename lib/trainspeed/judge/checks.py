"""What a check of the instrument says: what was measured, what was expected, and whether that is right.

The checks themselves are in `judge.check_*`, a module for each subject, and in their order in `judge.check_list`.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from trainspeed.core.probe import NOTHING_SEEN, ON_CPU, WITHOUT_FRAMEWORK, ProbeValue
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import RunSet
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.verdict import median_interval


class CheckOutcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOT_OK = "not ok"
    UNDECIDED = "undecided"  # too noisy here to tell: no fault was found, and none is ruled out
    NOT_APPLICABLE = "not applicable"  # nothing to measure it with: its reason says why


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the table of checks.

    Attributes:
        name: What is checked; several lines may have the same, one for each framework.
        measured: What was measured, with units; empty where nothing was.
        expected: What would be right, with units.
        reason: Why it is not ok, undecided or not applicable, and what to do; empty where it is ok.
        framework: Of which the line is; None where it is of none, or of all.
        scatters: Whether it is undecided though others hardly had its cores: more rounds decide it.
    """

    name: str
    measured: str
    expected: str
    outcome: CheckOutcome
    reason: str = ""
    framework: str | None = None
    scatters: bool = False


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What a check found in the values of one run: see `Check`."""

    measured: str
    outcome: CheckOutcome
    reason: str = ""
    scatters: bool = False


Values = Mapping[str, ProbeValue]


def of_probe(
    runs: RunSet, probe: str, *, name: str, expected: str, find: Callable[[Values], Finding]
) -> list[Check]:
    """Return a line for each framework whose probe of this name ran, or was to run.

    There is one of no framework where none is needed, and where the same reason makes it not applicable in all.

    Args:
        find: Judges the values of a run that ended well.
    """
    mine = runs.where(lambda run: run.trial.phase.probe and run.trial.name == probe)
    newest = {run.trial.framework: run for run in mine}
    checks = []
    for framework, run in sorted(newest.items(), key=lambda item: FRAMEWORKS.index(item[0])):
        found = _found(run, find) if run.status is Status.OK else unmeasured_finding(run)
        of = None if probe in WITHOUT_FRAMEWORK else framework
        checks.append(Check(name=name, expected=expected, framework=of, **vars(found)))
    alike = {(check.outcome, check.measured, check.reason) for check in checks}
    if len(checks) > 1 and len(alike) == 1 and checks[0].outcome is CheckOutcome.NOT_APPLICABLE:
        return [replace(checks[0], framework=None)]
    return checks


def _found(run: Run, find: Callable[[Values], Finding]) -> Finding:
    try:
        return find(run.probe)
    except (KeyError, TypeError, ValueError, ArithmeticError, statistics.StatisticsError):
        reason = "its values in the ledger are of another version, or damaged: measure again"
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=reason)


def unmeasured_finding(run: Run) -> Finding:
    """Return what a run that gave no values means: what cannot be measured here is no fault, what failed is one."""
    if run.status is Status.UNSUPPORTED:
        return Finding(measured="", outcome=CheckOutcome.NOT_APPLICABLE, reason=run.reason or "")
    return Finding(measured="", outcome=CheckOutcome.NOT_OK, reason=f"{run.status}: {run.reason}")


def not_profiled(why: str) -> str:
    """Return in words why a profiler told nothing: see `core.probe.ON_CPU`, else the class of an exception."""
    known = {ON_CPU: "not applicable on a CPU", NOTHING_SEEN: "not known, the profiler saw none of it"}
    return known.get(why, f"not known, the profiler ended with {why}")


def within(
    values: Sequence[float], low: float, high: float
) -> tuple[CheckOutcome, tuple[float, float] | None]:
    """Return whether the median of values lies between two bounds, by its 95 % interval, and that interval.

    Noise alone is never a fault: an interval that reaches beyond a bound from within leaves it undecided, and so
    does a lack of values.
    """
    ends = median_interval(values)
    if ends is None:
        return CheckOutcome.UNDECIDED, None
    if low <= ends[0] and ends[1] <= high:
        return CheckOutcome.OK, ends
    return (CheckOutcome.NOT_OK if ends[1] < low or ends[0] > high else CheckOutcome.UNDECIDED), ends
