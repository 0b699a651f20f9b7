"""Compare two folders of runs: check both, then run the notebook `compare` on them and write its page.

Measures nothing, and does not know what is compared.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from trainspeed.compare import compared
from trainspeed.compare_costs import Prices, check_prices
from trainspeed.compare_sides import VARIABLES, ledgers, read_sides
from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.front_page import PAGE
from trainspeed.interruption import Interruption
from trainspeed.notebooks_run import Job, Notebooks, exit_code
from trainspeed.output_folder import locked, shown
from trainspeed.scrub import scrubber
from trainspeed.sessions import COMPARE


def compare(
    a: str,
    b: str,
    *,
    out: Path,
    a_usd_per_hour: str | None = None,
    b_usd_per_hour: str | None = None,
    folder: Path = ROOT / "notebooks",
) -> int:
    """Write `compare.ipynb` and `compare.html`; return the exit code, as `make report` does.

    The notebook is told where the ledgers are by its environment, and by its parameters only what the two
    sides are called: those are shown in the page.

    Args:
        a, b: Folders with runs, or ledgers, seen from where the user is.
        a_usd_per_hour: Price of the machine that A was measured on, as it was typed; so with B's.
    Raises:
        UserError: Something is wrong, and nothing has been written.
    """
    prices = check_prices(_number(a_usd_per_hour), _number(b_usd_per_hour))
    seen = {"seen_from": Path.cwd(), "environment": {}}
    sides = read_sides(a, b, **seen)
    rows = compared(sides[0].runs, sides[1].runs)
    paths = ledgers(a, b, **seen)
    job = Job(
        name=COMPARE,
        session="",
        parameters=_parameters([side.name for side in sides], prices),
        environment={
            "TRAINSPEED_REPORT": "1",
            **{VARIABLES[side.letter]: str(path.resolve()) for side, path in zip(sides, paths, strict=True)},
        },
        rendered=True,
    )
    with locked(out):
        for doubt in (*sides[0].doubts, *sides[1].doubts):
            print(doubt, flush=True)
        print(f"{COMPARE}: {len(rows)} trials that both have", flush=True)
        return _run(job, out, folder)


def _parameters(names: list[str], prices: Prices) -> dict[str, str | float | None]:
    return dict(zip(("a", "b", "a_usd_per_hour", "b_usd_per_hour"), (*names, *prices), strict=True))


def _number(text: str | None) -> float | str | None:
    """What is no number stays as it is, for the message."""
    if text is None or not text.strip():
        return None
    with contextlib.suppress(ValueError):
        return float(text)
    return text


def _run(job: Job, out: Path, folder: Path) -> int:
    words = [(folder / f"{job.name}.ipynb").read_text(encoding="utf-8")]
    notebooks = Notebooks(folder, out, scrubber(root=ROOT, out=out.resolve(), own_words=words))
    page = f"{job.name}.html"
    try:
        with Interruption() as interruption:
            result = notebooks.run(job, interruption)
            result = notebooks.exported(result, page, front_page=(out / PAGE).is_file())
            asked = interruption.asked
    except OSError as problem:
        raise UserError(f"cannot write to {shown(out)}: {problem.strerror or problem}") from None
    if result.error:
        print(f"{job.name}: {result.outcome}: {result.error}", flush=True)
    for path in filter(None, (result.path, out / page)):
        if path.exists():
            print(shown(path), flush=True)
    return exit_code([result], asked)
