"""Run notebooks as a report: check everything first, then measure, save and export each of them.

Does not know what a notebook measures: it hands over parameters and a session, and shows what came back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trainspeed import parameters
from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.execute import Outcome, Result, execute, rehearse
from trainspeed.export import export_html
from trainspeed.index import write_index
from trainspeed.interruption import Interruption
from trainspeed.ledger import NAME as LEDGER
from trainspeed.ledger import SESSIONS, Ledger, append_line
from trainspeed.output_folder import locked, shown
from trainspeed.run import Run
from trainspeed.scrub import scrubber
from trainspeed.sessions import check_session, new_session, read_sessions, still_valid

NOTEBOOKS = ROOT / "notebooks"
OK, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A notebook to run, for which session, with what."""

    name: str
    session: str
    parameters: Mapping[str, Any]
    environment: Mapping[str, str]
    preset: str | None = None
    rendered: bool = False


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
) -> int:
    """Measure and write a report; return the exit code.

    0: all notebooks ran to their end. 1: one failed. 2: the user's mistake. 130: interrupted.

    Args:
        preset: Name of a file in `folder/presets`, or auto: standard with a GPU, quick without.
        notebooks: Names; all but the summary when empty, or all of the session that is continued.
        resume: Continue the newest session in `out` with its own notebooks and parameters.
    Raises:
        UserError: Something is wrong, and nothing has been measured yet.
    """
    wanted = new_session(
        preset=preset, notebooks=notebooks, params_file=params_file, has_gpu=has_gpu, folder=folder
    )
    with locked(out):
        _read_ledger(out)
        old = read_sessions(out)[-1:] if resume else []
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
        jobs = [
            _Job(
                name=name,
                session=session.session,
                parameters=session.parameters[name],
                environment=common,
                preset=session.preset,
            )
            for name in names
        ]
        print(f"session {session.session}, preset {session.preset}: {', '.join(names)}", flush=True)
        return _run_all(jobs, out, out, folder, cell_timeout_s)


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
    runs = _read_ledger(source)
    newest: dict[str, str] = {}
    for run in runs:
        newest[run.study] = max(run.session, newest.get(run.study, ""))  # ids begin with the time
    known = [name for name in parameters.notebook_names(folder) if not wanted or name in wanted]
    sessions = {session.session: session for session in read_sessions(source)}
    jobs = []
    for name in (name for name in known if name in newest):
        of = sessions.get(newest[name])
        values, doubts = still_valid(name, of, folder)
        for doubt in doubts:
            print(doubt, flush=True)
        environment = {
            "TRAINSPEED_REPORT": "1",
            "TRAINSPEED_OUT": str(out.resolve()),
            "TRAINSPEED_SESSION": newest[name],
            "TRAINSPEED_RENDER": str(source.resolve()),
            **({"TRAINSPEED_PRESET": of.preset} if of else {}),
        }
        jobs.append(
            _Job(
                name=name,
                session=newest[name],
                parameters=values,
                environment=environment,
                preset=of.preset if of else None,
                rendered=True,
            )
        )
    if not jobs:
        studies = ", ".join(sorted(newest)) or "none"
        raise UserError(
            f"nothing to render in {shown(source)}: no notebook has the name of a study there ({studies})"
        )
    with locked(out):
        return _run_all(jobs, out, source, folder, cell_timeout_s)


def plan(
    *,
    preset: str = "auto",
    notebooks: Sequence[str] = (),
    out: Path,
    params_file: Path | None = None,
    has_gpu: bool = False,
    folder: Path = NOTEBOOKS,
) -> int:
    """Print what a report would run, as the notebooks tell it; measure and write nothing."""
    wanted = new_session(
        preset=preset, notebooks=notebooks, params_file=params_file, has_gpu=has_gpu, folder=folder
    )
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
        return _exit_code(results, interruption.asked)


