"""The front page's lists: what to switch on, what not, and what would decide the rest. Computes no speed-up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median
from urllib.parse import quote

from trainspeed.core.format import NAMES, counted, model_of, three
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.run import Role
from trainspeed.core.trial import Trial
from trainspeed.judge.answer import where_measured
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.fastest import LIBRARY, fastest_library
from trainspeed.judge.text import (
    OUTCOME_WORDS,
    interval_of,
    name_words,
    outcome_word,
    pair,
    size_of,
)
from trainspeed.judge.verdict import MIN_BLOCKS, Outcome
from trainspeed.studies.summary.accuracy import (
    accuracy_words,
    gain_accuracy,
    switch_accuracy,
)
from trainspeed.studies.summary.collect import ReportSummary, in_order
from trainspeed.studies.summary.confirmation import Confirmed, counts_of, unconfirmed_at_first
from trainspeed.studies.summary.plain_script import is_on_cores
from trainspeed.studies.summary.worth import not_kept_words, why_no_gain

MAX_SENTENCES = 8  # on gains, and on losses: a reader wants to know in a minute, and the table has them all


def recipe_sentences(report: ReportSummary) -> list[str]:
    """Return what all switches that a search kept bring together, the largest gain first, and to the accuracy.

    Of another set of switches it is said that nothing was confirmed: what became of it is said where its kind is.
    """
    sentences = recipe_results(report, Outcome.FASTER)
    of_time = [verdict for verdict in report.recipes if verdict.quantity == "time"]
    found = {_searched(v.study, v.baseline) for v in of_time if v.outcome is Outcome.FASTER}
    searched = [_searched(run.study, run.trial) for run in report.runs.role(Role.FEASIBLE)]
    searched += [_searched(verdict.study, verdict.baseline) for verdict in of_time]
    for study, framework, model in dict.fromkeys(searched):
        if (study, framework, model) not in found:
            where = escape(f"{NAMES[framework]}, {model_of(model)}")
            link = study_link(study, next((ran.page for ran in report.notebooks if ran.name == study), None))
            sentences.append(
                Marked(f"{where}: nothing that pays together was confirmed in fresh blocks ({link}).")
            )
    return sentences


def _searched(study: str, trial: Trial) -> tuple[str, str, str]:
    return study, trial.framework, trial.model


def recipe_results(report: ReportSummary, *outcomes: Outcome) -> list[str]:
    """Return the size, the setting and the accuracy of those sets of switches that became this, the largest first."""
    sentences = []
    sure = (verdict for verdict in report.recipes if verdict.quantity == "time" and verdict.low is not None)
    own = [verdict for verdict in sure if verdict.outcome in outcomes]
    for verdict in sorted(own, key=lambda verdict: -(verdict.speedup or 0.0)):
        points = gain_accuracy(verdict, report)
        open_ = points and verdict.outcome is points.outcome is Outcome.UNDECIDED
        plain = plain_images_per_s(verdict, report)
        compared = "" if plain is None else f"; plain {three(plain)} images/s"
        compared += f"; {accuracy_words(points)}" if points and not open_ else ""
        sentences.append(
            linked(report, verdict, escape(compared), name=pair(verdict.baseline, verdict.candidate))
        )
    return sentences


def plain_images_per_s(verdict: Verdict, report: ReportSummary) -> float | None:
    """Return the median throughput of a training's baseline in its study; None where its runs are not there.

    Of what a search kept, in the fresh blocks that its size is from.
    """
    if verdict.baseline.phase.calls:
        return None
    own = report.runs.ok().of_study(verdict.study).of_trial(verdict.baseline)
    own = own.role(Role.RECIPE) or own
    known = [run.images_per_s for run in own if run.images_per_s]
    return median(known) if known else None


def switch_sentences(
    report: ReportSummary, confirmed: Sequence[Confirmed] = (), unsaid: Collection[str] = ()
) -> list[str]:
    """Return what is faster, the largest gain first, each with a link to where it comes from.

    Args:
        confirmed: What became of some of the gains in fresh blocks, so that luck does not pass for a gain.
        unsaid: Words that the names of verdicts leave out, as they are said above the list.
    """
    lost = unconfirmed_at_first(confirmed)
    gains = [verdict for verdict in _apart(report, report.gains)[0] if verdict not in lost]
    faster = [verdict for verdict in report.switches if verdict.outcome is Outcome.FASTER]
    convolutions = _convolutions(report, _apart(report, faster)[1], confirmed, faster=True)
    if gains:
        fresh = {c.first: c for c in confirmed}
        again = {c.first: _in_fresh_blocks(c) for c in confirmed}
        largest = [
            linked(
                report,
                verdict,
                again.get(verdict, "")
                + escape(
                    not_kept_words(verdict, report.kept, report.searches) + switch_accuracy(verdict, report)
                ),
                name=_short(verdict, unsaid),
                again=fresh.get(verdict),
            )
            for verdict in gains[:MAX_SENTENCES]
        ]
        return [*largest, *_rest(gains, "smaller gain"), *convolutions]
    if any(verdict.outcome is not Outcome.UNDECIDED for verdict in report.headlines):
        beside = "Beside what the search kept, nothing" if report.kept else "Nothing"
        nothing = f"{beside} that was compared was found to be faster here than a plain script."
        return [nothing, *convolutions]
    if convolutions:
        return convolutions
    if any(verdict.low is not None for verdict in report.headlines):
        return [f"What {'else ' if report.recipes else ''}was compared is undecided."]
    if report.recipes:
        return []  # the search was all that has an interval
    return [f"Nothing is decided: a verdict needs {MIN_BLOCKS} blocks or more."]


def slower_sentences(
    report: ReportSummary, confirmed: Sequence[Confirmed] = (), unsaid: Collection[str] = ()
) -> list[str]:
    """Return what costs time or accuracy, the largest loss first, and what makes no difference.

    Args:
        confirmed, unsaid: As of `switch_sentences`.
    """
    lost = unconfirmed_at_first(confirmed)
    slower = [verdict for verdict in report.switches[::-1] if verdict.outcome is Outcome.SLOWER]
    slower, single = _apart(report, slower)
    slower = [verdict for verdict in slower if verdict not in lost]
    worse = [verdict for verdict in report.verdicts if verdict.outcome is Outcome.WORSE]
    same = [verdict for verdict in report.switches if verdict.outcome is Outcome.SAME]
    fresh, again = {c.first: c for c in confirmed}, {c.first: _in_fresh_blocks(c) for c in confirmed}

    def told(verdict: Verdict) -> str:
        name = _short(verdict, unsaid)
        return linked(report, verdict, again.get(verdict, ""), name=name, again=fresh.get(verdict))

    losses, others = (
        [told(verdict) for verdict in several]
        for several in (slower[:MAX_SENTENCES], (*in_order(worse), *same[:MAX_SENTENCES]))
    )
    rest = _rest(slower, "smaller loss", "smaller losses")
    convolutions = _convolutions(report, single, confirmed, faster=False)
    together = recipe_results(report, Outcome.SLOWER, Outcome.SAME)
    return [*together, *losses, *rest, *convolutions, *others, *_no_gains(report, confirmed)]


def _no_gains(report: ReportSummary, confirmed: Sequence[Confirmed]) -> list[str]:
    """Return what is faster and nothing to gain, as a plain script has it, with the reason.

    The name comes first and nothing is bold: who looks for sizes alone must not take it for a gain.
    """
    refuted = [c.first for c in confirmed if c.refuted]
    sentences = []
    for verdict in report.switches:
        if verdict.outcome is not Outcome.FASTER or verdict.candidate.phase.calls or verdict in refuted:
            continue
        if reason := why_no_gain(verdict, report.machine, report.runs):
            size = f"{size_of(verdict)} ({interval_of(verdict)})"
            study = study_link(verdict.study, report.place_of(verdict))
            joined = " " if is_on_cores(verdict, report.machine) else "; "  # "over one core; …"
            sentences.append(Marked(f"{escape(verdict.name)} ({study}): {size}{joined}{escape(reason)}."))
    return sentences[:MAX_SENTENCES]


def shared_sentences(report: ReportSummary) -> list[str]:
    """Return where the switches of a training were measured, and what their verdicts share: said once for the list.

    Nothing where the list has no gain of a single switch to say it of.
    """
    told = report.headlines if _apart(report, report.gains)[0] else []
    where = where_measured(told, report.runs)
    # A version names its framework: "PyTorch 2.15".
    setting = where + [word for word in unsaid_words(report) if f"{word} " not in " ".join(where)]
    kind = "convolutions" if any(verdict.candidate.phase.calls for verdict in told) else "trainings"
    return [f"All {kind} below: {', '.join(setting)}."] if setting else []


def unsaid_words(report: ReportSummary) -> list[str]:
    """Return the words that the lists leave out, as `shared_sentences` has said them."""
    return shared_words_of(report.headlines) if _apart(report, report.gains)[0] else []


def shared_words_of(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the words that the names of all these verdicts have, where there are enough to leave them out."""
    names = [name_words(v.baseline, v.candidate, v.factor)[1:] for v in verdicts]
    return [word for word in names[0] if all(word in words for words in names)] if len(names) > 2 else []


