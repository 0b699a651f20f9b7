"""The front page in sentences: what to switch on, what is missing, how long it took. Computes no speed-up."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from trainspeed.core.coverage import NOTHING_CHOSEN, Choice, Coverage
from trainspeed.core.factors import RECIPE
from trainspeed.core.files import CHECK, SUMMARY
from trainspeed.core.format import NAMES, counted, listed, minutes, model_of
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import Measured
from trainspeed.core.system import Difference, differences_text, machine_differences
from trainspeed.judge.check_list import all_checks, faults, undecided
from trainspeed.judge.check_list import summary as check_summary
from trainspeed.judge.checks import Check
from trainspeed.judge.commands import UNKNOWN_MIN, command_for
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.failures import kind_of_failure
from trainspeed.judge.verdict import MIN_BLOCKS, expected_false
from trainspeed.search.unmeasured import open_questions, open_searches, place_of
from trainspeed.search.untried import untried_sentences
from trainspeed.show.coverage import left_out_in_short
from trainspeed.show.rows import VERDICT_FIELDS
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed, counts_of
from trainspeed.studies.summary.notebooks import ReportNotebook
from trainspeed.studies.summary.tables import FrontTable, verdicts_by_table

WITHOUT_MODEL = ("conv2d",)  # notebooks that train none
DATA_SETS = {
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "digits": "the digits of scikit-learn (1,797 real images of 8×8 pixels, resized)",
    "own": "the data of the user's own file",
}


def check_sentences(report: ReportSummary) -> list[str]:
    """Return whether the instrument was found to be right on this machine, and each fault that was found."""
    checks, elsewhere = checks_here(report)
    if not checks:
        return ["Whether the instrument is right here was not checked: `make check` does."]
    if elsewhere:
        what = differences_text(elsewhere)
        return [
            "Whether the instrument is right here was not checked: what was checked in this folder is another system "
            f"({what}). `make check` checks this one."
        ]
    page = next((ran.page for ran in report.notebooks if ran.name == CHECK and ran.page), None)
    older = ", in an earlier session" if report.is_older(report.checks[0].session) else ""
    link = f" ([check]({page}))" if page else ""
    wrong = [Marked(f"**Not ok**: {escape(fault)}") for fault in faults(checks)]
    remedy = ["Do not rely on what is below until that is mended."] if wrong else []
    open_ = undecided(checks)
    which = f" Undecided: {escape('; '.join(open_))}." if open_ else ""
    return [Marked(f"{check_summary(checks)}{older}{link}.{which}"), *wrong, *remedy]


def checks_here(report: ReportSummary) -> tuple[list[Check], list[Difference]]:
    """Return the checks of the instrument, and in what the system that they were made on differs from the report's."""
    checks = all_checks(report.checks)
    if not checks:
        return [], []
    last = max(report.runs, key=lambda run: run.started_at or "", default=None)
    here, on_node = (last.machine, last.node is not None) if last else ({}, False)
    return checks, machine_differences(report.checks[0].machine, here, equal_nodes=on_node)


