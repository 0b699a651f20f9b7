"""What fresh blocks say of the accuracy of all that a search kept, in words, and what would decide it."""

from __future__ import annotations

from trainspeed.core.coverage import NOTHING_CHOSEN
from trainspeed.core.format import NAMES, listed, model_of
from trainspeed.judge.blocks_needed import blocks_for_margin
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.equivalence import Equality, equality_of, margin_of
from trainspeed.judge.next_step import NextStep, more_seconds
from trainspeed.judge.text import accuracy_in_words, size_in_short, uneven_in_words
from trainspeed.show.answer import accuracy_blocks
from trainspeed.show.next_steps import how_to_measure
from trainspeed.studies.summary.collect import ReportSummary


def gain_accuracy(verdict: Verdict, report: ReportSummary) -> Verdict | None:
    """Return the verdict on accuracy beside one on the time of all that a search kept; None where there is none."""
    pair = (verdict.study, verdict.baseline, verdict.candidate)
    points = (v for v in report.recipes if v.quantity == "accuracy")
    return next((v for v in points if (v.study, v.baseline, v.candidate) == pair), None)


def switch_accuracy(verdict: Verdict, report: ReportSummary) -> str:
    """Return what is known of the accuracy beside a gain in time by a precision, to be put after it; else nothing."""
    if verdict.factor != "precision":
        return ""
    pair = (verdict.study, verdict.baseline, verdict.candidate)
    points = (v for v in report.verdicts if v.quantity == "accuracy")
    found = next((v for v in points if (v.study, v.baseline, v.candidate) == pair), None)
    return f"; {accuracy_words(found)}" if found else "; accuracy not compared"


def accuracy_words(points: Verdict) -> str:
    """Return whether an accuracy was kept, as the page of the search says it, with the size and the interval."""
    size = f" ({size_in_short(points, points.quantity)})" if points.blocks else ""
    return f"accuracy {accuracy_in_words(points.judgement)}{size}"


def open_accuracy_sentences(report: ReportSummary) -> list[str]:
    """Return what would decide whether accuracies were kept, where that is undecided: sentences for each study."""
    kept = [points for verdict in report.kept if (points := gain_accuracy(verdict, report))]
    others = [v for v in report.verdicts if v.quantity == "accuracy" and v.low is not None]
    several = [*kept, *(v for v in others if v not in report.recipes and not v.is_control)]
    open_ = [v for v in several if equality_of(v.judgement) is Equality.OPEN and v.blocks]
    needed = {points: blocks_for_margin(points) for points in open_}
    sentences = []
    for study in dict.fromkeys(points.study for points in open_):
        own = [points for points in open_ if points.study == study]
        if near := [points for points in own if needed[points]]:
            blocks = max(needed[points] for points in near)
            decided = _fresh_blocks(near, blocks, report) if near[0] in kept else accuracy_blocks(blocks)
            sentences.append(f"{study}: {_undecided(near)}. {decided}.")
        uneven = {points: why for points in own if (why := uneven_in_words(points.judgement))}
        sentences += [f"{study}: {_open([points])}: {why}." for points, why in uneven.items()]
        if far := [points for points in own if not needed[points] and points not in uneven]:
            sentences.append(f"{study}: {_undecided(far)}; no reasonable number of blocks here decides it.")
    return sentences


def _fresh_blocks(near: list[Verdict], blocks: int, report: ReportSummary) -> str:
    """Return that so many blocks of a search decide accuracies, how long that takes, and the command."""
    study = near[0].study
    runs = report.runs.of_study(study)
    step = NextStep(open=tuple(near), near=(), blocks=blocks, more_s=more_seconds(near, runs, blocks))
    asked = report.coverage.get(study), report.choices.get(study, NOTHING_CHOSEN)
    return how_to_measure(step, study, runs.wall_s, *asked)


def _open(several: list[Verdict]) -> str:
    """Return that accuracies are undecided, with their intervals."""
    names = [
        f"{NAMES[v.baseline.framework]}, {model_of(v.baseline.model)} ({size_in_short(v, v.quantity)})"
        for v in several
    ]
    return f"the accuracy of {listed(names)} is undecided"


def _undecided(several: list[Verdict]) -> str:
    """Return the same, and above what each interval would have to lie."""
    margin = margin_of(several[0].judgement)
    interval = "its whole interval" if len(several) == 1 else "each whole interval"
    return f"{_open(several)}: {interval} would have to lie above -{margin:g} points"
