"""The front page in sentences: what to switch on, how sure that is, what is missing. Computes no speed-up."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainspeed.core.format import counted, minutes
from trainspeed.core.machine_text import machine_name
from trainspeed.core.names import NAMES
from trainspeed.core.outputs import SUMMARY, VERDICTS
from trainspeed.core.run import Run, Status
from trainspeed.core.runs import Measured
from trainspeed.judge.comparison import Verdict, controls
from trainspeed.judge.doubts import study_doubts
from trainspeed.judge.text import interval_of, size_of
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome, expected_false
from trainspeed.show.rows import VERDICT_FIELDS
from trainspeed.studies.summary.collect import ReportSummary, in_order
from trainspeed.studies.summary.confirmation import Confirmed

MAX_SENTENCES = 8  # of the gains in sentences: a reader wants to know in a minute; the table has them all
DATA_SETS = {
    "cifar10": "CIFAR-10",
    "mnist": "MNIST",
    "digits": "the digits of scikit-learn (1,797 real images of 8×8 pixels, resized)",
    "own": "the data of the user's own file",
}
OUTCOMES = (Outcome.FASTER, Outcome.SLOWER, Outcome.BETTER, Outcome.WORSE, Outcome.SAME, Outcome.UNDECIDED)
CODE = re.compile(r"(`[^`\n]*`)")
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def escape(text: str) -> str:
    """Return what others wrote, such as a framework's error, so that Markdown shows it as it is.

    `Code` between backticks stays code.
    """
    parts = CODE.split(" ".join(text.split()))
    for index in range(0, len(parts), 2):
        parts[index] = MARKUP.sub(r"\\\1", parts[index])
    return "".join(parts)


def machine_sentences(machine: Mapping[str, Any]) -> list[str]:
    """Say in one line what was measured on."""
    return [machine_name(machine) if machine else "Nothing was measured in this folder yet."]


def switch_sentences(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[str]:
    """Say what is faster, the largest gain first, each with a link to where it comes from.

    Args:
        confirmed: What became of some of these in fresh blocks: a gain that was luck must not pass for one.
    """
    gains = report.gains
    if gains:
        again = {c.first: _in_fresh_blocks(c) for c in confirmed}
        told = [_linked(report, verdict, again.get(verdict, "")) for verdict in gains[:MAX_SENTENCES]]
        return told + _rest(gains, "smaller gain")
    if any(verdict.outcome is not Outcome.UNDECIDED for verdict in report.switches):
        return ["Nothing that was compared is faster here than what it was compared with."]
    return [f"Nothing is decided: a verdict needs {MIN_BLOCKS} blocks or more."]


def slower_sentences(report: ReportSummary) -> list[str]:
    """Say what costs time or accuracy, the largest loss first, and what makes no difference."""
    slower = [verdict for verdict in report.switches[::-1] if verdict.outcome is Outcome.SLOWER]
    slower.sort(key=lambda verdict: verdict.candidate.phase.calls)
    worse = [verdict for verdict in report.verdicts if verdict.outcome is Outcome.WORSE]
    same = [verdict for verdict in report.switches if verdict.outcome is Outcome.SAME]
    losses = [_linked(report, verdict) for verdict in slower[:MAX_SENTENCES]]
    others = [_linked(report, verdict) for verdict in (*in_order(worse), *same[:MAX_SENTENCES])]
    return [*losses, *_rest(slower, "smaller loss", "smaller losses"), *others]


def _rest(verdicts: Sequence[Verdict], *noun: str) -> list[str]:
    more = len(verdicts) - MAX_SENTENCES
    return [f"{counted(more, *noun)}: in the [table](#every-verdict)."] if more > 0 else []


def _in_fresh_blocks(confirmed: Confirmed) -> str:
    word = confirmed.word if confirmed.holds else "**not confirmed**"
    return f"; {word} in [fresh blocks](#confirmed-in-fresh-blocks)" if confirmed.again else ""


def _linked(report: ReportSummary, verdict: Verdict, more: str = "") -> str:
    size, ends = size_of(verdict, verdict.quantity), interval_of(verdict, verdict.quantity)
    place = report.place_of(verdict)
    where = f"[{escape(verdict.study)}]({place})" if place else escape(verdict.study)
    older = ", from an earlier session" if report.is_older(verdict.session) else ""
    words = {Outcome.SAME: "the same within the margin"}.get(verdict.outcome, str(verdict.outcome))
    return f"**{size}** ({ends}), {words}: {escape(verdict.name)} ({where}{older}){more}."


def headline_sentences(report: ReportSummary) -> list[str]:
    """Say what was decided in how many verdicts, and how many of them may be false."""
    if not report.verdicts:
        return ["No verdict yet: a notebook makes one when it has compared two trials."]
    judged = [verdict for verdict in report.verdicts if verdict.low is not None]
    count = Counter(verdict.outcome for verdict in report.verdicts)
    words = ", ".join(f"{count[outcome]} {outcome}" for outcome in OUTCOMES if count[outcome])
    number = len(report.verdicts)
    sentences = [f"{counted(number, 'verdict')}: {words}."]
    if judged:
        false = sum(expected_false(1, verdict.judgement.confidence) for verdict in judged)
        several = f"{len(judged)} of them have" if len(judged) > 1 else "One of them has"
        sentences.append(
            f"{several} an interval. At this confidence up to {false:.1f} of these intervals miss the truth on "
            "average, and the largest gains are the likeliest to be too large."
        )
    return sentences


def with_interval(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """Return the verdicts on time that have an interval."""
    return [v for v in verdicts if v.low is not None and v.quantity == "time"]


def chart_rows(verdicts: Iterable[Verdict]) -> list[dict[str, Any]]:
    """Return verdicts for the chart of all notebooks, each with a name that stands alone."""
    return [
        {f: getattr(verdict, f) for f in VERDICT_FIELDS} | {"label": verdict.name} for verdict in verdicts
    ]


def older_sentences(report: ReportSummary, measured: Measured) -> list[str]:
    """Say where the recipe and the confirmations are older than what they stand beside."""
    older = measured.runs and report.is_older(measured.session)
    return [f"Measured in an earlier session, {measured.session}."] if older else []


def time_sentences(report: ReportSummary, measured: Measured) -> list[str]:
    """Say how long the report took, and how much of that this page measured itself."""
    sentences = []
    for rendered, took in ((False, "took"), (True, "drawn again from runs that took")):
        others = [ran for ran in report.notebooks if ran.name != SUMMARY and ran.rendered == rendered]
        seconds = [ran.seconds for ran in others if ran.seconds is not None]
        if seconds:
            number = counted(len(seconds), "notebook")
            sentences.append(f"{number}{',' * rendered} {took} {minutes(sum(seconds))}.")
    own = [f"The recipe and the confirmations took {minutes(measured.wall_s)}."] if measured.wall_s else []
    return sentences + own


def data_sentences(report: ReportSummary, measured: Measured) -> list[str]:
    """Say what was trained on, and where the measured values are."""
    sets = sorted({run.trial.dataset for run in (*report.runs, *measured.runs) if run.trains})
    names = [DATA_SETS.get(name, name) for name in sets]
    trained = f"Trained on: {', '.join(names)}." if names else "Nothing was trained in this report."
    linked = [f"[{name}]({name})" for name in report.files]
    return [trained, *([f"Beside this page: {', '.join(linked)}."] if linked else [])]


def not_measured(report: ReportSummary, measured: Measured) -> list[str]:
    """Say what was asked for and gave no result, and why: once for each reason; and which notebooks are missing."""
    ended = [
        f"{escape(ran.name)}: {ran.status}{f': {escape(ran.error)}' if ran.error else ''}".rstrip(".") + "."
        for ran in report.notebooks
        if ran.status != "ok"
    ]
    kinds: dict[tuple[str, str, Any], list[Run]] = {}
    for run in (*report.runs, *measured.runs):
        if run.status != Status.OK:
            kinds.setdefault((run.study, str(run.status), _way_to_fail(run)), []).append(run)
    failed = [
        f"{escape(study)}: {escape(_of(runs))}: {status}: {escape((runs[0].reason or 'no reason given').rstrip('.'))}."
        for (study, status, _), runs in kinds.items()
    ]
    missing = report.missing
    words = f'Not in this report: {", ".join(map(escape, missing))}: `make report NOTEBOOKS="{" ".join(missing)}"`.'
    return [*ended, *failed, *([words] if missing else [])]


def _way_to_fail(run: Run) -> Any:
    """What equal failures share: a reason says how it was with this run, such as how much memory it asked for."""
    if run.status in (Status.UNSUPPORTED, Status.INVALID):
        return run.reason
    return run.failure and (run.failure.stage, run.failure.error)


def _of(runs: Sequence[Run]) -> str:
    """What these runs were of: in full for one trial, else by framework and number."""
    trials = dict.fromkeys(run.trial.spec for run in runs)
    if len(trials) == 1:
        return ", ".join(next(iter(trials)).describe())
    names = ", ".join(dict.fromkeys(NAMES[trial.framework] for trial in trials))
    return f"{len(trials)} trials ({names})"


def all_doubts(report: ReportSummary, measured: Measured) -> list[str]:
    """Return the doubts about the folder, about each study, and about what this page measured itself."""
    found = [*report.doubts, *_of_several_machines((*report.runs, *measured.runs))]
    known = {verdict.study for verdict in report.verdicts}
    for study in dict.fromkeys(run.study for run in report.runs):
        runs = [run for run in report.runs if run.study == study]
        found += [f"{study}: {doubt}" for doubt in study_doubts(runs, controls(runs))]
        if study not in known:
            found.append(f"{study}: it has runs, but no verdict in {VERDICTS}: see why in its notebook.")
    return [escape(doubt) for doubt in dict.fromkeys((*found, *measured.doubts))]


def _of_several_machines(runs: Iterable[Run]) -> list[str]:
    """A doubt where not everything was measured on one machine with the same versions."""
    machines: dict[str, list[str]] = {}
    versions: dict[str, set[str]] = {}
    for run in runs:
        if run.machine:
            machines.setdefault(machine_name(run.machine), []).append(run.study)
        if version := run.versions.get(run.trial.framework):
            versions.setdefault(NAMES[run.trial.framework], set()).add(version)
    told = "; ".join(f"{', '.join(dict.fromkeys(of))} on {name}" for name, of in machines.items())
    doubts = []
    if len(machines) > 1:
        doubts.append(f"Not everything was measured on one machine: {told}. Compare within each only.")
    for name, several in versions.items():
        if len(several) > 1:
            doubts.append(
                f"{name} ran in several versions: {', '.join(sorted(several))}. Measure all notebooks again."
            )
    return doubts
