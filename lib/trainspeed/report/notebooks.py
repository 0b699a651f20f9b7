"""Run notebooks one after another, a page of each, and the front page last. Knows no preset and no session file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.core.files import write_atomically
from trainspeed.core.paths import ROOT
from trainspeed.core.scrub import scrubber
from trainspeed.report.execute import NotebookResult, NotebookStatus, execute
from trainspeed.report.export import export_html
from trainspeed.report.interruption import Interruption
from trainspeed.report.output_folder import shown
from trainspeed.studies.summary.collect import PAGE, complete, notebooks_in

OK, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130


@dataclass(frozen=True, kw_only=True)
class Job:
    """A notebook to run, in which context, with what.

    Attributes:
        variables: For its kernel, beside those of the context.
        rendered: Whether it draws runs that exist already, and measures nothing.
    """

    name: str
    context: Context
    parameters: Mapping[str, Any]
    preset: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    rendered: bool = False

    def drawn(self, source: Path) -> Job:
        """Return the job that measures nothing but shows what is in the folder."""
        return replace(self, context=replace(self.context, render_from=source), rendered=True)

    def knowing(self, results: Sequence[NotebookResult]) -> Job:
        """Return the job whose notebook knows what became of others."""
        statuses = tuple(status_of(result) for result in results)
        return replace(self, context=replace(self.context, notebook_statuses=statuses))


class ReportRun:
    """Notebooks that are run and exported into one folder.

    Attributes:
        results: What became of them so far.
        interrupted: Whether an end was asked for.
    """

    def __init__(
        self,
        jobs: Sequence[Job],
        front: Job | None,
        *,
        out: Path,
        folder: Path,
        cell_timeout_s: int | None = None,
    ) -> None:
        """Prepare to run the jobs, and the front page's notebook after them; None where there is none."""
        self.results: list[NotebookResult] = []
        self.interrupted = False
        self._jobs, self._front = jobs, front
        self._out, self._folder, self._cell_timeout_s = out, folder, cell_timeout_s
        self._all = [*jobs, *filter(None, [front])]
        texts = [(folder / f"{job.name}.ipynb").read_text(encoding="utf-8") for job in self._all]
        self._scrub = scrubber(root=ROOT, out=out.resolve(), own_words=texts)

    def run(self, source: Path | None = None) -> int:
        """Run and export everything; say what became of each; return the exit code.

        Args:
            source: Folder of the ledger, for a front page that only shows what is there; by default where
                the report is written.
        """
        source = self._out if source is None else source
        try:
            with Interruption() as interruption:
                for number, job in enumerate(self._jobs, 1):
                    self.results.append(self._run_job(job, number, interruption))
                self.interrupted = interruption.asked
            if self._front:
                front = self._front.drawn(source) if self.interrupted else self._front
                self.results.append(self._run_front(front, source))
        except OSError as problem:  # what the disk refused is in the message; runs are in the ledger already
            raise UserError(f"cannot write to {shown(self._out)}: {problem.strerror or problem}") from None
        self._print_results()
        return exit_code(self.results, self.interrupted)

    def _run_job(self, job: Job, number: int, interruption: Interruption) -> NotebookResult:
        if interruption.asked:
            error = "not run: the report was interrupted before"
            status = NotebookStatus.INTERRUPTED
            return NotebookResult(name=job.name, title=job.name, status=status, seconds=0.0, error=error)
        print(f"\n{job.name}: notebook {number} of {len(self._all)}", flush=True)
        linked = bool(self._front) or (self._out / PAGE).is_file()
        return self._exported(self._executed(job, interruption), f"{job.name}.html", front_page=linked)

    def _run_front(self, job: Job, source: Path) -> NotebookResult:
        """Run and export the front page; return what became of it.

        Where it was to measure and did not come to its end, it is drawn from what is there: a reader is not to
        miss the verdicts for that. The notebook that did not end well stays, under its name.
        """
        print(f"\n{job.name}: the front page", flush=True)
        known = list(self.results)
        result = page = self._executed_alone(job.knowing(known))
        if not (result.status.ran_to_its_end or job.rendered):
            known.append(result)
            left = result.path.read_text(encoding="utf-8")
            again = replace(job, parameters={}) if result.mistake else job  # its defaults are right
            drawn = self._executed_alone(again.drawn(source).knowing(known))
            write_atomically(result.path, left)
            page = drawn if drawn.status.ran_to_its_end else result
        whole = complete(notebooks_in(self._out, [status_of(other) for other in known]))
        resumable = self._resumable(result)
        exported = self._exported(page, PAGE, front_page=False, complete=whole, resumable=resumable)
        return exported if page is result else result

    def _resumable(self, front: NotebookResult) -> bool:
        """Whether RESUME would measure more: a mistake would be made again, and what is drawn measures nothing."""
        ended = [other for other in (*self.results, front) if other.status is not NotebookStatus.OK]
        repeatable = all(other.mistake or other.status.ran_to_its_end for other in ended)
        return not repeatable and not all(job.rendered for job in self._all)

    def _executed_alone(self, job: Job) -> NotebookResult:
        with Interruption() as interruption:
            result = self._executed(job, interruption)
            self.interrupted |= interruption.asked
        return result

    def _executed(self, job: Job, interruption: Interruption) -> NotebookResult:
        about = {"session": job.context.id, "preset": job.preset, "rendered": job.rendered}
        return execute(
            self._folder / f"{job.name}.ipynb",
            self._out,
            job.parameters,
            environment={**job.context.environment(), **job.variables},
            folder=self._folder,
            interruption=interruption,
            scrub=self._scrub,
            metadata={**about, "version": version("trainspeed")},
            cell_timeout_s=self._cell_timeout_s,
        )

    def _exported(self, result: NotebookResult, page: str, **about: bool) -> NotebookResult:
        """Export a notebook; a page that cannot be made fails this notebook and not the others."""
        target = self._out / page
        try:
            doubts = export_html(result.path, target, pictures=self._folder, scrub=self._scrub, **about)
        except Exception as problem:  # outputs may hold anything
            target.unlink(missing_ok=True)  # an older page would be taken for this notebook's
            if isinstance(problem, OSError):  # the disk's: the same for every notebook
                raise
            error = f"no page could be made of it: {type(problem).__name__}: {self._scrub(str(problem))}"
            status = NotebookStatus.FAILED if result.status is NotebookStatus.OK else result.status
            return replace(result, status=status, error=result.error or error.splitlines()[0])
        for doubt in dict.fromkeys(doubts):
            print(f"{result.name}: {doubt}", flush=True)
        return result

    def _print_results(self) -> None:
        print(flush=True)
        for result in self.results:
            print(
                f"{result.name}: {result.status}" + (f": {result.error}" if result.error else ""), flush=True
            )
        files = [result.path for result in self.results if result.path]
        pages = [self._out / f"{result.name}.html" for result in self.results if result.path]
        for path in (*files, *pages, *([self._out / PAGE] if self._front else [])):
            if path.exists():
                print(shown(path), flush=True)


def status_of(result: NotebookResult) -> dict[str, Any]:
    """Return what a front page is told of a notebook; see `collect.Ran`."""
    return {
        "name": result.name,
        "title": result.title,
        "status": str(result.status),
        "error": result.error,
        "seconds": result.seconds if result.path else None,
    }


def exit_code(results: Sequence[NotebookResult], interrupted: bool) -> int:
    """Return 0 where all ended well, 1 where one failed or lacks a part, 2 for a mistake, 130 when interrupted."""
    if interrupted:
        return INTERRUPTED
    bad = [result for result in results if result.status is not NotebookStatus.OK]
    if not bad:
        return OK
    return MISTAKE if all(result.mistake for result in bad) else FAILED
