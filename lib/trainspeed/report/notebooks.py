"""Run notebooks one after another, make a page of each, the front page last. Knows no preset and no session file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.core.files import VALUES, write_atomically
from trainspeed.core.ledger import Ledger
from trainspeed.core.no_result import failures_in_short, has_result
from trainspeed.core.paths import ROOT
from trainspeed.core.runs import RunSet
from trainspeed.core.scrub import scrubber
from trainspeed.report.budget import PARAMETER, Shares
from trainspeed.report.execute import NotebookResult, NotebookStatus, execute
from trainspeed.report.export import export_html
from trainspeed.report.interruption import Interruption
from trainspeed.report.notebook_run import End
from trainspeed.report.output_folder import shown
from trainspeed.studies.summary.collect import PAGE, read_report

OK, FAILED, MISTAKE, INTERRUPTED = 0, 1, 2, 130
WITHOUT_RESULT = "no result"  # in the terminal, of a notebook that went well and has nothing to show for it


@dataclass(frozen=True, kw_only=True)
class NotebookJob:
    """A notebook to run, with its context and its parameters.

    Attributes:
        name: What it and its page are saved as.
        notebook: What the notebook is called where that is another name.
        variables: Environment variables for its kernel, in addition to those of the context.
        rendered: Whether it draws runs that exist already and measures nothing.
    """

    name: str
    context: Context
    parameters: Mapping[str, Any]
    preset: str | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    rendered: bool = False
    notebook: str = ""

    @property
    def file(self) -> str:
        """The notebook's file, below the folder of the notebooks."""
        return f"{self.notebook or self.name}.ipynb"

    def drawn(self, source: Path) -> NotebookJob:
        """Return the job that measures nothing and shows what is in the folder."""
        return replace(self, context=replace(self.context, render_from=source), rendered=True)

    def with_results(self, results: Sequence[NotebookResult]) -> NotebookJob:
        """Return the job whose notebook learns what became of other notebooks."""
        statuses = tuple(status_of(result) for result in results)
        return replace(self, context=replace(self.context, notebook_statuses=statuses))