def headline_sentences(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[str]:
    """Return how many verdicts had which outcome, how many of them may be false, and how many have no interval.

    The switches that the chart and the list show are counted apart from what has tables of its own below them.

    Args:
        confirmed: What became of some of them in fresh blocks.
    """
    if not report.verdicts:
        return ["No verdict yet: a notebook makes one when it has compared two trials."]
    tables = verdicts_by_table(report)
    switches, folded = report.headlines, [*tables[FrontTable.CALLS], *tables[FrontTable.OTHERS]]
    judged = [*switches, *folded]
    sentences = []
    if switches:
        outcomes = ", ".join(counts_of(switches, confirmed))
        sentences.append(f"{counted(len(switches), 'verdict')} on switches, with an interval: {outcomes}.")
    if folded:
        subjects = listed(dict.fromkeys(map(_subject, folded)))
        number = f"{len(folded)} more" if switches else counted(len(folded), "verdict")
        outcomes = ", ".join(counts_of(folded, confirmed))
        sentences.append(
            f"{number} with an interval, in tables of their own below, on {subjects}: {outcomes}."
        )
    if judged:
        false = sum(expected_false(1, verdict.judgement.confidence) for verdict in judged)
        sentences.append(
            f"At this confidence up to {false:.1f} of these intervals miss the truth on average, and the largest gains "
            "are the likeliest to be too large."
        )
    if few := len(tables[FrontTable.FEW]):
        sentences.append(
            f"{counted(few, 'comparison')} had fewer than {MIN_BLOCKS} blocks and so no interval: a first look, which "
            "decides nothing."
        )
    return sentences


def _subject(verdict: Verdict) -> str:
    """Return what a verdict is on that is no switch of the chart."""
    if verdict.is_control:
        return "controls"
    if verdict.quantity != "time":
        return "accuracy"
    if verdict.candidate.phase.calls:
        return "single convolutions"
    if verdict.factor == RECIPE:
        return "all switches together"
    return "what is over strict fp32" if verdict.row.choice else "frameworks"


def chart_rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return the verdicts on time that have an interval, for a chart: each with a name that stands alone."""
    sure = [verdict for verdict in verdicts if verdict.low is not None and verdict.quantity == "time"]
    return [{f: getattr(verdict, f) for f in VERDICT_FIELDS} | {"label": verdict.name} for verdict in sure]


def older_sentences(report: ReportSummary, measured: Measured) -> list[str]:
    """Say so where the confirmations are older than the rest of the page."""
    older = measured.runs and report.is_older(measured.session)
    return [f"Measured in an earlier session, {measured.session}."] if older else []


def duration_sentences(report: ReportSummary, measured: Measured) -> list[str]:
    """Return how long the report took, and how much of that this page measured itself."""
    sentences = []
    for rendered, took in ((False, "measured for"), (True, "drawn again from runs that took")):
        others = [ran for ran in report.notebooks if ran.name != SUMMARY and ran.rendered == rendered]
        if seconds := [ran.seconds for ran in others if ran.seconds is not None]:
            number = counted(len(seconds), "notebook")
            sentences.append(f"{number}{',' * rendered} {took} {minutes(sum(seconds))}.")
    own = [f"The confirmations took {minutes(measured.took_s)}."] if measured.took_s else []
    return sentences + own


def data_sentences(report: ReportSummary, measured: Measured) -> list[str]:
    """Return what was trained on, and where the measured values are."""
    names = sorted({run.trial.dataset for run in (*report.runs, *measured.runs) if run.trains})
    sets = ", ".join(DATA_SETS.get(name, name) for name in names)
    links = ", ".join(f"[{name}]({name})" for name in report.files)
    trained = f"Trained on: {sets}." if names else "Nothing was trained in this report."
    return [trained, *([Marked(f"Beside this page: {links}.")] if links else [])]


def not_measured(report: ReportSummary, measured: Measured) -> list[str]:
    """Return what gave no result, once for each reason; what a search could try, too; which notebooks are missing."""
    told = [*without_result(report, measured), *untried_sentences(report.untried, _choices(report))]
    choices = _choices(report).values()
    # What is missing trains on one node, whatever else trained on several: they tell which model it is.
    trials = [run.trial for run in report.runs if run.trial.nodes == 1]
    missing = [
        name for name in report.missing if name not in WITHOUT_MODEL or "MODEL=" not in command_for(trials)
    ]
    if missing:
        every = replace(
            next(iter(choices), NOTHING_CHOSEN), parameters={}
        )  # the user's own are of other notebooks
        told.append(
            f"Not in this report: {', '.join(missing)}: `{command_for(trials, every, notebooks=missing)}`."
        )
    return told


def without_result(report: ReportSummary, measured: Measured) -> list[str]:
    """Return what was asked for and gave no result, once for each reason."""
    ended = [
        f"{ran.name}: {ran.status}{f': {ran.error}' if ran.error else ''}".rstrip(".") + "."
        for ran in report.notebooks
        if ran.status != "ok"
    ]
    failed: dict[tuple[str, Hashable], list[Run]] = {}
    for run in (*report.runs, *measured.runs):
        if run.status != Status.OK:
            failed.setdefault((run.study, kind_of_failure(run)), []).append(run)
    for (study, _), runs in failed.items():
        reason = (runs[0].reason or "no reason given").rstrip(".")
        ended.append(f"{called(study)}: {_trials_of(runs)}: {runs[0].status}: {reason}.")
    for study, covered in _coverage(report, measured).items():
        ended += [f"{called(study)}: {sentence}" for sentence in left_out_in_short(covered)]
    for ran in report.notebooks:
        trials = [run.trial for run in report.runs if run.study == ran.name]
        choice, budget = _choices(report).get(ran.name, NOTHING_CHOSEN), _longer(ran, report)
        command = command_for(trials, choice, notebooks=[ran.name], budget_min=budget)
        questions = open_questions(ran.unmeasured, _sure(report))
        ended += [f"{ran.name}: {open_}: `{command}`." for open_ in questions]
    return ended


def without_result_in_short(report: ReportSummary, measured: Measured) -> list[str]:
    """Return how much of what `without_result` names there is, by kind; nothing where there is none."""
    failed = (run for run in (*report.runs, *measured.runs) if run.status != Status.OK)
    trials = len({(run.study, run.trial.spec) for run in failed})
    left = sum(len(own.left_out) for own in _coverage(report, measured).values())
    lacking = {("trial",): trials, ("group",): left}
    counts = [counted(number, *kind) for kind, number in lacking.items() if number]
    said = [f"{listed(counts)} without a result"] if counts else []
    if searches := sum(len(open_searches(ran.unmeasured, _sure(report))) for ran in report.notebooks):
        said.append(f"{counted(searches, 'search', 'searches')} cut short")
    if broken := sum(ran.status != "ok" for ran in report.notebooks):
        said.append(f"{counted(broken, 'notebook')} that did not end well")
    return said


def _coverage(report: ReportSummary, measured: Measured) -> dict[str, Coverage]:
    return {**report.coverage, **({SUMMARY: measured.coverage} if measured.coverage else {})}


def _choices(report: ReportSummary) -> dict[str, Choice]:
    return {**report.choices, **{study: own.choice for study, own in report.coverage.items()}}


def _sure(report: ReportSummary) -> set[str]:
    """Return the searches whose total has an interval."""
    return {place_of(v.candidate) for v in report.recipes if v.quantity == "time" and v.low is not None}


def called(study: str) -> str:
    """Return what a reader calls a study: the page's own measuring has no page of its name."""
    return "this page's confirmations" if study == SUMMARY else study


def _longer(ran: ReportNotebook, report: ReportSummary) -> float:
    """Return about how many minutes a search takes with the runs that it lacks, where that is known."""
    runs = report.runs.of_study(ran.name)
    lacking = sum(left.planned - left.had for left in ran.unmeasured)
    spent_s = report.coverage[ran.name].spent_s if ran.name in report.coverage else runs.wall_s
    return math.ceil((spent_s + lacking * runs.wall_s / len(runs)) / 60) if runs else UNKNOWN_MIN


def _trials_of(runs: Sequence[Run]) -> str:
    """Return a single trial in full, several by number and framework."""
    trials = dict.fromkeys(run.trial.spec for run in runs)
    if len(trials) == 1:
        return ", ".join(next(iter(trials)).describe())
    names = [*dict.fromkeys(NAMES[trial.framework] for trial in trials)]
    models = {*(trial.model for trial in trials if trial.phase.of_model)}
    if runs[0].status in (Status.CRASHED, Status.INVALID) and len(models) == 1:  # which may be the reason
        names.append(model_of(*models))
    return f"{len(trials)} trials ({', '.join(names)})"
