"""Run notebooks as a report: check everything first, then measure, save and export each of them.

Does not know what a notebook measures: it hands over parameters and a session, and shows what came back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trainspeed import parameters
from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.execute import rehearse
from trainspeed.interruption import Interruption
from trainspeed.ledger import NAME as LEDGER
from trainspeed.ledger import SESSIONS, Ledger, append_line
from trainspeed.notebooks_run import Job, exit_code, run_all
from trainspeed.output_folder import locked, shown
from trainspeed.run import Run
from trainspeed.sessions import (
    SUMMARY,
    Session,
    check_session,
    new_session,
    read_sessions,
    still_valid,
)

NOTEBOOKS = ROOT / "notebooks"


def report(
    *,
    preset: str = "auto",
    notebooks: Sequence[str] = (),
    out: Path,
    params_file: Path | None = None,
    resume: bool = False,
    has_gpu: bool = False,
    folder: Path = NOTEBOOKS,
    cell_timeout_s: int | None = None,
    model: str | None = None,
) -> int:
    """Measure and write a report; return the exit code.

    0: all notebooks ran to their end. 1: one failed. 2: the user's mistake. 130: interrupted.

    Args:
        preset: Name of a file in `folder/presets`, or auto: standard with a GPU, quick without.
        notebooks: Names; all when empty, or all of the session that is continued. Without the summary among
            them the front page shows what is there, and measures nothing.
        resume: Continue the newest session in `out` with its own notebooks and parameters.
        model: Of the user's own: see `own_model`.
    Raises:
        UserError: Something is wrong, and nothing has been measured yet.
    """
    choice = {"preset": preset, "notebooks": notebooks, "params_file": params_file, "model": model}
    wanted = new_session(**choice, has_gpu=has_gpu, folder=folder)
    with locked(out):
        runs, sessions = _read_ledger(out), read_sessions(out)
        old = sessions[-1:] if resume else []
        session = old[0] if old else wanted
        if old:
            check_session(session, folder)
            if notebooks and (others := set(wanted.notebooks) - set(session.notebooks)):
                raise UserError(
                    f"session {session.session} has no notebook {min(others)!r} to continue: name some of "
                    f"{', '.join(session.notebooks)}, or leave RESUME out"
                )
            print("continuing the newest session with its own notebooks and parameters", flush=True)
        else:
            if resume:
                print(f"{shown(out)} holds no session to continue: this is a new one", flush=True)
            append_line(out / SESSIONS, session.as_dict())
        common = {
            "TRAINSPEED_REPORT": "1",
            "TRAINSPEED_OUT": str(out.resolve()),
            "TRAINSPEED_SESSION": session.session,
            "TRAINSPEED_PRESET": session.preset,
            **({"TRAINSPEED_RESUME": "1"} if old else {}),
        }
        names = [name for name in session.notebooks if not notebooks or name in wanted.notebooks]
        about = {"session": session.session, "environment": common, "preset": session.preset}
        jobs = [Job(name=name, parameters=session.parameters[name], **about) for name in names]
        print(f"session {session.session}, preset {session.preset}: {', '.join(names)}", flush=True)
        front = jobs.pop() if names[-1] == SUMMARY else _front(folder, common, runs, sessions, out, session)
        return run_all(jobs, front, out=out, source=out, folder=folder, cell_timeout_s=cell_timeout_s)


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
    runs, sessions = _read_ledger(source), read_sessions(source)
    newest = _newest(runs)
    names = [name for name in parameters.notebook_names(folder) if name != SUMMARY]
    known = [name for name in names if name in newest and (not wanted or name in wanted)]
    common = {"TRAINSPEED_REPORT": "1", "TRAINSPEED_OUT": str(out.resolve())}
    jobs = []
    for name in known:
        of = _session(newest[name], sessions)
        values, doubts = still_valid(name, of, folder)
        for doubt in doubts:
            print(doubt, flush=True)
        job = Job(name=name, session=newest[name], parameters=values, environment=common)
        jobs.append(_of_session(job, of).drawn(source))
    front = _front(folder, common, runs, sessions, source)
    if not jobs and (front is None or not {SUMMARY} & {*wanted, *newest}):
        studies = ", ".join(sorted(newest)) or "none"
        raise UserError(
            f"nothing to render in {shown(source)}: no notebook has the name of a study there ({studies})"
        )
    with locked(out):
        return run_all(jobs, front, out=out, source=source, folder=folder, cell_timeout_s=cell_timeout_s)


def _newest(runs: Sequence[Run]) -> dict[str, str]:
    """Return study -> its newest session; ids begin with the time."""
    newest: dict[str, str] = {}
    for run in runs:
        newest[run.study] = max(run.session, newest.get(run.study, ""))
    return newest


def _session(name: str, sessions: Sequence[Session]) -> Session | None:
    return next((session for session in sessions if session.session == name), None)


def _of_session(job: Job, session: Session | None) -> Job:
    """Return the job as one of a session; an older ledger has no record of its own."""
    told = {"TRAINSPEED_SESSION": job.session} if job.session else {}
    told |= {"TRAINSPEED_PRESET": session.preset} if session else {}
    preset = session.preset if session else None
    return replace(job, environment={**job.environment, **told}, preset=preset)


def _front(
    folder: Path,
    environment: Mapping[str, str],
    runs: Sequence[Run],
    sessions: Sequence[Session],
    source: Path,
    session: Session | None = None,
) -> Job | None:
    """Return the front page's notebook, which only shows what is there; None where the folder has none.

    A recipe that was measured before is read with the parameters that it was measured with.

    Args:
        session: That the page is of; by default the one in which the recipe was measured.
    """
    if SUMMARY not in parameters.notebook_names(folder):
        return None
    name = _newest(runs).get(SUMMARY, "")
    measured = _session(name, sessions)
    values, doubts = still_valid(SUMMARY, measured, folder)
    for doubt in doubts:
        print(doubt, flush=True)
    name = session.session if session else name
    job = Job(name=SUMMARY, session=name, parameters=values, environment=environment)
    return _of_session(job, session or measured).drawn(source)


def plan(
    *,
    preset: str = "auto",
    notebooks: Sequence[str] = (),
    out: Path,
    params_file: Path | None = None,
    has_gpu: bool = False,
    folder: Path = NOTEBOOKS,
    model: str | None = None,
) -> int:
    """Print what a report would run, as the notebooks tell it; measure and write nothing."""
    choice = {"preset": preset, "notebooks": notebooks, "params_file": params_file, "model": model}
    wanted = new_session(**choice, has_gpu=has_gpu, folder=folder)
    environment = {
        "TRAINSPEED_PLAN": "1",
        "TRAINSPEED_OUT": str(out.resolve()),  # earlier runs there tell how long a trial takes
        "TRAINSPEED_PRESET": wanted.preset,
    }
    results = []
    with Interruption() as interruption:
        for name in wanted.notebooks:
            result = rehearse(
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


def _read_ledger(folder: Path) -> tuple[Run, ...]:
    runs, doubts = Ledger(folder).read()
    for doubt in doubts:
        print(doubt, flush=True)
    return runs
