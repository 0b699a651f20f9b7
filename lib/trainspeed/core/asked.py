"""What reports into a folder were asked for: of their sessions' lines, what pages tell."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from trainspeed.core.ledger import SESSIONS_FILE, read_lines
from trainspeed.core.quantities import Duration


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """What one report was asked for.

    Attributes:
        notebooks: Names of its notebooks.
        budget_s: Seconds that the whole report was given; None without a limit.
    """

    session: str
    notebooks: tuple[str, ...]
    budget_s: Duration | None = None


def read_asked(folder: Path) -> list[Asked]:
    """Return what the reports into a folder were asked for, oldest first; damaged lines are left out."""
    asked: list[Asked] = []
    for _, line in read_lines(folder / SESSIONS_FILE):
        with contextlib.suppress(ValueError, RecursionError):
            asked.append(msgspec.json.decode(line, type=Asked))
    return asked
