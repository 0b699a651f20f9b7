"""The front page's first sentence: how many times as fast training is here, and with what. Computes no speed-up."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import NAMES, counted, listed, model_of, percent, three
from trainspeed.core.machine_text import cores_in_words, device_is_core
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import accuracy_in_words, interval_of, leaning_of, size_of, switched_on
from trainspeed.judge.verdict import MARGIN, MIN_BLOCKS, Outcome
from trainspeed.show.no_answer import nothing_measured
from trainspeed.snippets.code import program_anchor
from trainspeed.studies.summary.accuracy import gain_accuracy, switch_accuracy
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed, unconfirmed_at_first
from trainspeed.studies.summary.gains import plain_images_per_s, study_link
from trainspeed.studies.summary.undecided import undecided_sentences
from trainspeed.studies.summary.worth import (
    confirmed_shares,
    measured_as_set,
    not_kept_words,
    possible,
    worthwhile,
)

MOST = 3  # sentences on recipes
MOST_NAMED = 4  # switches of one: it is read on a phone, too
UNDECIDED = "#undecided-and-what-would-decide-it"
PASTED = ("layout", "precision", "compile")  # factors whose gain is a line or two in a program


class HeadlineOutcome(StrEnum):
    """What a report found, in a word; the first two are from fresh blocks."""

    TOGETHER = "together"  # all that a search kept
    CONFIRMED = "confirmed"  # a single switch
    UNCONFIRMED = "found once"  # and not in fresh blocks, or these decide nothing
    NOTHING = "nothing faster"  # all that was compared is decided
    UNDECIDED = "undecided"


@dataclass(frozen=True, kw_only=True)
class Gain:
    """A gain that the headline tells.

    Attributes:
        verdict: The one whose size is told: of fresh blocks, where these confirm it.
        again: What became of it in fresh blocks, for a single switch; None where it was not measured again.
    """

    verdict: Verdict
    finding: HeadlineOutcome
    again: Confirmed | None = None

    @property
    def studies(self) -> set[str]:
        """The studies whose runs it is from: that which found it, and fresh blocks, whatever they said."""
        both = (self.again.first, self.again.again) if self.again else ()
        return {verdict.study for verdict in (self.verdict, *both) if verdict}


def headline_gains(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[Gain]:
    """Return the gains of the headline: what pays together, the largest first, or else the best gain; may be none."""
    if kept := sorted(report.kept, key=lambda verdict: -verdict.speedup):
        return [Gain(verdict=verdict, finding=HeadlineOutcome.TOGETHER) for verdict in kept[:MOST]]
    best = best_gain(report, confirmed)
    if best is None:
        return []
    again = _again(best, confirmed)
    if again and again.holds:
        return [Gain(verdict=again.again, finding=HeadlineOutcome.CONFIRMED, again=again)]
    return [Gain(verdict=best, finding=HeadlineOutcome.UNCONFIRMED, again=again)]


def finding_of(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> HeadlineOutcome:
    """Return what a report found, in a word."""
    if told := headline_gains(report, confirmed):
        return told[0].finding
    decided = bool(report.headlines or report.recipes) and not _open(report) and not _doubtful(confirmed)
    return HeadlineOutcome.NOTHING if decided else HeadlineOutcome.UNDECIDED


def best_gain(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> Verdict | None:
    """Return the largest gain by a single switch: of those that fresh blocks confirmed, or else did not look at.

    The largest at first, as choosing among the fresh blocks, too, would be luck once more. One that these do not show
    is none. A single convolution is no training, and counts only where none was compared.
    """
    lost = unconfirmed_at_first(confirmed)
    gains = [verdict for verdict in _gains(report) if verdict not in lost]
    held = [c.first for c in confirmed if c.holds]
    return next((verdict for verdict in gains if verdict in held), next(iter(gains), None))


def to_paste(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[tuple[Trial, Trial]]:
    """Return (plain trial, the trial with what was switched on) of what the headline names, where it was confirmed."""
    if kept := sorted(report.kept, key=lambda verdict: -verdict.speedup):
        return [(verdict.baseline, verdict.candidate) for verdict in kept]
    best = best_gain(report, confirmed)
    held = _again(best, confirmed)
    if not (held and held.holds) or best.candidate.phase.calls or best.factor not in PASTED:
        return []
    return [(best.baseline, best.candidate)]


def confirmed_levers(report: ReportSummary) -> Mapping[Trial, Collection[str]]:
    """Return the levers that each search confirmed beside the others, as `snippets.code.program_blocks` takes them."""
    found = {verdict.candidate: confirmed_shares(verdict, report.verdicts) for verdict in report.kept}
    return {trial: levers for trial, levers in found.items() if levers is not None}


def nothing_to_paste(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> Marked:
    """Return why there is no code to paste where `to_paste` has none."""
    best = best_gain(report, confirmed)
    held = _again(best, confirmed)
    if held and held.holds:
        name = escape(best.row.versus(best.baseline, best.candidate))
        page = study_link(best.study, report.place_of(best))
        return Marked(
            f"What fresh blocks confirmed, {name}, is not a line of a program: the page of its study, {page}, has it."
        )
    return Marked(
        "No switches that pay together were found, and no single gain over a plain script was confirmed in fresh "
        "blocks: there is nothing to paste."
        + (" The lines of each gain are on its study's page." if best else "")
    )


def headline(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[Marked]:
    """Return what a reader has to know first, as Markdown: the total gain of what pays together, or else the best gain.

    Args:
        confirmed: What became of some of the gains in fresh blocks.
    """
    told = headline_gains(report, confirmed)
    said = [
        _recipe(g.verdict, report)
        if g.finding is HeadlineOutcome.TOGETHER
        else _gain(g, report, several=sum(one.holds for one in confirmed) > 1)
        for g in told
    ]
    return said or [_nothing(report, confirmed)]


def _again(verdict: Verdict | None, confirmed: Sequence[Confirmed]) -> Confirmed | None:
    """Return what became of a verdict in fresh blocks; None where there were none."""
    return next((c for c in confirmed if c.first == verdict and c.again), None)


def _recipe(verdict: Verdict, report: ReportSummary) -> Marked:
    """Return in a line what pays together; what it starts from and the points of accuracy are in the list below."""
    size = (verdict.baseline.factor(name).words(verdict.baseline) for name in ("batch_size", "image_size"))
    where = escape(", ".join([_place(verdict.candidate), *size, *_cores(verdict, report)]))
    blocks = f"({interval_of(verdict)}) in {counted(verdict.blocks, 'fresh block')}"
    switched = switched_on(verdict.baseline, verdict.candidate)
    named = switched[:MOST_NAMED] + [f"{len(switched) - MOST_NAMED} more"] * (len(switched) > MOST_NAMED)
    lines = f"[code](#{program_anchor(verdict.candidate)})"
    if len(switched) > 1 and measured_as_set(verdict, report.verdicts, report.runs):
        lines += "; measured as a set"
    points = gain_accuracy(verdict, report)
    accuracy = accuracy_in_words(points and points.judgement)
    leaning = leaning_of(points, points.quantity) if points else ""
    accuracy += leaning and f", {leaning}"
    return Marked(
        f"{where}: **{size_of(verdict, times='')} times as fast** {blocks} with "
        f"{escape(listed(named))} ({lines}); accuracy {accuracy}."
    )


def _cores(verdict: Verdict, report: ReportSummary) -> list[str]:
    """Return on how many CPU cores both sides are, where they are on equally many and no GPU was used."""
    if not device_is_core(report.machine):
        return []
    cores = {cores_in_words(report.machine, trial) for trial in (verdict.baseline, verdict.candidate)}
    return [f"on {one}" for one in cores] if len(cores) == 1 else []


def _place(trial: Trial) -> str:
    return f"{NAMES[trial.framework]}, {model_of(trial.model)}"


def _gain(gain: Gain, report: ReportSummary, *, several: bool) -> Marked:
    """Return a gain, with its size in fresh blocks where they confirm it: at first the largest is partly luck.

    `several` is whether fresh blocks confirmed others, too.
    """
    first = gain.again.first if gain.again else gain.verdict
    plain = plain_images_per_s(first, report)
    at_first = "" if plain is None else f", plain {three(plain)} images/s"
    size = f"**{size_of(gain.verdict, times='')} times as fast** ({interval_of(gain.verdict)}){at_first}"
    name = escape(", ".join([gain.verdict.name, *_cores(gain.verdict, report)]))
    largest = " Of those confirmed, it was the largest at first."
    largest = largest if several and gain.finding is HeadlineOutcome.CONFIRMED else ""
    words = escape(
        switch_accuracy(first, report) + not_kept_words(gain.verdict, report.kept, report.searches)
    )
    return Marked(f"{size}: {name}; {how_sure(gain.finding, gain.verdict, gain.again)}{words}.{largest}")


def how_sure(finding: HeadlineOutcome, verdict: Verdict, again: Confirmed | None) -> str:
    """Return how sure a gain of the headline is, in words.

    Args:
        verdict: The one whose size is told. What a search keeps was measured once, in blocks that chose none of it.
        again: What became of it in fresh blocks; None where it was not measured again.
    """
    if finding is HeadlineOutcome.TOGETHER:
        return f"measured in {counted(verdict.blocks, 'fresh block')}, none of which chose it"
    if finding is not HeadlineOutcome.UNCONFIRMED:
        return f"{again.word if again else 'confirmed'} in fresh blocks"
    if again is None:
        return "found once, and not yet confirmed in fresh blocks"
    return f"found once, and in fresh blocks {again.word}"


def compared(report: ReportSummary) -> list[Verdict]:
    """Return the verdicts that a headline is about: on switches of a training, and on all of a search together."""
    searched = (
        verdict for verdict in report.recipes if verdict.quantity == "time" and verdict.low is not None
    )
    return [*report.headlines, *searched]


def no_gain_texts(compared: int, undecided: int, gains: int, *, fresh_blocks: str) -> tuple[str, str]:
    """Return that nothing was found to be faster, and in how many comparisons: two halves of a sentence.

    Args:
        compared: How many comparisons had enough blocks: see `compared`; `undecided` of them are so.
        gains: How many were faster at first, and then refuted.
        fresh_blocks: What the fresh blocks are called, with a link where there is one.
    """
    if not compared:
        return "Nothing is decided yet", f"no switch was compared in {MIN_BLOCKS} blocks or more"
    why = counted(compared, "comparison") + (f", {undecided} of them undecided" if undecided else "")
    if gains:
        first = f"what was found first ({counted(gains, 'gain')}) was not confirmed in {fresh_blocks}"
        return "Nothing was confirmed that trains faster here", f"{first}; {why}"
    return (
        f"Nothing was found that trains faster here than a plain script by more than {percent(MARGIN)}",
        why,
    )


def _nothing(report: ReportSummary, confirmed: Sequence[Confirmed]) -> Marked:
    if nothing := nothing_measured(report.runs):
        return nothing
    judged = compared(report)
    undecided = sum(verdict.outcome is Outcome.UNDECIDED for verdict in judged)
    claim, why = no_gain_texts(
        len(judged),
        undecided,
        len(_gains(report)),
        fresh_blocks="[fresh blocks](#measured-again-in-fresh-blocks)",
    )
    found = f"{claim}: {why}."
    nothing = not judged and not report.recipes
    if not nothing and not _open(report) and not _doubtful(confirmed):
        return Marked(f"{found} Leave your script as it is.")
    rest = "it" if nothing else "the rest"
    decides = f" [What would decide {rest}]({UNDECIDED})." if undecided_sentences(report) else ""
    return Marked(f"{found}{_nearest(report)}{decides}")


def _doubtful(confirmed: Sequence[Confirmed]) -> bool:
    """Return whether fresh blocks leave open what was decided at first."""
    return any(one.unconfirmed and not one.refuted for one in confirmed)


def nearest_gain(report: ReportSummary) -> Verdict | None:
    """Return which undecided switch may well be a gain: the largest whose interval lies above 1; None for none.

    What a search kept comes first: it is over a plain script, as it is written.
    """
    above = [verdict for verdict in _open(report) if verdict.low is not None and verdict.low > 1]
    above = possible(above, report.verdicts, report.machine)
    return max(above, key=lambda verdict: (verdict.factor == RECIPE, verdict.speedup), default=None)


def _nearest(report: ReportSummary) -> str:
    best = nearest_gain(report)
    if best is None:
        return ""
    return f" Nearest to it, and undecided: {escape(best.name)}, {size_of(best)} ({interval_of(best)})."


def _gains(report: ReportSummary) -> list[Verdict]:
    """Return the gains of what a headline is about, the largest first: trainings, or else convolutions."""
    return worthwhile(report.headlines, report.verdicts, report.machine)


def _open(report: ReportSummary) -> list[Verdict]:
    """Return the verdicts of what a headline is about, and of all switches together, that are undecided."""
    times = [*report.headlines, *(verdict for verdict in report.recipes if verdict.quantity == "time")]
    return [verdict for verdict in times if verdict.outcome is Outcome.UNDECIDED]
