"""What a finished report shows of how it was measured: its time against its budget, and its A/A controls."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

import msgspec

from neighbour import core_for, neighbour
from rows_of_turns import half_width, of_waiting
from trainspeed.core.files import VERDICTS
from trainspeed.core.format import listed
from trainspeed.core.ledger import SESSIONS_FILE, Ledger, read_lines
from trainspeed.core.notes import CoresBusy
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict, controls
from trainspeed.judge.verdict import MIN_BLOCKS
from trainspeed.studies.summary.collect import PAGE

IN_BUDGET = (0.85, 1.15)  # wanted of wall time / budget
TIMED_SHARE = 0.65  # wanted
HALF_WIDTH = 0.04  # wanted of the interval of a control
DRAWN_S = 8.0  # wanted of a notebook that is drawn again
NEIGHBOUR_SEED = 7
BESIDE = "report beside a noisy neighbour on the other core"


def parts(folder: Path, budget_s: float | None) -> dict[str, Callable[[], list[str]]]:
    """Return name -> what returns the rows on a report that has been made, and on one beside a noisy neighbour.

    Args:
        folder, budget_s: Of the report that has been made: see `rows`.
    """
    return {"report": partial(rows, folder, budget_s), "beside a neighbour": beside_neighbour}


def beside_neighbour() -> list[str]:
    """Have a report in `quick` made beside a neighbour on the core next to the arms' own, and return its rows."""
    core = core_for("other")
    if core in (None, core_for("own")):
        return [f"| {BESIDE} | not measured: there is no other core | | |"]
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "trainspeed", "report", "--preset", "quick", "--out", out]
        try:  # whatever ends it, the other parts go on
            with neighbour(core, NEIGHBOUR_SEED):
                code = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
        except SystemExit as problem:
            return [f"| {BESIDE} | not measured: {problem} | | |"]
        if code:
            return [f"| {BESIDE} | not measured: the report ended with exit code {code} | | |"]
        return rows_beside_neighbour(Path(out))


def rows_beside_neighbour(folder: Path) -> list[str]:
    """Return the rows on the newest session of a report that was made beside a neighbour."""
    asked, runs = _newest(folder)
    verdicts = [Verdict.from_dict(one) for one in msgspec.json.decode((folder / VERDICTS).read_bytes())]
    return [
        *_time(BESIDE, _wall_s(folder, asked, runs), sum(run.timed_s for run in runs), asked.get("budget_s")),
        *_controls(BESIDE, runs),
        _verdicts(BESIDE, verdicts),
        _beside(BESIDE, runs),
    ]


def _verdicts(what: str, verdicts: Sequence[Verdict]) -> str:
    """Return the row on how many comparisons were decided: of times, in blocks enough for it, of different settings."""
    asked = [
        one for one in verdicts if one.blocks >= MIN_BLOCKS and one.quantity == "time" and not one.is_control
    ]
    counts = Counter(str(one.outcome) for one in asked)
    words = ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common())
    looks = sum(one.blocks < MIN_BLOCKS for one in verdicts)
    others = (
        f"and {len(verdicts) - len(asked) - looks} controls and accuracies, {looks} looks in fewer blocks"
    )
    label = f"comparisons of times in {MIN_BLOCKS} blocks or more"
    return f"| {what}: {label} | {words or 'none'}; {others} | printed | |"


def rows(folder: Path, budget_s: float | None) -> list[str]:
    """Return the rows on the newest session of a report's folder.

    Args:
        budget_s: Seconds that the report was given; None: as its folder says.
    """
    what = "last report"
    asked, runs = _newest(folder)
    if not runs:
        return ["| last report | not measured: run `make report` first | | |"]
    budget_s = asked.get("budget_s") if budget_s is None else budget_s
    return [
        *_time(what, _wall_s(folder, asked, runs), sum(run.timed_s for run in runs), budget_s),
        *_controls(what, runs),
        _beside(what, runs),
        *(f"| {what}, {row.removeprefix('| ')}" for row in of_waiting(runs)),
        *_rendering(folder, notebooks=len({run.study for run in runs})),
    ]


