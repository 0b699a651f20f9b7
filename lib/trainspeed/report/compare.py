"""Compare two folders of runs: check both, then run the notebook `compare` on them and write its page.

Measures nothing, and does not know what is compared.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from trainspeed.conduct.context import Context
from trainspeed.core.files import COMPARE
from trainspeed.core.paths import ROOT
from trainspeed.report.notebooks import Job, ReportRun
from trainspeed.report.output_folder import locked
from trainspeed.studies.across.costs import check_prices
from trainspeed.studies.across.pairs import side_by_side
from trainspeed.studies.across.sides import LEDGER_VARIABLES, read_sides


def compare_reports(
    a: str,
    b: str,
    *,
    out: Path,
    a_usd_per_hour: str | None = None,
    b_usd_per_hour: str | None = None,
    folder: Path = ROOT / "notebooks",
) -> int:
    """Write `compare.ipynb` and `compare.html`; return the exit code, as `make report` does.

    The notebook learns from its environment where the ledgers are, and from its parameters only what the two
    sides are called: the page shows those.

    Args:
        a, b: Folders with runs, or ledgers, relative to the user's working directory.
        a_usd_per_hour, b_usd_per_hour: Prices of the machines that A and B were measured on, as typed.
    Raises:
        UserError: Something is wrong, and nothing has been written.
    """
    prices = check_prices(_number(a_usd_per_hour), _number(b_usd_per_hour))
    sides = read_sides(a, b, seen_from=Path.cwd(), environment={})
    pairs = side_by_side(sides[0].runs, sides[1].runs).pairs
    values = (sides[0].name, sides[1].name, *prices)
    job = Job(
        name=COMPARE,
        context=Context(id="", out=out, in_report=True),
        parameters=dict(zip(("a", "b", "a_usd_per_hour", "b_usd_per_hour"), values, strict=True)),
        variables={LEDGER_VARIABLES[side.letter]: str(side.path.resolve()) for side in sides},
        rendered=True,
    )
    with locked(out):
        for doubt in (*sides[0].doubts, *sides[1].doubts):
            print(doubt, flush=True)
        print(f"{COMPARE}: {len(pairs)} trials that both have", flush=True)
        return ReportRun([job], None, out=out, folder=folder).run()


def _number(text: str | None) -> float | str | None:
    """Return the number that was typed; other text as it is, to be shown in an error message."""
    if text is None or not text.strip():
        return None
    with contextlib.suppress(ValueError):
        return float(text)
    return text