def _run_all(jobs: Sequence[_Job], out: Path, source: Path, folder: Path, cell_timeout_s: int | None) -> int:
    texts = [(folder / f"{job.name}.ipynb").read_text(encoding="utf-8") for job in jobs]
    scrub = scrubber(root=ROOT, out=out.resolve(), own_words=texts)
    results: list[Result] = []
    try:
        with Interruption() as interruption:
            for number, job in enumerate(jobs, 1):
                if interruption.asked:
                    results.append(_not_run(job))
                    continue
                print(f"\n{job.name}: notebook {number} of {len(jobs)}", flush=True)
                result = execute(
                    folder / f"{job.name}.ipynb",
                    out,
                    job.parameters,
                    environment=job.environment,
                    folder=folder,
                    interruption=interruption,
                    scrub=scrub,
                    metadata={
                        "session": job.session,
                        "preset": job.preset,
                        "rendered": job.rendered,
                        "version": version("trainspeed"),
                    },
                    cell_timeout_s=cell_timeout_s,
                )
                results.append(_exported(result, out, folder, scrub))
            written = _write_front_page(jobs, results, out, source, scrub)
            asked = interruption.asked
    except OSError as problem:  # what the disk refused is in the message; runs are in the ledger already
        raise UserError(f"cannot write to {shown(out)}: {problem.strerror or problem}") from None
    print(flush=True)
    for result in results:
        print(f"{result.name}: {result.outcome}" + (f": {result.error}" if result.error else ""), flush=True)
    for path in written:
        print(shown(path), flush=True)
    return _exit_code(results, asked)


def _not_run(job: _Job) -> Result:
    error = "not run: the report was interrupted before"
    return Result(name=job.name, title=job.name, outcome=Outcome.INTERRUPTED, seconds=0.0, error=error)


def _exported(result: Result, out: Path, folder: Path, scrub: Callable[[str], str]) -> Result:
    """Export a notebook; a page that cannot be made fails this notebook and not the others."""
    page = out / f"{result.name}.html"
    try:
        doubts = export_html(result.path, page, pictures=folder, scrub=scrub)
    except Exception as problem:  # outputs may hold anything
        page.unlink(missing_ok=True)  # an older page would be taken for this notebook's
        if isinstance(problem, OSError):  # the disk's: the same for every notebook
            raise
        error = f"no page could be made of it: {type(problem).__name__}: {scrub(str(problem))}"
        outcome = Outcome.FAILED if result.outcome is Outcome.OK else result.outcome
        return replace(result, outcome=outcome, error=result.error or error.splitlines()[0])
    for doubt in dict.fromkeys(doubts):
        print(f"{result.name}: {doubt}", flush=True)
    return result


def _write_front_page(
    jobs: Sequence[_Job], results: Sequence[Result], out: Path, source: Path, scrub: Callable[[str], str]
) -> list[Path]:
    """Write the index with the machine and data sets of these sessions' runs; return all files written."""
    asked = {(job.session, job.name) for job in jobs}
    runs = [run for run in Ledger(source).read()[0] if (run.session, run.study) in asked]
    newest = jobs[-1]
    index = write_index(
        out,
        results,
        machine=next((dict(run.machine) for run in reversed(runs) if run.machine), None),
        data_sets={run.trial.dataset for run in runs if run.trains},
        session=None if newest.rendered else newest.session,
        preset=newest.preset,
        version=version("trainspeed"),
        scrub=scrub,
    )
    notebooks = [result.path for result in results if result.path]
    pages = [out / f"{result.name}.html" for result in results if result.path]
    return [path for path in (*notebooks, *pages, index) if path.exists()]


def _exit_code(results: Sequence[Result], interrupted: bool) -> int:
    if interrupted:
        return INTERRUPTED
    bad = [result for result in results if result.outcome is not Outcome.OK]
    if not bad:
        return OK
    return MISTAKE if all(result.mistake for result in bad) else FAILED


def _read_ledger(folder: Path) -> tuple[Run, ...]:
    runs, doubts = Ledger(folder).read()
    for doubt in doubts:
        print(doubt, flush=True)
    return runs
