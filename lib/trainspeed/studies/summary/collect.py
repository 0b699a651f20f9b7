"""What the front page reports on: every verdict and where it is shown, the runs behind them, which notebooks ran.

Reads what the notebooks left in the folder; judges nothing, draws nothing and writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from trainspeed.core.asked import choices_of, read_asked
from trainspeed.core.coverage import Choice, Coverage, read_coverage
from trainspeed.core.factors import RECIPE
from trainspeed.core.files import CHECK, DRAWING, SUMMARY, VERDICTS, notebook_names
from trainspeed.core.format import DEFAULT_PRECISION, counted
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet, took_s
from trainspeed.core.trial import STRICT, Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.verdict import Outcome
from trainspeed.search.untried import Untried, searched, untried
from trainspeed.studies.summary.endings import OK, as_they_ended, newest_session
from trainspeed.studies.summary.notebooks import ReportNotebook, notebooks_in
from trainspeed.studies.summary.worth import worthwhile

PAGE = "index.html"
FILES = ("runs.csv", "runs.jsonl", VERDICTS, *(f"{name}.html" for name in DRAWING))
NO_RUNS = RunSet(())


@dataclass(frozen=True)
class ReportSummary:
    """Everything that the front page reports on.

    Attributes:
        out: Folder of the page.
        runs: Those of the session that each notebook's page shows, without the front page's own and the checks.
        checks: The newest runs that check the instrument itself.
        own: The front page's newest runs, for confirmations.
        coverage: Study -> what its time was enough for; without those that had no limit.
        choices: Study -> what the user asked for, which `coverage` tells, too.
        budget_s: Seconds that the newest session's whole report was given; None without a limit.
    """

    out: Path
    notebooks: tuple[ReportNotebook, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    runs: RunSet = NO_RUNS
    own: RunSet = NO_RUNS
    checks: RunSet = NO_RUNS
    doubts: tuple[str, ...] = ()
    coverage: Mapping[str, Coverage] = field(default_factory=dict)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    budget_s: float | None = None

    @property
    def machine(self) -> Mapping[str, Any]:
        """The machine of the newest run."""
        runs = (*self.runs, *self.checks)
        return max(runs, key=lambda run: run.started_at or "").machine if runs else {}

    @property
    def session(self) -> str:
        """The newest session that a notebook shows."""
        return newest_session(self.notebooks)

    @property
    def complete(self) -> bool:
        """Whether every notebook ended well and lacks nothing."""
        return all(notebook.status == OK for notebook in self.notebooks)

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the other files that are in the page's folder by now."""
        return tuple(name for name in FILES if (self.out / name).is_file())

    @property
    def missing(self) -> list[str]:
        """Names of the project's notebooks that are not in this report."""
        present = {SUMMARY, *DRAWING, CHECK, *(notebook.name for notebook in self.notebooks)}
        return [name for name in notebook_names(ROOT / "notebooks") if name not in present]

    @cached_property
    def searches(self) -> list[tuple[Trial, list[Run]]]:
        """The plain trial and the runs of each search."""
        return searched(self.runs)

    @property
    def untried(self) -> list[Untried]:
        """What each search had no run of, though it is there; the search that found most first."""
        sizes = {(v.baseline.framework, v.baseline.model): v.speedup for v in self.kept}
        return sorted(
            untried(self.runs), key=lambda one: -sizes.get((one.start.framework, one.start.model), 0.0)
        )

    @property
    def switches(self) -> list[Verdict]:
        """Verdicts on time about what can be switched: those on training first, the largest speed-up on top.

        A control is no switch, and hardly anyone changes the framework for its speed. Over strict fp32, in which no
        script trains by itself, a precision counts only where nothing tells it over the framework's own.
        """
        known = [v for v in self.verdicts if v.quantity == "time" and v.row.choice and v.factor != RECIPE]
        return sorted(in_order(_over_plain(known)), key=lambda verdict: verdict.candidate.phase.calls)

    @property
    def recipes(self) -> list[Verdict]:
        """Verdicts on all that a search kept, together: on time and on accuracy, in the order of the file."""
        return [verdict for verdict in self.verdicts if verdict.factor == RECIPE]

    @property
    def kept(self) -> list[Verdict]:
        """What a search kept and fresh blocks call faster, unless they call its accuracy worse."""
        worse = {(v.study, v.baseline) for v in self.recipes if v.outcome is Outcome.WORSE}
        faster = (v for v in self.recipes if v.outcome is Outcome.FASTER)
        return [verdict for verdict in faster if (verdict.study, verdict.baseline) not in worse]

    @property
    def gains(self) -> list[Verdict]:
        """What is worth switching on, the largest gain first."""
        return worthwhile(self.switches, self.verdicts, self.machine)

    @property
    def headlines(self) -> list[Verdict]:
        """Verdicts on switches of a training that have an interval, in order; without any, those on convolutions."""
        sure = in_order(v for v in self.switches if v.low is not None)
        return [verdict for verdict in sure if not verdict.candidate.phase.calls] or sure

    def place_of(self, verdict: Verdict) -> str | None:
        """Return a link to the line of a page that shows a verdict, else to the section; None where it has no page."""
        for notebook in self.notebooks:
            if notebook.name == verdict.study and notebook.page:
                if verdict.anchor in notebook.anchors:
                    return f"{notebook.page}#{verdict.anchor}"
                section = notebook.sections.get((verdict.factor, verdict.quantity))
                return f"{notebook.page}#{section}" if section else notebook.page
        return None

    def is_older(self, session: str | None) -> bool:
        """Whether a session is earlier than the newest one that is shown."""
        return bool(session) and session < self.session  # ids begin with the time


