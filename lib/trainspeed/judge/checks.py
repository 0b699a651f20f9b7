"""What a check of the instrument says: what was measured, what was expected, and whether that is right.

The checks themselves are in `judge.check_*`, a module for each subject, and in their order in `judge.check_list`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class CheckOutcome(StrEnum):
    """How a check ended."""

    OK = "ok"
    NOT_OK = "not ok"
    UNDECIDED = "undecided"  # too noisy here to tell: no fault was found, and none is ruled out
    NOT_APPLICABLE = "not applicable"  # nothing to measure it with: its reason says why


WORST_FIRST = (
    CheckOutcome.NOT_OK,
    CheckOutcome.UNDECIDED,
    CheckOutcome.OK,
    CheckOutcome.NOT_APPLICABLE,
)


@dataclass(frozen=True, kw_only=True)
class Check:
    """One line of the table of checks.

    Attributes:
        name: What is checked; several lines may have the same, one for each framework.
        measured: What was measured, with units; empty where nothing was.
        expected: What would be right, with units.
        reason: Why it is not ok, undecided or not applicable, and what to do; empty where it is ok.
        framework: Of which the line is; None where it is of none, or of all.
    """

    name: str
    measured: str
    expected: str
    outcome: CheckOutcome
    reason: str = ""
    framework: str | None = None


def worst(checks: Iterable[Check]) -> CheckOutcome:
    """Return the outcome that counts for several lines; "not applicable" only where all are."""
    outcomes = {check.outcome for check in checks}
    return next((o for o in WORST_FIRST if o in outcomes), CheckOutcome.NOT_APPLICABLE)
