"""What a reader asks first, a line each, with a link to the rest: the studies, and what stands behind the headline.

Puts into sentences what others decided; decides nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from trainspeed.core.files import SUMMARY
from trainspeed.core.format import NAMES, counted, listed, minutes, model_of
from trainspeed.core.machine_text import VARIABLES, cores_in_words, machine_name, machine_parts
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.runs import Measured
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.judge.answer import Answer, answers
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.fastest import LIBRARY, fastest_library, on_several_devices
from trainspeed.judge.text import size_of
from trainspeed.judge.verdict import Outcome
from trainspeed.search.untried import untried_in_short
from trainspeed.show.answer import OUTCOMES
from trainspeed.studies.summary.cards import (
    answers_something,
    headline_verdicts,
    in_card_order,
    none_here,
    remarked,
)
from trainspeed.studies.summary.collect import ReportNotebook, ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed, counts_of
from trainspeed.studies.summary.doubts import doubt_text, evidence_text
from trainspeed.studies.summary.gains import study_link
from trainspeed.studies.summary.headline import HeadlineOutcome, compared, headline_gains, to_paste
from trainspeed.studies.summary.memory_words import memory_words
from trainspeed.studies.summary.pays import break_even_sentences
from trainspeed.studies.summary.plain_script import beaten, is_on_cores, plain_words
from trainspeed.studies.summary.text import without_result_in_short

MOST_NAMED = 4  # settings that a line names: it has to be short on a phone
NAMED_OF_MORE = 2  # where there are more than these
MOST_OTHERS = 2  # comparisons after the first one that a line tells
FEW_STEPS = 100  # of an epoch; those of real trainings have hundreds and more

NO_GAIN = "not against a plain script"
NOT_KNOWN = "not known"


def study_sentences(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[Marked]:
    """Return the answer of each study that compared something in a line, which leads to its page.

    What the headline tells of a search is not told again.

    Args:
        confirmed: What became of some of the gains in fresh blocks; one that they refuted is no gain here.
    """
    told = [
        gain.verdict for gain in headline_gains(report, confirmed) if gain.finding is HeadlineOutcome.TOGETHER
    ]
    several = [
        (ran, own, [verdict for verdict in headline_verdicts(own) if verdict not in told])
        for ran, own in in_card_order(report)
    ]
    return [
        _study(ran, left, report, confirmed)
        for ran, own, left in several
        if answers_something(ran, report) and (left or not headline_verdicts(own))
    ]


def _study(
    ran: ReportNotebook, verdicts: Sequence[Verdict], report: ReportSummary, confirmed: Sequence[Confirmed]
) -> Marked:
    """Return the first comparison's answer, setting by setting, and how many more there are."""
    remarks = remarked(verdicts, report, {c.first: c for c in confirmed if c.again}, brief=True)
    told = [*remarks]
    at_first = dict(zip(told, verdicts, strict=True))
    groups = answers(told)
    if not groups:
        said = escape(none_here(ran, report)) or "Nothing is decided yet."
        return Marked(f"{study_link(ran.title, ran.page)} {said}")

    every = [verdict for answer in groups for verdict in _verdicts(answer)]
    if all(verdict.candidate.phase.calls for verdict in every):
        counts = counts_of([at_first[verdict] for verdict in every], confirmed, bold=True)
        said = listed(counts) + _where(every, report)
        lost = {one.first for one in confirmed if one.unconfirmed} & {*verdicts}
        if fastest := fastest_library(told):
            slower = [*fastest.beaten]
            others = slower[0] if len(slower) == 1 else f"{len(slower)} others"
            where = _where([verdict for verdict in told if verdict.factor == LIBRARY], report)
            several = on_several_devices(fastest, report.runs.of_study(ran.name))
            first = (
                f"fastest {_channels(told)}**{escape(fastest.library)}**, {fastest.times} as fast as "
                f"{escape(others)}{where}"
            )
            # How many comparisons of all, slower libraries among them, were faster says less.
            said = "; ".join([first, *filter(None, [escape(several)]), *([said] if lost else [])])
        return Marked(f"Single convolutions ({study_link(ran.name, ran.page)}): {said}.")
    first = _verdicts(groups[0])
    where = _where(first, report)
    if all(is_on_cores(verdict, report.machine) for verdict in first):
        # What is no gain here has none that was confirmed; how a plain script compares is said after all of them.
        remarks = dict.fromkeys(remarks, "")
    page = study_link(ran.name, ran.page)
    words = beaten(told, report.machine, report.runs)
    said = _settings(groups[0], remarks, page, words) + where
    others = groups[1:]
    if 0 < len(others) <= MOST_OTHERS:
        names = [_short(own, groups) for own in others]
        more = "".join(
            f"; {escape(name)}: {_settings(own, remarks, page, words)}"
            for name, own in zip(names, others, strict=True)
        )
    else:
        more = f"; {counted(len(every) - len(first), 'more comparison')}" if others else ""
    versus = groups[0].versus if len(first) == 1 else _short(groups[0], groups)
    return Marked(f"{study_link(versus, ran.page)}: {said}{more}.")