def _over_plain(verdicts: Sequence[Verdict]) -> list[Verdict]:
    against = [verdict.baseline for verdict in verdicts if verdict.factor == "precision"]
    plain = {(b.framework, b.model) for b in against if b.precision == DEFAULT_PRECISION}
    told = [b for b in against if b.precision == STRICT and (b.framework, b.model) in plain]
    return [verdict for verdict in verdicts if verdict.factor != "precision" or verdict.baseline not in told]


def read_report(
    out: Path, drawn_from: Path | None, notebook_statuses: Sequence[Mapping[str, Any]] = ()
) -> ReportSummary:
    """Return what a report folder holds.

    Args:
        out: Folder with the notebooks and `verdicts.json`.
        drawn_from: Folder with the ledger, where the front page measures nothing; None: it measures, into `out`.
        notebook_statuses: What became of this report's notebooks, including those that left no file: fields of
            `ReportNotebook`.
    """
    notebooks = notebooks_in(out, notebook_statuses)
    source = out if drawn_from is None else drawn_from
    ledger = Ledger(source)
    newest = ledger.newest()
    shown = {notebook.name: notebook.session or newest.get(notebook.name, "") for notebook in notebooks}
    shown |= {study: session for study, session in newest.items() if study in (SUMMARY, CHECK)}
    lines, doubts = ledger.read(shown)
    runs = RunSet(lines).last_of_each().with_anchors_as_data()
    notebooks = as_they_ended(notebooks, runs, source, newest, drawn=drawn_from is not None)
    others = runs.where(lambda run: run.study not in (SUMMARY, CHECK))
    verdicts, unread = _read_verdicts(out / VERDICTS)
    coverage = read_coverage(source, shown)
    budgets = {asked.session: asked.budget_s for asked in read_asked(source)}
    report = ReportSummary(
        out=out,
        notebooks=tuple(_with_seconds(own, runs, coverage.get(own.name)) for own in notebooks),
        verdicts=tuple(verdict for verdict in verdicts if verdict.study != SUMMARY),
        runs=others,
        own=runs.of_study(SUMMARY),
        checks=runs.of_study(CHECK),
        doubts=tuple(dict.fromkeys((*doubts, *unread))),
        coverage={study: own for study, own in coverage.items() if study != SUMMARY},
        choices=choices_of(source, shown, others),
    )
    return replace(report, budget_s=budgets.get(report.session))


def _with_seconds(notebook: ReportNotebook, runs: RunSet, coverage: Coverage | None) -> ReportNotebook:
    """Return the notebook with the time that its own page says that measuring took."""
    own = runs.of_study(notebook.name)
    return replace(notebook, seconds=(took_s(own, coverage) or None) if own else None)


def _read_verdicts(path: Path) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts in a file, and what is wrong with the file."""
    try:
        elements = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except (ValueError, RecursionError):
        elements = None
    if not isinstance(elements, list):
        return [], [f"{VERDICTS} is damaged and none of it is shown: `make render` writes it anew."]
    verdicts = []
    for element in elements:
        try:
            verdict = Verdict.from_dict(element)
            verdicts += [verdict] if verdict.name else []
        except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
            continue  # of another version
    if not (unread := len(elements) - len(verdicts)):
        return verdicts, []
    doubt = (
        f"{counted(unread, 'verdict')} in {VERDICTS} {'is' if unread == 1 else 'are'} of another version and left "
        "out: `make render` writes it anew."
    )
    return verdicts, [doubt]


def in_order(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return what was decided first, the largest speed-up on top; then the undecided, accuracy, controls last."""

    def sort_key(verdict: Verdict) -> tuple:
        last = verdict.is_control, verdict.quantity != "time"
        return *last, verdict.outcome is Outcome.UNDECIDED, verdict.low is None, -(verdict.speedup or 0.0)

    return sorted(verdicts, key=sort_key)
