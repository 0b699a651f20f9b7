"""The front page's first sentence: how many times as fast training is here, and with what. Computes no speed-up."""

from __future__ import annotations

from collections.abc import Sequence

from trainspeed.core.format import NAMES, counted, model_of, percent
from trainspeed.core.markdown import Marked, escape
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import interval_of
from trainspeed.judge.verdict import MARGIN, Outcome
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed

MOST = 3  # sentences on recipes
PASTED = ("layout", "precision", "compile")  # factors whose gain is a line or two in a program


def best_gain(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> Verdict | None:
    """Return the largest gain by a single switch that fresh blocks did not refute, those that they confirmed first.

    A single convolution is no training, and counts only where nothing was trained.
    """
    again = {c.first: c for c in confirmed if c.again}
    lost = [first for first, one in again.items() if not one.holds]
    gains = [verdict for verdict in report.gains if verdict not in lost]
    gains = [verdict for verdict in gains if not verdict.candidate.phase.calls] or gains
    return next((verdict for verdict in gains if verdict in again), gains[0] if gains else None)


def to_paste(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[tuple[Trial, Trial]]:
    """Return (plain trial, the trial with what was switched on) of what the headline names, where it was confirmed."""
    if kept := report.kept:
        return [(verdict.baseline, verdict.candidate) for verdict in kept]
    best = best_gain(report, confirmed)
    sure = best is not None and any(c.first == best and c.holds for c in confirmed)
    if not sure or best.candidate.phase.calls or best.factor not in PASTED:
        return []
    return [(best.baseline, best.candidate)]


def headline(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[Marked]:
    """Return what a reader has to know first, as Markdown: the total gain of what pays together, or else the best gain.

    Args:
        confirmed: What became of some of the gains in fresh blocks.
    """
    kept = sorted((v for v in report.kept if v.quantity == "time"), key=lambda v: -v.speedup)
    if kept:
        return [_recipe(verdict) for verdict in kept[:MOST]]
    if best := best_gain(report, confirmed):
        return [_gain(best, sure=any(c.first == best and c.again for c in confirmed))]
    return [Marked(escape(_nothing(report)))]


def _times(verdict: Verdict) -> str:
    return f"**{verdict.speedup:.2f} times as fast** ({interval_of(verdict)})"


def _recipe(verdict: Verdict) -> Marked:
    trial = verdict.candidate
    where = escape(f"{NAMES[trial.framework]}, {model_of(trial.model)}")
    return Marked(
        f"{where}: {_times(verdict)} with [these lines](#code-to-paste), confirmed in fresh blocks."
    )


def _gain(verdict: Verdict, *, sure: bool) -> Marked:
    remark = "confirmed in fresh blocks" if sure else "found once, and not yet confirmed in fresh blocks"
    return Marked(f"{_times(verdict)}: {escape(verdict.name)}; {remark}. It is the best single switch here.")


def _nothing(report: ReportSummary) -> str:
    judged = [verdict for verdict in report.switches if verdict.low is not None]
    undecided = sum(verdict.outcome is Outcome.UNDECIDED for verdict in judged)
    if not judged and not report.recipes:
        return "Nothing is decided yet: no switch was compared in 6 blocks or more."
    rest = f", and {undecided} more undecided" if undecided else ""
    return (
        f"Nothing was found that trains faster here by more than {percent(MARGIN)}: "
        f"{counted(len(judged), 'switch', 'switches')} compared{rest}. Leave your script as it is."
    )
