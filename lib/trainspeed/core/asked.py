"""What reports into a folder were asked for: of their sessions' lines, what pages tell."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trainspeed.core.coverage import Choice
from trainspeed.core.ledger import SESSIONS_FILE, read_lines
from trainspeed.core.quantities import Duration, Identifier
from trainspeed.core.run import Run

BUDGET = "budget_s"  # the parameter of a notebook that measures: its own time
MOST_NOTEBOOKS = 100


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """What one report was asked for.

    Attributes:
        notebooks: Names of its notebooks.
        budget_s: Seconds that the whole report was given; None without a limit.
        chosen_preset: The preset, where the user named one.
        own: Notebook -> parameter -> the user's own value, on top of the preset.
        parameters: Notebook -> parameter -> its value.
        weights: Notebook -> what its share of the report's time depends on; only of those that have one.
    """

    session: str
    notebooks: Annotated[tuple[Identifier, ...], Meta(max_length=MOST_NOTEBOOKS)]
    budget_s: Duration | None = None
    chosen_preset: Identifier | None = None
    own: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    parameters: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    weights: Mapping[str, Any] = msgspec.field(default_factory=dict)

    def has_limit(self, notebook: str) -> bool:
        """Whether a notebook had a limit of time: its share of the report's, or one that the user has set."""
        return notebook in self.weights or bool(self.parameters.get(notebook, {}).get(BUDGET))


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


def choices_of(folder: Path, sessions: Mapping[str, str], runs: Iterable[Run]) -> dict[str, Choice]:
    """Return study -> what a user chose of its session, where a report asked for it.

    Args:
        sessions: Study -> session.
        runs: Those of the sessions, which tell whether nodes of a fleet have measured them.
    """
    asked, by_fleet = {one.session for one in read_asked(folder)}, {run.study for run in runs if run.node}
    known = {study: session for study, session in sessions.items() if session in asked}
    return {s: choice_of(folder, session, s, by_fleet=s in by_fleet) for s, session in known.items()}
