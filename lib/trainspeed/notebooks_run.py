"""Run notebooks one after another, a page of each, and the front page last. Knows no preset and no session file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.execute import Outcome, Result, execute
from trainspeed.export import export_html
from trainspeed.files import write_atomically
from trainspeed.front_page import PAGE, complete, notebooks_in
from trainspeed.interruption import Interruption
from trainspeed.output_folder import shown
from trainspeed.scrub import scrubber

OK, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, kw_only=True)
class Job:
    """A notebook to run, for which session, with what.

    Attributes:
        rendered: Whether it draws runs that exist already, and measures nothing.
    """

    name: str
    session: str
    parameters: Mapping[str, Any]
    environment: Mapping[str, str]
    preset: str | None = None
    rendered: bool = False

    def drawn(self, source: Path) -> Job:
        """Return the job that measures nothing but shows what is in the folder."""
        environment = {**self.environment, "TRAINSPEED_RENDER": str(source.resolve())}
        return replace(self, environment=environment, rendered=True)


@dataclass(frozen=True)
class Notebooks:
    """Where notebooks come from and where their pages go."""

    folder: Path
    out: Path
    scrub: Callable[[str], str]
    cell_timeout_s: int | None = None

    def run(self, job: Job, interruption: Interruption) -> Result:
        """Run a notebook and save it."""
        about = {"session": job.session, "preset": job.preset, "rendered": job.rendered}
        return execute(
            self.folder / f"{job.name}.ipynb",
            self.out,
            job.parameters,
            environment=job.environment,
            folder=self.folder,
            interruption=interruption,
            scrub=self.scrub,
            metadata={**about, "version": version("trainspeed")},
            cell_timeout_s=self.cell_timeout_s,
        )

    def exported(self, result: Result, page: str, **about: bool) -> Result:
        """Export a notebook; a page that cannot be made fails this notebook and not the others.

        Args:
            about: As of `export_html`.
        """
        target = self.out / page
        try:
            doubts = export_html(result.path, target, pictures=self.folder, scrub=self.scrub, **about)
        except Exception as problem:  # outputs may hold anything
            target.unlink(missing_ok=True)  # an older page would be taken for this notebook's
            if isinstance(problem, OSError):  # the disk's: the same for every notebook
                raise
            error = f"no page could be made of it: {type(problem).__name__}: {self.scrub(str(problem))}"
            outcome = Outcome.FAILED if result.outcome is Outcome.OK else result.outcome
            return replace(result, outcome=outcome, error=result.error or error.splitlines()[0])
        for doubt in dict.fromkeys(doubts):
            print(f"{result.name}: {doubt}", flush=True)
        return result


def run_all(
    jobs: Sequence[Job],
    front: Job | None,
    *,
    out: Path,
    source: Path,
    folder: Path,
    cell_timeout_s: int | None = None,
) -> int:
    """Run and export all jobs, then the front page; say what became of each; return the exit code.

    Args:
        front: The front page's notebook; None where the folder has none.
        source: Folder of the ledger, for a front page that only shows what is there.
    """
    names = [job.name for job in (*jobs, *filter(None, [front]))]
    texts = [(folder / f"{name}.ipynb").read_text(encoding="utf-8") for name in names]
    scrub = scrubber(root=ROOT, out=out.resolve(), own_words=texts)
    notebooks = Notebooks(folder, out, scrub, cell_timeout_s)
    try:
        with Interruption() as interruption:
            results = [
                _ran(notebooks, job, place, len(names), interruption) for place, job in enumerate(jobs, 1)
            ]
            asked = interruption.asked
        if front:
            job = front.drawn(source) if asked else front
            resumable = not all(job.rendered for job in (*jobs, front))
            result, stopped = _front(notebooks, job, results, source, resumable)
            results.append(result)
            asked = asked or stopped
    except OSError as problem:  # what the disk refused is in the message; runs are in the ledger already
        raise UserError(f"cannot write to {shown(out)}: {problem.strerror or problem}") from None
    _tell(results, out)
    return exit_code(results, asked)


def _ran(notebooks: Notebooks, job: Job, place: int, of: int, interruption: Interruption) -> Result:
    if interruption.asked:
        error = "not run: the report was interrupted before"
        return Result(name=job.name, title=job.name, outcome=Outcome.INTERRUPTED, seconds=0.0, error=error)
    print(f"\n{job.name}: notebook {place} of {of}", flush=True)
    return notebooks.exported(notebooks.run(job, interruption), f"{job.name}.html")


def _front(
    notebooks: Notebooks, job: Job, results: Sequence[Result], source: Path, resumable: bool
) -> tuple[Result, bool]:
    """Run and export the front page; return what became of it, and whether an end was asked for.

    Where it was to measure and did not come to its end, it is drawn from what is there: a reader is not to
    miss the verdicts for that. The notebook that did not end well stays, under its name.
    """
    print(f"\n{job.name}: the front page", flush=True)
    told = [_told(result) for result in results]
    with Interruption() as interruption:
        result = page = notebooks.run(_telling(job, told), interruption)
        asked = interruption.asked
    if result.outcome is not Outcome.OK and not job.rendered:
        told.append(_told(result))
        left = result.path.read_text(encoding="utf-8")
        job = replace(job, parameters={}) if result.mistake else job  # its defaults are right
        with Interruption() as interruption:
            drawn = notebooks.run(_telling(job.drawn(source), told), interruption)
            asked = asked or interruption.asked
        write_atomically(result.path, left)
        page = drawn if drawn.outcome is Outcome.OK else result
    whole = complete(notebooks_in(notebooks.out, told))
    ended = [other for other in (*results, result) if other.outcome is not Outcome.OK]
    resumable = resumable and not all(other.mistake for other in ended)  # a mistake would be made again
    about = {"front_page": False, "complete": whole, "resumable": resumable}
    exported = notebooks.exported(page, PAGE, **about)
    return exported if page is result else result, asked


def _told(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "title": result.title,
        "status": str(result.outcome),
        "error": result.error,
        "seconds": result.seconds if result.path else None,
    }


def _telling(job: Job, told: Sequence[Mapping[str, Any]]) -> Job:
    return replace(job, environment={**job.environment, "TRAINSPEED_NOTEBOOKS": json.dumps(told)})


def _tell(results: Sequence[Result], out: Path) -> None:
    print(flush=True)
    for result in results:
        print(f"{result.name}: {result.outcome}" + (f": {result.error}" if result.error else ""), flush=True)
    files = [result.path for result in results if result.path]
    pages = [out / f"{result.name}.html" for result in results if result.path]
    for path in (*files, *pages, out / PAGE):
        if path.exists():
            print(shown(path), flush=True)


def exit_code(results: Sequence[Result], interrupted: bool) -> int:
    """Return 0 where all ended well, 1 where one failed, 2 for a user's mistake, 130 when interrupted."""
    if interrupted:
        return INTERRUPTED
    bad = [result for result in results if result.outcome is not Outcome.OK]
    if not bad:
        return OK
    return MISTAKE if all(result.mistake for result in bad) else FAILED
