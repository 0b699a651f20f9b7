"""The table of checks."""

from __future__ import annotations

from collections.abc import Sequence

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, NAMES
from trainspeed.judge.checks import Check
from trainspeed.show.cells import styled


def check_table(checks: Sequence[Check]) -> Styler:
    """Return a row per check: what, measured, expected, outcome, and why it is not ok."""
    rows = [
        {
            "check": check.name,
            "framework": NAMES.get(check.framework, check.framework or ""),
            "measured": check.measured or MISSING,
            "expected": check.expected,
            "outcome": str(check.outcome),
            "why": check.reason,
        }
        for check in checks
    ]
    return styled(rows, "checks", "Checks of the instrument")
