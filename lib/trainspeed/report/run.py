"""Run notebooks as a report: check everything first, then measure, save and export each of them.

Does not know what a notebook measures: it hands over parameters and a context, and shows what came back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import NAME as LEDGER
from trainspeed.core.ledger import SESSIONS, Ledger, append_line
from trainspeed.core.outputs import SUMMARY
from trainspeed.core.paths import ROOT
from trainspeed.report import parameters
from trainspeed.report.execute import dry_run
from trainspeed.report.interruption import Interruption
from trainspeed.report.notebooks import Job, ReportRun, exit_code
from trainspeed.report.output_folder import locked, shown
from trainspeed.report.request import (
    Choice,
    ReportRequest,
    check_session,
    new_session,
    read_sessions,
    still_valid,
)

NOTEBOOKS = ROOT / "notebooks"


def report(
    *,
    out: Path,
    resume: bool = False,
    folder: Path = NOTEBOOKS,
    cell_timeout_s: int | None = None,
    **choice: Unpack[Choice],
) -> int:
    """Measure and write a report; return the exit code.

    0: all notebooks ran to their end. 1: one failed. 2: the user's mistake. 130: interrupted.

    Args:
        resume: Continue the newest session in `out` with its own notebooks and parameters.
        choice: Without the summary among its notebooks the front page shows what is there, and measures nothing.
    Raises:
        UserError: Something is wrong, and nothing has been measured yet.
    """
    wanted = new_session(folder=folder, **choice)
    with locked(out):
        newest, sessions = _newest_sessions(out), read_sessions(out)
        old = sessions[-1] if resume and sessions else None
        session, names = old or wanted, wanted.notebooks
        if old:
            names = _to_continue(old, wanted if choice.get("notebooks") else old, folder)
            print("continuing the newest session with its own notebooks and parameters", flush=True)
        else:
            if resume:
                print(f"{shown(out)} holds no session to continue: this is a new one", flush=True)
            append_line(out / SESSIONS, session.as_dict())
        context = Context(id=session.session, out=out, resume=bool(old), in_report=True)
        jobs = [
            Job(name=name, context=context, parameters=session.parameters[name], preset=session.preset)
            for name in names
        ]
        print(f"session {session.session}, preset {session.preset}: {', '.join(names)}", flush=True)
        summarises = names[-1] == SUMMARY
        front = jobs.pop() if summarises else _drawn_front(folder, newest, sessions, context, out, session)
        return ReportRun(jobs, front, out=out, folder=folder, cell_timeout_s=cell_timeout_s).run()


def _to_continue(old: ReportRequest, wanted: ReportRequest, folder: Path) -> list[str]:
    """Return those notebooks of an old session that are wanted; a UserError where it cannot be continued."""
    check_session(old, folder)
    if others := set(wanted.notebooks) - set(old.notebooks):
        raise UserError(
            f"session {old.session} has no notebook {min(others)!r} to continue: name some of "
            f"{', '.join(old.notebooks)}, or leave RESUME out"
        )
    return [name for name in old.notebooks if name in wanted.notebooks]


def render(
    *,
    out: Path,
    source: Path | None = None,
    notebooks: Sequence[str] = (),
    folder: Path = NOTEBOOKS,
    cell_timeout_s: int | None = None,
) -> int:
    """Write the report of runs that exist already: the newest session of each study; measure nothing.

    Args:
        source: Folder with a ledger; `out` itself when left out.
    """
    source = out if source is None else source
    if not (source / LEDGER).is_file():
        raise UserError(
            f"no {LEDGER} in {shown(source)}: measure with `make report`, or name a folder: FROM=…"
        )
    wanted = parameters.check_notebooks(notebooks, folder)
    newest, sessions = _newest_sessions(source), read_sessions(source)
    names = [name for name in parameters.notebook_names(folder) if name != SUMMARY]
    known = [name for name in names if name in newest and (not wanted or name in wanted)]
    context = Context(id="", out=out, in_report=True)
    jobs = [_drawn(name, folder, newest, sessions, context, source) for name in known]
    front = _drawn_front(folder, newest, sessions, context, source)
    if not jobs and (front is None or not {SUMMARY} & {*wanted, *newest}):
        studies = ", ".join(sorted(newest)) or "none"
        raise UserError(
            f"nothing to render in {shown(source)}: no notebook has the name of a study there ({studies})"
        )
    with locked(out):
        return ReportRun(jobs, front, out=out, folder=folder, cell_timeout_s=cell_timeout_s).run(source)


def _drawn(
    name: str,
    folder: Path,
    newest: Mapping[str, str],
    sessions: Sequence[ReportRequest],
    context: Context,
    source: Path,
    of: ReportRequest | None = None,
) -> Job:
    """Return a job that shows what the newest session of a study measured, with the parameters it had.

    Args:
        newest: Study -> its newest session.
        of: That the page is of, where it is another one than that.
    """
    session = newest.get(name, "")
    measured = next((request for request in sessions if request.session == session), None)
    values, doubts = still_valid(name, measured, folder)
    for doubt in doubts:
        print(doubt, flush=True)
    of = of or measured
    return Job(
        name=name,
        context=replace(context, id=of.session if of else session),  # an older ledger has no requests
        parameters=values,
        preset=of.preset if of else None,
    ).drawn(source)


def _drawn_front(folder: Path, *arguments: Any) -> Job | None:
    """Return the front page's notebook, which only shows what is there; None where the folder has none."""
    return _drawn(SUMMARY, folder, *arguments) if SUMMARY in parameters.notebook_names(folder) else None


def plan(*, out: Path, folder: Path = NOTEBOOKS, **choice: Unpack[Choice]) -> int:
    """Print what a report would run, as the notebooks tell it; measure and write nothing.

    Args:
        out: Where earlier runs tell how long a trial takes.
    """
    wanted = new_session(folder=folder, **choice)
    environment = Context(id="", out=out, plan_only=True).environment()
    results = []
    with Interruption() as interruption:
        for name in wanted.notebooks:
            result = dry_run(
                folder / f"{name}.ipynb",
                wanted.parameters[name],
                environment=environment,
                folder=folder,
                interruption=interruption,
            )
            results.append(result)
            if result.error:
                print(f"{name}: {result.error}", flush=True)
            if interruption.asked:
                break
        return exit_code(results, interruption.asked)


def _newest_sessions(folder: Path) -> dict[str, str]:
    """Return study -> its newest session, and print what is wrong with the ledger."""
    ledger = Ledger(folder)
    for doubt in ledger.read({})[1]:
        print(doubt, flush=True)
    return ledger.newest()
