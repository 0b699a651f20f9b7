"""The command compare: check the sides first, then run, save and export the notebook that shows them beside each other.

Does not know what is compared: the notebook does that.
"""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.core.files import COMPARE
from trainspeed.core.format import counted
from trainspeed.core.paths import ROOT
from trainspeed.report.notebooks import Job, ReportRun
from trainspeed.report.output_folder import locked
from trainspeed.studies.across.common import common_trials
from trainspeed.studies.across.sides import PATHS_VARIABLE, read_sides

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
    with locked(out), tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as paths:
        json.dump([str(side.path.resolve()) for side in read], paths)
        paths.flush()
        job = Job(
            name=name,
            context=Context(id="", out=out, in_report=True),
            parameters={"runs": [side.name for side in read], "usd_per_hour": _prices(usd_per_hour)},
            variables={PATHS_VARIABLE: paths.name},
            rendered=True,
            notebook=COMPARE,
        )
        for doubt in (doubt for side in read for doubt in side.doubts):
            print(doubt, flush=True)
        trials = counted(len(common.trials), "trial")
        print(f"{name}: {trials} that at least two of {len(read)} sides have", flush=True)
        return ReportRun([job], None, out=out, folder=folder).run()


def _prices(usd_per_hour: Sequence[float | None]) -> list[float | None]:
    return [None if price is None else float(price) for price in usd_per_hour]


def prices_typed(text: str | None) -> list[float | str | None]:
    """Return the prices that a user typed, a `-` as None; what is no number stays text, for an error message."""
    return [_price(word) for word in (text or "").replace(",", " ").split()]


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
        UserError: They are named in both ways, or the text has a quote that is not closed.
    """
    if listed is None:
        return words
    if words:
        raise UserError("RUNS names the ledgers, and A and B name them too: use one of the two.")
    try:
        return shlex.split(listed)
    except ValueError:
        raise UserError(f"RUNS (={listed}) has a quote that is not closed.") from None