def _short(answer: Answer, beside: Sequence[Answer]) -> str:
    """Return what is compared, for a phone without what with, unless that tells it from others beside it."""
    short = answer.versus.partition(" vs ")[0]
    same = [other for other in beside if other.versus.partition(" vs ")[0] == short]
    return short if len(same) < 2 else answer.versus


def _settings(answer: Answer, remarks: Mapping[Verdict, str], page: str, words: Mapping[Verdict, str]) -> str:
    """Return the sizes in the settings of an answer, the largest with each outcome before the others.

    Args:
        words: As of `card_text`.
        page: A link to the page that has those that are not named.
    """
    several = [(outcome, *one) for outcome, settings in answer.settings.items() for one in settings]
    if len(several) == 1:
        ((outcome, name, verdict),) = several
        size = f"{size_of(verdict)}{escape(remarks[verdict])}"
        word = words.get(verdict, OUTCOMES.get(outcome, outcome))
        return f"**{word}** for {escape(name)} ({size})"
    leading = {outcome: settings[0][1] for outcome, settings in answer.settings.items()}
    several.sort(key=lambda one: one[2] is not leading[one[0]])
    models = {verdict.baseline.model for *_, verdict in several}
    sides = [verdict.baseline for *_, verdict in several]
    names = [" ".join([NAMES[t.framework], *[model_of(t.model)] * (len(models) > 1)]) for t in sides]
    if len({*names}) < len(several):  # these do not tell one from another
        names = [name for _, name, _ in several]
    shown = len(several) if len(several) <= MOST_NAMED else NAMED_OF_MORE
    said = [_setting(*one, remarks) for one in zip(several[:shown], names, strict=False)]
    return ", ".join([*said, *([f"{len(several) - shown} more in {page}"] if len(several) > shown else [])])


def _setting(one: tuple[Outcome, str, Verdict], name: str, remarks: Mapping[Verdict, str]) -> str:
    outcome, _, verdict = one
    remark = escape(remarks[verdict])
    if outcome is Outcome.FASTER:
        return f"{escape(name)} **{size_of(verdict)}**" + (
            f" ({remark.removeprefix('; ')})" if remark else ""
        )
    return f"{escape(name)} **{OUTCOMES.get(outcome, outcome)}** ({size_of(verdict)}{remark})"


def _channels(verdicts: Iterable[Verdict]) -> str:
    """Return of how many channels the images are, on which depends which library is the fastest."""
    channels = {side.channels for verdict in verdicts for side in (verdict.baseline, verdict.candidate)}
    return f"with {counted(channels.pop(), 'channel')} " if len(channels) == 1 else ""


def _where(verdicts: Sequence[Verdict], report: ReportSummary) -> str:
    """Return on how many CPU cores that is, as a study's device is one of them; nothing where a GPU was used."""
    if report.machine.get("device") != "cpu":
        return ""
    if all(is_on_cores(verdict, report.machine) for verdict in verdicts):
        counts = {(verdict.candidate.devices, verdict.baseline.devices) for verdict in verdicts}
        cores = "cores against 1" if len(counts) > 1 else "{} cores against {}".format(*counts.pop())
        plain = plain_words(verdicts, report.machine, report.runs)
        return f": {cores}; {escape(plain)}" if plain else f": {cores}, {NO_GAIN}"
    sides = [trial for verdict in verdicts for trial in (verdict.baseline, verdict.candidate)]
    one, *others = {cores_in_words(report.machine, trial) for trial in sides}
    return "" if others else f", on {one}"


def _verdicts(answer: Answer) -> list[Verdict]:
    return [verdict for settings in answer.settings.values() for _, verdict in settings]