class ReportRun:
    """Notebooks that are run and exported into one folder."""

    def __init__(
        self,
        jobs: Sequence[NotebookJob],
        front: NotebookJob | None,
        *,
        out: Path,
        folder: Path,
        shares: Shares | None = None,
        stays: bool = True,
    ) -> None:
        """Prepare to run the jobs, and after them the front page's notebook, if there is one.

        Args:
            shares: Gives each notebook its part of the report's time; None without a limit.
            stays: Whether the folder is there for the user, who is told what has been written.
        """
        self._shares, self._stays = shares, stays
        self._results: list[NotebookResult] = []
        self._interrupted = False
        self._jobs, self._front = jobs, front
        self._out, self._folder = out, folder
        self._all = [*jobs, *filter(None, [front])]
        texts = [(folder / job.file).read_text(encoding="utf-8") for job in self._all]
        self._scrub = scrubber(root=ROOT, out=out.resolve(), own_words=texts)

    def run(self, source: Path | None = None) -> int:
        """Run and export everything, print what became of each notebook, and return the exit code.

        Args:
            source: Folder of the ledger, for a front page that only shows what is there; by default the
                report's own folder.
        """
        source = self._out if source is None else source
        try:
            if self._front:
                (self._out / VALUES).unlink(missing_ok=True)  # older values would be taken for this report's
            with Interruption() as interruption:
                for number, job in enumerate(self._jobs, 1):
                    self._results.append(self._run_job(job, number, interruption))
                self._interrupted = interruption.asked
            if self._front:
                front = self._front.drawn(source) if self._interrupted else self._front
                self._results.append(self._run_front(front, source))
        except OSError as problem:  # what the disk refused is in the message; runs are in the ledger already
            raise UserError(f"cannot write to {shown(self._out)}: {problem.strerror or problem}") from None
        self._print_results()
        code = exit_code(self._results, self._interrupted)
        return FAILED if code == OK and any(result.empty for result in self._results) else code

    def _run_job(self, job: NotebookJob, number: int, interruption: Interruption) -> NotebookResult:
        if interruption.asked:
            error = "not run: the report was interrupted before"
            status = NotebookStatus.INTERRUPTED
            return NotebookResult(name=job.name, title=job.name, status=status, error=error)
        print(f"\n{job.name}: notebook {number} of {len(self._all)}", flush=True)
        linked = bool(self._front) or (self._out / PAGE).is_file()
        job = self._with_time(job)
        result = self._executed(job, interruption)
        if result.mistake and job.context.render_from and job.parameters:
            # Runs that can be read are shown, whatever a session says that they were asked for with.
            print(f"{job.name}: drawn with the notebook's own parameters, as {result.error}", flush=True)
            result = self._executed(replace(job, parameters={}), interruption)
        return self._exported(self._with_failures(result, job), f"{job.name}.html", front_page=linked)

    def _with_failures(self, result: NotebookResult, job: NotebookJob) -> NotebookResult:
        """Return the result with what became of the runs of the notebook's session, each as it was measured last."""
        if not (session := job.context.id):  # it shows ledgers
            return result
        folder = job.context.render_from or self._out
        runs = RunSet(Ledger(folder).read({job.name: session})[0]).last_of_each()
        return replace(result, failures=failures_in_short(runs), empty=not has_result(runs))

    def _run_front(self, job: NotebookJob, source: Path) -> NotebookResult:
        """Run and export the front page; return what became of it.

        Where it was to measure and did not run to its end, the page is drawn from what is there, so that a
        reader still gets the verdicts. The notebook that did not end well keeps its file.
        """
        print(f"\n{job.name}: the front page", flush=True)
        known = list(self._results)
        job = self._with_time(job)
        result = page = self._with_failures(self._executed_alone(job.with_results(known)), job)
        if not (result.status.ran_to_its_end or job.rendered):
            known.append(result)
            left = result.path.read_text(encoding="utf-8")
            again = replace(job, parameters={}) if result.mistake else job  # its defaults are right
            drawn = self._executed_alone(again.drawn(source).with_results(known))
            write_atomically(result.path, left)
            page = drawn if drawn.status.ran_to_its_end else result
        measures = page is result and not job.rendered
        complete = read_report(self._out, None if measures else source, [*map(status_of, known)]).complete
        resumable = self._resumable(result)
        exported = self._exported(page, PAGE, front_page=False, complete=complete, resumable=resumable)
        return exported if page is result else result

    def _with_time(self, job: NotebookJob) -> NotebookJob:
        """Return the job with its share of the report's time."""
        seconds = self._shares.of(job.name) if self._shares and not job.rendered else None
        return (
            job
            if seconds is None
            else replace(job, parameters={**job.parameters, PARAMETER: round(seconds, 1)})
        )

    def _resumable(self, front: NotebookResult) -> bool:
        """Whether RESUME would measure more: a mistake would only repeat itself, and drawing measures nothing."""
        ended = [other for other in (*self._results, front) if other.status is not NotebookStatus.OK]
        repeatable = all(other.mistake or other.status.ran_to_its_end for other in ended)
        return not repeatable and not all(job.rendered for job in self._all)

    def _executed_alone(self, job: NotebookJob) -> NotebookResult:
        with Interruption() as interruption:
            result = self._executed(job, interruption)
            self._interrupted |= interruption.asked
        return result

    def _executed(self, job: NotebookJob, interruption: Interruption) -> NotebookResult:
        metadata = {"session": job.context.id, "preset": job.preset, "rendered": job.rendered}
        context = replace(job.context, notebook=job.notebook or job.name)
        return execute(
            self._folder / job.file,
            self._out,
            job.parameters,
            name=job.name,
            environment={**context.environment(), **job.variables},
            interruption=interruption,
            scrub=self._scrub,
            metadata={**metadata, "version": version("trainspeed")},
        )

    def _exported(self, result: NotebookResult, page: str, **banner: bool) -> NotebookResult:
        """Export a notebook; a page that cannot be made fails its notebook and no other."""
        target = self._out / page
        try:
            doubts = export_html(result.path, target, pictures=self._folder, scrub=self._scrub, **banner)
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
        for result in self._results:
            why = [result.error, result.failures]
            if result.empty and result.status is NotebookStatus.INCOMPLETE:
                why.reverse()  # what has no runs to show is the consequence
            status = WITHOUT_RESULT if result.empty and result.status is NotebookStatus.OK else result.status
            print(": ".join(filter(None, [f"{result.name}: {status}", *why])), flush=True)
        saved = [result for result in self._results if result.path and self._stays]
        pages = [self._out / f"{result.name}.html" for result in saved]
        front = [self._out / PAGE] if self._front and self._stays else []
        for path in (*(result.path for result in saved), *pages, *front):
            if path.exists():
                print(shown(path), flush=True)


def status_of(result: NotebookResult) -> dict[str, Any]:
    """Return what the front page learns about a notebook; see `studies.summary.notebooks.ReportNotebook`."""
    return {
        "name": result.name,
        "title": result.title,
        "status": str(result.status),
        "error": result.error,
    }


def exit_code(results: Sequence[NotebookResult | End], interrupted: bool) -> int:
    """Return 0 where all ended well, 1 where one failed or lacks a part, 2 for a mistake, 130 for an interruption."""
    if interrupted:
        return INTERRUPTED
    failed = [result for result in results if result.status is not NotebookStatus.OK]
    if not failed:
        return OK
    return MISTAKE if all(result.mistake for result in failed) else FAILED
