"""The commands report, render and plan: check everything first, then run, save and export the notebooks.

Does not know what a notebook measures: it hands over parameters and a context, and shows what came back.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec

from trainspeed.conduct.alone import measuring_alone
from trainspeed.conduct.context import VARIABLES, Context, check_clock, twin_names
from trainspeed.conduct.machine import devices
from trainspeed.conduct.resumed import check_same_machine
from trainspeed.conduct.worker_pool import worker_pool
from trainspeed.core.errors import UserError
from trainspeed.core.files import CHECK, SUMMARY
from trainspeed.core.format import minutes, one_line
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, Ledger, append_line
from trainspeed.core.paths import ROOT
from trainspeed.core.runs import RunSet, elapsed_s
from trainspeed.core.user_model import user_models_in
from trainspeed.report import parameters
from trainspeed.report.budget import Shares, ask_for_plans, check_budget
from trainspeed.report.notebook_run import End
from trainspeed.report.notebooks import INTERRUPTED, NotebookJob, ReportRun, exit_code
from trainspeed.report.output_folder import locked, shown
from trainspeed.report.plan_text import plan_lines, plan_totals, weighed
from trainspeed.report.request import (
    ReportRequest,
    check_models_named,
    check_same_budget,
    check_session,
    new_session,
    read_sessions,
    session_to_continue,
    set_by_user,
    still_valid,
)

NOTEBOOKS = ROOT / "notebooks"
LONG_PRESETS = ("article",)  # without a limit, and so long that it is told before anything is measured


def report(*, out: Path, resume: bool = False, folder: Path = NOTEBOOKS, **choice: Any) -> int:
    """Measure and write a report; return the exit code.

    0: all notebooks ran to their end. 1: one failed, or none of its runs gave a result. 2: the user's mistake. 130:
    interrupted.

    Args:
        resume: Continue the newest session in `out` with its own notebooks and parameters.
        choice: Arguments of `new_session`. Where the summary is not among its notebooks, the front page shows
            what is there and measures nothing.
    Raises:
        UserError: Something is wrong, and nothing has been measured yet.
    """
    begun_s = time.monotonic()
    wanted = new_session(folder=folder, **choice)
    device, uuids, machine = devices()
    node = os.environ.get(VARIABLES["node"]) or None
    with locked(out), measuring_alone(device, uuids), worker_pool() as pool:
        earlier = _Earlier(out, folder)
        old = session_to_continue(earlier.sessions, wanted.notebooks) if resume else None
        session, names = old or wanted, wanted.notebooks
        if old:
            names = _to_continue(old, wanted if choice.get("notebooks") else old, folder)
            check_same_budget(old, wanted if choice.get("budget") else old)
            check_models_named(old, names, wanted)
            runs, _ = Ledger(out).read(dict.fromkeys(old.notebooks, old.session))
            check_same_machine(runs, machine, node)
            print("continuing the newest session with its own notebooks and parameters", flush=True)
        else:
            if resume:
                print(f"{shown(out)} holds no session to continue: this is a new one", flush=True)
            check_clock(session.session, earlier.newest.values(), (one.session for one in earlier.sessions))
            # A fleet has checked that its nodes are there, and may lose some meanwhile.
            own = set_by_user(session, nodes=None if node else choice.get("nodes"))
            if session.budget_s is not None:
                session, interrupted = _weighed(session, out, folder, own)
            else:
                interrupted = _tell_time(session, out, folder, own)
            if interrupted:
                return INTERRUPTED
            try:
                append_line(out / SESSIONS_FILE, asdict(session))
            except OSError as problem:
                raise UserError(f"cannot write to {shown(out)}: {problem.strerror or problem}") from None
        models = tuple(sorted(user_models_in([session.parameters[name] for name in names])))
        context = Context(
            id=session.session,
            out=out,
            resume=bool(old),
            in_report=True,
            user_models=models,
            node=node,
            worker_pool=pool,
        )
        jobs = [
            NotebookJob(
                name=name,
                context=replace(context, last=session.budget_s is None or name == session.notebooks[-1]),
                parameters=session.parameters[name],
                preset=session.preset,
            )
            for name in names
        ]
        limit = "" if session.budget_s is None else f", {minutes(session.budget_s)}"
        print(f"session {session.session}, preset {session.preset}{limit}: {', '.join(names)}", flush=True)
        front = jobs.pop() if names[-1] == SUMMARY else earlier.front(context, session)
        shares = None
        if session.budget_s is not None:
            spent_s = _spent_s(out, session) if old else {}
            # Of all of the session's: one that goes on by itself has the time that it has among them.
            left_s = session.budget_s - (time.monotonic() - begun_s)
            shares = Shares(left_s, session.weights, fixed_s=session.fixed_s, spent_s=spent_s)
            for name in session.notebooks[: session.notebooks.index(names[0])]:
                if spent_s.get(name):  # it has had its time, and what it left is for those after it
                    shares.of(name)
        code = ReportRun(jobs, front, out=out, folder=folder, shares=shares).run()
    if code == INTERRUPTED and [*names] != [CHECK]:
        print("What was measured is kept: the same command with RESUME=1 goes on.", flush=True)
    return code


def _weighed(
    session: ReportRequest, out: Path, folder: Path, own: Collection[str]
) -> tuple[ReportRequest, bool]:
    """Return the request with what each notebook compares as its weight, and whether the user interrupted.

    Args:
        own: As of `_check_no_mistake`.
    Raises:
        UserError: The time is not enough for anything, or what the user has set cannot be measured.
    """
    plans, ends, interrupted = ask_for_plans(session.notebooks, session.parameters, folder, out)
    _check_no_mistake(session.notebooks, ends, own)
    hands = 1 + len(twin_names())
    if not interrupted:
        check_budget(session.budget_s, plans, session.given_s, hands)
    return weighed(session, plans, hands), interrupted


def _tell_time(session: ReportRequest, out: Path, folder: Path, own: Collection[str]) -> bool:
    """Print how long a report without a limit takes, if long; return whether the user interrupted; see `_weighed`."""
    is_long = _is_long(session, folder)
    names = [name for name in session.notebooks if is_long or name in own]
    plans, ends, interrupted = ask_for_plans(names, session.parameters, folder, out, limited=False)
    _check_no_mistake(names, ends, own)
    if is_long and plans and not interrupted:
        told = plan_lines(session, plans, 1 + len(twin_names()))[-1]
        print(f"{told} Ctrl-C ends it, and RESUME=1 goes on. `make plan` tells more.", flush=True)
    return interrupted


def _is_long(session: ReportRequest, folder: Path) -> bool:
    """Return whether it is told beforehand how long a report without a limit takes, as its preset has one."""
    return session.preset in LONG_PRESETS or parameters.preset_budget(session.preset, folder) is not None


def _check_no_mistake(names: Sequence[str], ends: Sequence[End], own: Collection[str]) -> None:
    """Raise a UserError where a notebook cannot measure what the user has set, before anything is measured.

    What a preset sets and this machine cannot do is a line of its notebook, and no reason to leave out the others.

    Args:
        ends: How the notebooks planned, as far as they did.
        own: Notebooks with parameters of the user's.
    """
    for name, end in zip(names, ends, strict=False):
        if end.mistake and name in own:
            raise UserError(f"{name}: {one_line(end.error)}")


def _spent_s(out: Path, session: ReportRequest) -> dict[str, float]:
    """Return study -> seconds that its runs of a session took."""
    runs, _ = Ledger(out).read(dict.fromkeys(session.notebooks, session.session))
    return {name: elapsed_s(RunSet(runs).of_study(name)) for name in session.notebooks}


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
    stays: bool = True,
) -> int:
    """Write the report of runs that exist already, the newest session of each study; measure nothing.

    Args:
        source: Folder with a ledger; `out` itself when left out.
        stays: See `ReportRun`.
    """
    source = out if source is None else source
    if not (source / RUNS_FILE).is_file():
        raise UserError(
            f"no {RUNS_FILE} in {shown(source)}: measure with `make report`, or name a folder: FROM=…"
        )
    wanted = parameters.check_notebooks(notebooks, folder)
    earlier = _Earlier(source, folder)
    names = [name for name in parameters.notebook_names(folder) if name != SUMMARY and name in earlier.newest]
    context = Context(id="", out=out, in_report=True)
    jobs = [earlier.job(name, context) for name in names if not wanted or name in wanted]
    front = earlier.front(context)
    if not jobs and (front is None or not {SUMMARY} & {*wanted, *earlier.newest}):
        studies = ", ".join(sorted(earlier.newest)) or "none"
        raise UserError(
            f"nothing to render in {shown(source)}: no notebook has the name of a study there ({studies})"
        )
    with locked(out):
        return ReportRun(jobs, front, out=out, folder=folder, stays=stays).run(source)


class _Earlier:
    """What earlier reports left in a folder, and jobs that show it again.

    Attributes:
        newest: Study -> its newest session.
        sessions: What each report was asked to run, oldest first.
    """

    def __init__(self, source: Path, folder: Path) -> None:
        """Read the folder, and print what is wrong with its ledger."""
        ledger = Ledger(source)
        for doubt in ledger.read({})[1]:
            print(doubt, flush=True)
        self.newest, self.sessions = ledger.newest(), read_sessions(source)
        self._source, self._folder = source, folder

    def job(self, name: str, context: Context, page_of: ReportRequest | None = None) -> NotebookJob:
        """Return a job that shows what the newest session of a study measured, with the parameters it had.

        Args:
            page_of: The session that the page belongs to, where it is not that one.
        """
        session = self.newest.get(name, "")
        measured = next((request for request in self.sessions if request.session == session), None)
        values, doubts = still_valid(name, measured, self._folder)
        for doubt in doubts:
            print(doubt, flush=True)
        page_of = page_of or measured
        session = page_of.session if page_of else session  # an older ledger has no requests
        context = replace(context, id=session)
        preset = page_of.preset if page_of else None
        return NotebookJob(name=name, context=context, parameters=values, preset=preset).drawn(self._source)

    def front(self, context: Context, page_of: ReportRequest | None = None) -> NotebookJob | None:
        """Return the job of a front page that measures nothing; None where the folder has no such notebook."""
        known = SUMMARY in parameters.notebook_names(self._folder)
        return self.job(SUMMARY, context, page_of) if known else None


def plan(
    *, out: Path, folder: Path = NOTEBOOKS, hands: int = 1, sums: Path | None = None, **choice: Any
) -> int:
    """Print what a report would run, as the notebooks tell it; measure nothing.

    Args:
        out: Folder whose earlier runs tell how long a trial takes.
        hands: Number of equal machines that would share the blocks, or train together.
        sums: File for what it takes in all, as values.
        choice: Arguments of `new_session`.
    """
    wanted = new_session(folder=folder, **choice)
    limited = wanted.budget_s is not None
    plans, ends, interrupted = ask_for_plans(
        wanted.notebooks, wanted.parameters, folder, out, hands=hands, limited=limited
    )
    try:
        if limited and not interrupted:
            check_budget(wanted.budget_s, plans, wanted.given_s, hands)
        wanted = weighed(wanted, plans, hands)
        for line in plan_lines(wanted, plans, hands) if plans else ():
            print(line, flush=True)
        if sums and plans:
            sums.write_bytes(msgspec.json.encode(plan_totals(wanted, plans, hands)))
    finally:  # last, where it is seen
        for name, end in zip(wanted.notebooks, ends, strict=False):
            if end.error:
                print(f"{name}: {one_line(end.error)}", file=sys.stderr, flush=True)
    return exit_code(ends, interrupted)
