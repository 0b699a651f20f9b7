"""The commands compare and history: check the ledgers first, then run, save and export the notebook that shows them.

Does not know what is compared: the notebook does that.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.core.files import COMPARE, HISTORY
from trainspeed.core.format import counted
from trainspeed.core.paths import ROOT
from trainspeed.report.notebooks import NotebookJob, ReportRun
from trainspeed.report.output_folder import locked
from trainspeed.studies.across.common import common_trials
from trainspeed.studies.across.sessions import sessions_of
from trainspeed.studies.across.sides import PATHS_VARIABLE, Side, read_sides

NOTEBOOKS = ROOT / "notebooks"
NOT_KNOWN = "-"  # in place of a price


def compare_reports(
    sides: Sequence[Path | str],
    usd_per_hour: Sequence[float | None] = (),
    *,
    out: Path,
    name: str = COMPARE,
    folder: Path = NOTEBOOKS,
) -> int:
    """Write `<name>.ipynb` and `<name>.html`, and return the exit code, as `make report` does.

    The notebook learns from its environment where the ledgers are, and from its parameters only what the sides are
    called and what they cost: the page shows those. `out` is locked meanwhile, as by a report.

    Args:
        sides: Folders with runs, or ledgers, relative to the user's working directory. The others are compared with
            the first.
        usd_per_hour: Price of an hour of a machine of each side, in US dollars; None where it is not known; none at
            all where no price is.
    Raises:
        UserError: Something is wrong, and nothing has been written.
    """
    read = read_sides([str(side) for side in sides], usd_per_hour, seen_from=Path.cwd(), environment={})
    common = common_trials({side.name: side.runs for side in read})
    trials = counted(len(common.trials), "trial")
    about = f"{trials} that at least two of {len(read)} sides have"
    parameters = {"runs": [side.name for side in read], "usd_per_hour": _prices(usd_per_hour)}
    return _draw(read, about, parameters, out=out, name=name, notebook=COMPARE, folder=folder)


def draw_history(ledgers: Sequence[Path | str] = (), *, out: Path, folder: Path = NOTEBOOKS) -> int:
    """Write `history.ipynb` and `history.html`, the sessions of ledgers in the order of time; return the exit code.

    Args:
        ledgers: Folders with runs, or ledgers, relative to the user's working directory; none: that of `out`.
    Raises:
        UserError: Something is wrong, or there are fewer than two sessions, and nothing has been written.
    """
    named = [str(ledger) for ledger in ledgers] or [str(out)]
    read = read_sides(named, fewest=1, seen_from=Path.cwd(), environment={})
    sessions = sessions_of(run for side in read for run in side.runs)
    common = common_trials({session.label: session.runs for session in sessions})
    about = f"{counted(len(common.trials), 'trial')} that at least two of {len(sessions)} sessions have"
    parameters = {"runs": [side.name for side in read]}
    return _draw(read, about, parameters, out=out, name=HISTORY, notebook=HISTORY, folder=folder)


def _draw(
    read: Sequence[Side],
    about: str,
    parameters: Mapping[str, Any],
    *,
    out: Path,
    name: str,
    notebook: str,
    folder: Path,
) -> int:
    """Run and export a notebook that shows ledgers; its environment alone knows where they are."""
    with locked(out), tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as paths:
        json.dump([str(side.path.resolve()) for side in read], paths)
        paths.flush()
        job = NotebookJob(
            name=name,
            context=Context(id="", out=out, in_report=True),
            parameters=parameters,
            variables={PATHS_VARIABLE: paths.name},
            rendered=True,
            notebook=notebook,
        )
        for doubt in (doubt for side in read for doubt in side.doubts):
            print(doubt, flush=True)
        print(f"{name}: {about}", flush=True)
        return ReportRun([job], None, out=out, folder=folder).run()


def _prices(usd_per_hour: Sequence[float | None]) -> list[float | None]:
    return [None if price is None else float(price) for price in usd_per_hour]


def prices_typed(listed: str | None, of_two: str | None = None) -> list[float | str | None]:
    """Return the prices that a user typed, a `-` as None; what is no number stays text, for an error message.

    Raises:
        UserError: They are given for all sides and for two by their names.
    """
    if listed is not None and of_two is not None:
        raise UserError("USD has the prices, and A_USD and B_USD have them too: use one of the two.")
    return [_price(word) for word in (listed or of_two or "").replace(",", " ").split()]


def _price(word: str) -> float | str | None:
    if word == NOT_KNOWN:
        return None
    try:
        return float(word)
    except ValueError:
        return word


def sides_typed(words: Sequence[str], listed: str | None) -> Sequence[str]:
    """Return the sides that a user named one by one, or in one text with spaces between; quotes keep a space.

    Raises:
        UserError: They are named in both ways, one of two is not named, or the text has a quote that is not closed.
    """
    if listed is None:
        if [bool(word.strip()) for word in words] in ([True, False], [False, True]):
            given, missing = "AB" if words[0].strip() else "BA"
            raise UserError(
                f"{given} names a ledger and {missing} none: name both, as in A=outputs/old B=outputs/new."
            )
        return words
    if words:
        raise UserError("RUNS names the ledgers, and A and B name them too: use one of the two.")
    try:
        return shlex.split(listed)
    except ValueError:
        raise UserError(f"RUNS (={listed}) has a quote that is not closed.") from None