def _short(verdict: Verdict, unsaid: Collection[str]) -> str:
    versus, *words = name_words(verdict.baseline, verdict.candidate, verdict.factor)
    return ", ".join([versus, *(word for word in words if word not in unsaid)])


def _apart(report: ReportSummary, verdicts: Sequence[Verdict]) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts on trainings, and those on single convolutions; where nothing was trained, all at first."""
    trains = any(not verdict.candidate.phase.calls for verdict in report.switches)
    single = [verdict for verdict in verdicts if trains and verdict.candidate.phase.calls]
    return [verdict for verdict in verdicts if verdict not in single], single


def _convolutions(
    report: ReportSummary, verdicts: Sequence[Verdict], confirmed: Sequence[Confirmed], *, faster: bool
) -> list[str]:
    """Return how many verdicts on single convolutions there are, and the first one's size: nobody trains with one.

    Where one library is faster than all others, it stands for the verdicts on libraries, whichever side it is, and is
    told once, with the slowest one.
    """
    calls = [verdict for verdict in report.switches if verdict.candidate.phase.calls]
    alone, said = len(calls) == len(report.switches), []
    unsure = any(c.unconfirmed and c.first in calls for c in confirmed)
    if best := None if alone or unsure else fastest_library(calls):
        verdicts = [verdict for verdict in verdicts if verdict.factor != LIBRARY]
        slowest = f"; slowest {best.slowest}" if best.slowest and best.slowest not in best.beaten else ""
        said += [escape(best.gain + slowest)] if faster else []
    if faster:  # what cores gain over one is nothing to switch on
        verdicts = [verdict for verdict in verdicts if not is_on_cores(verdict, report.machine)]
    if verdicts:
        count = ", ".join(counts_of(verdicts, confirmed))
        size = f"the largest difference {size_of(verdicts[0])} ({interval_of(verdicts[0])})"
        versus = {verdict.row.versus(verdict.baseline, verdict.candidate) for verdict in verdicts}
        what = f"{escape(versus.pop())}: " if said and len(versus) == 1 else ""
        said.append(f"{what}{count}, {size}")
    if not said:
        return []
    first = (verdicts or calls)[0]
    page = study_link(first.study, report.place_of(first))
    return [Marked(f"Single convolutions: {'; '.join(said)}: {page}; nothing to switch on in a training.")]


def _rest(verdicts: Sequence[Verdict], *noun: str) -> list[str]:
    more = len(verdicts) - MAX_SENTENCES
    return [Marked(f"{counted(more, *noun)}: in the [table](#every-verdict).")] if more > 0 else []


def _in_fresh_blocks(confirmed: Confirmed) -> str:
    if confirmed.again is None:
        return ""
    blocks = f"; {confirmed.word} in [fresh blocks](#measured-again-in-fresh-blocks)"
    if confirmed.holds:  # the size before it is theirs
        return f"{blocks}, {size_of(confirmed.first)} at first"
    return f"{blocks}, {size_of(confirmed.again)}" if confirmed.again.low is not None else blocks


def linked(
    report: ReportSummary,
    verdict: Verdict,
    more: str = "",
    *,
    name: str | None = None,
    again: Confirmed | None = None,
) -> str:
    """Return a verdict's size, interval and outcome, what it is about, and a link to where it comes from.

    Args:
        more: Markdown, at the end.
        name: Of the verdict, where it is another one than its own.
        again: What became of it in fresh blocks: where these confirm it, the size is theirs.
    """
    judged = verdict if again is None or not again.holds else again.again
    size, ends = size_of(judged, verdict.quantity), interval_of(judged, verdict.quantity)
    outcome = outcome_word(verdict.judgement, verdict.quantity)
    outcome = OUTCOME_WORDS.get(outcome, outcome)
    page = report.place_of(verdict)
    study = study_link(verdict.study, page)
    older = ", from an earlier session" if report.is_older(verdict.session) else ""
    return Marked(f"**{size}** ({ends}), {outcome}: {escape(name or verdict.name)} ({study}{older}){more}.")


def study_link(name: str, page: str | None) -> str:
    """Return a link, as Markdown, to where a study shows something; its name alone where it has no page."""
    return f"[{escape(name)}]({quote(page, safe='#')})" if page else escape(name)