def _newest(folder: Path) -> tuple[dict, Sequence[Run]]:
    """Return what the newest report of a folder was asked for, and its runs."""
    ledger = Ledger(folder)
    if not (sessions := ledger.newest()):
        return {}, ()
    last = max(sessions.values())
    runs, _ = ledger.read({study: session for study, session in sessions.items() if session == last})
    return _asked(folder, last), runs


def _asked(folder: Path, session: str) -> dict:
    """Return what a report was asked for; nothing where the notebooks were run by hand."""
    lines = [msgspec.json.decode(line) for _, line in read_lines(folder / SESSIONS_FILE)]
    return next((line for line in lines if line["session"] == session), {})


def _wall_s(folder: Path, asked: dict, runs: Sequence[Run]) -> float:
    """Return the seconds from the request of a report to its front page, or to its last run where it has none."""
    begun = [datetime.fromisoformat(run.started_at).timestamp() for run in runs]
    ended = max(b + sum(run.stages_s.values()) for b, run in zip(begun, runs, strict=True))
    started = datetime.fromisoformat(asked["started_at"]).timestamp() if asked else min(begun)
    page = folder / PAGE
    return max(ended, page.stat().st_mtime if page.exists() else 0.0) - started


def _time(what: str, wall_s: float, timed_s: float, budget_s: float | None) -> list[str]:
    share = timed_s / wall_s
    found = [
        f"| {what}: share of {wall_s:.0f} s inside timed epochs and calls | {share:.2%} | at least "
        f"{TIMED_SHARE:.0%} | {_yes(share >= TIMED_SHARE)} |"
    ]
    if budget_s is not None:
        used, (least, most) = wall_s / budget_s, IN_BUDGET
        found.append(
            f"| {what}: wall time / budget of {budget_s / 60:g} min | {used:.2f} | {least} to {most} | "
            f"{_yes(least <= used <= most)} |"
        )
    return found


def _controls(what: str, runs: Sequence[Run]) -> list[str]:
    """Return the row on the intervals of A/A controls of all studies of a report."""
    known = [
        control
        for study in dict.fromkeys(run.study for run in runs)
        for control in controls([run for run in runs if run.study == study])
    ]
    if not known:
        return []
    judged = sorted((one for one in known if one.low is not None), key=half_width)
    without = [one for one in known if one.low is None]
    parts = []
    if judged:
        widths = " to ".join(dict.fromkeys(f"{half_width(one):.1%}" for one in (judged[0], judged[-1])))
        parts.append(f"{widths} (the widest: {judged[-1].study}, {judged[-1].name})")
    if without:
        parts.append(f"{len(without)} without an interval ({listed([one.study for one in without])})")
    words = ", ".join(parts)
    met = not without and half_width(judged[-1]) <= HALF_WIDTH
    return [
        f"| {what}: half-width of the interval of {len(known)} A/A control(s) | {words} | at most "
        f"{HALF_WIDTH:.0%} | {_yes(met)} |"
    ]


def _beside(what: str, runs: Sequence[Run]) -> str:
    """Return the row on what else the machine did: of a quiet one, narrow intervals are no proof for a noisy one."""
    busy = [note.cores for run in runs for note in run.notes if isinstance(note, CoresBusy)]
    most = f", by {max(busy):.1f} at most" if busy else ""
    return (
        f"| {what}: runs beside which other processes kept cores busy | {len(busy)} of {len(runs)}{most} "
        "| printed | |"
    )


def _rendering(folder: Path, notebooks: int) -> list[str]:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "trainspeed", "render", "--from", str(folder), "--out", out]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    seconds = time.monotonic() - started
    return [
        f"| rendering {notebooks} notebook(s) again | {seconds:.1f} s | at most {DRAWN_S:g} s each | "
        f"{_yes(seconds <= DRAWN_S * notebooks)} |"
    ]


def _yes(met: bool) -> str:
    return "yes" if met else "NO"