def fact_sentences(
    report: ReportSummary, measured: Measured, confirmed: Sequence[Confirmed] = ()
) -> list[Marked]:
    """Return what there is to paste, how sure the headline is, what lacked memory or a result, and how long it took."""
    told = headline_gains(report, confirmed)
    sure = [evidence_text(report, measured, told), doubt_text(report, measured, confirmed, told)]
    # The headline itself leads to the lines of what a search kept.
    linked = any(gain.finding is HeadlineOutcome.TOGETHER for gain in told)
    paste = (
        "[the lines of the headline](#code-to-paste)"
        if to_paste(report, confirmed)
        else "nothing ([why](#code-to-paste))"
    )
    gaps = [untried_in_short(report.untried), *without_result_in_short(report, measured)]
    if unasked := len(report.missing):
        gaps.append(f"{counted(unasked, 'notebook')} that {'was' if unasked == 1 else 'were'} not asked for")
    missing = "; ".join(filter(None, gaps)) or "nothing that was asked for"
    return [
        *([] if linked else [Marked(f"**To paste**: {paste}.")]),
        *break_even_sentences(report, told),
        Marked(f"**How sure**: {'; '.join(filter(None, sure))}."),
        Marked(f"**Memory**: {memory_words((*report.runs, *measured.runs), report)}."),
        Marked(f"**Not measured**: [{missing}](#what-was-not-measured)."),
        Marked(f"**Time**: {_time(report, measured)}."),
    ]


def setting_sentences(report: ReportSummary, measured: Measured, machine: Mapping[str, Any]) -> list[Marked]:
    """Return how long epochs were, and on what machine, when and with what limit all was measured."""
    named = escape(_machine(report, machine)) if machine else "nothing was measured here yet"
    days = sorted({run.started_at[:10] for run in (*report.runs, *measured.runs) if run.started_at})
    when = [escape(" to ".join(dict.fromkeys((days[0], days[-1]))))] if days else []
    limit = [f"with a limit of {minutes(report.budget_s)}"] if report.budget_s else []
    asked = [Marked(f"**Measured**: {', '.join(said)}.")] if (said := [*when, *limit]) else []
    return [*_epochs(report), Marked(f"**Machine**: {named}."), *asked]


def _machine(report: ReportSummary, machine: Mapping[str, Any]) -> str:
    """Return the machine's name, the versions of the frameworks that were measured on it, and what users have set."""
    used = [
        f"{NAMES[name]} {versions[name]}"
        for name, versions in report.runs.versions.items()
        if name in FRAMEWORKS and name in versions
    ]
    variables = machine_parts(machine)[VARIABLES]
    said = [
        machine_name(machine),
        used and listed(sorted(used)),
        variables and f"set in the environment: {variables}",
    ]
    return "; ".join(filter(None, said))


def _epochs(report: ReportSummary) -> list[Marked]:
    """Return how long the epochs are from which the gains of trainings are: a short one is not a day's training."""
    told = [trial for verdict in compared(report) for trial in (verdict.baseline, verdict.candidate)]
    trained = [trial for trial in told if not trial.phase.calls]
    if not trained:
        return []
    steps, images = (
        sorted({getattr(trial, field) for trial in trained})
        for field in ("steps_per_epoch", "images_per_epoch")
    )
    only = "only " * (steps[-1] < FEW_STEPS)
    longer = any(run.trains and run.trial.images_per_epoch > images[-1] for run in report.runs)
    end = "" if longer else "; epochs of more images were not measured"
    size = f"{only}{_span(images, 'image')} ({_span(steps, 'step')})"
    return [Marked(f"**Epochs**: {size} where there is an interval{end}.")]


def _span(numbers: Sequence[int], noun: str) -> str:
    if numbers[0] == numbers[-1]:
        return f"{numbers[0]:,} {noun}{'s' * (numbers[0] != 1)}"
    return f"{numbers[0]:,} to {numbers[-1]:,} {noun}s"


def _time(report: ReportSummary, measured: Measured) -> str:
    """Return how long measuring took."""
    took = [ran.seconds for ran in report.notebooks if ran.name != SUMMARY and ran.seconds is not None]
    time = minutes(sum(took) + measured.took_s) if took or measured.took_s else NOT_KNOWN
    return f"[{time}](#notebooks){' of measuring' * (time != NOT_KNOWN)}"
