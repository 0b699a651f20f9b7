"""What reports into a folder were asked for: of their sessions' lines, what pages tell."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from trainspeed.core.coverage import Choice
from trainspeed.core.ledger import SESSIONS_FILE, read_lines
from trainspeed.core.quantities import Duration, Identifier


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """What one report was asked for.

    Attributes:
        notebooks: Names of its notebooks.
        budget_s: Seconds that the whole report was given; None without a limit.
        chosen_preset: The preset, where the user named one.
        own: Notebook -> parameter -> the user's own value, on top of the preset.
    """

    session: str
    notebooks: tuple[str, ...]
    budget_s: Duration | None = None
    chosen_preset: Identifier | None = None
    own: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)


def read_asked(folder: Path) -> list[Asked]:
    """Return what the reports into a folder were asked for, oldest first; damaged lines are left out."""
    asked: list[Asked] = []
    for _, line in read_lines(folder / SESSIONS_FILE):
        with contextlib.suppress(ValueError, RecursionError):
            asked.append(msgspec.json.decode(line, type=Asked))
    return asked


def choice_of(folder: Path, session: str, study: str, *, by_fleet: bool) -> Choice:
    """Return what a user chose of a study's session; by hand where no report asked for it."""
    own = [one for one in read_asked(folder) if one.session == session]
    if not own:
        return Choice(by_fleet=by_fleet, by_hand=not by_fleet)
    return Choice(preset=own[-1].chosen_preset, parameters=own[-1].own.get(study, {}), by_fleet=by_fleet)
