"""The table of checks."""

from __future__ import annotations

from collections.abc import Sequence

from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING
from trainspeed.judge.check_list import named
from trainspeed.judge.checks import Check
from trainspeed.show.cells import styled


def check_table(checks: Sequence[Check]) -> Styler:
    """Return a row per check: its name, how it ended, what was measured and what was expected."""
    rows = [
        {
            "check": named(check),
            "outcome": str(check.outcome),
            "measured": check.measured or MISSING,
            "expected": check.expected,
        }
        for check in checks
    ]
    return styled(rows, "checks", "Checks of the instrument", columns=["check", "outcome"])
