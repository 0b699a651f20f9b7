"""The way from a plain setting to all that a search kept, as bars: read off the verdicts. Decides nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from trainspeed.core.format import NAMES, listed, model_of
from trainspeed.core.trial import Trial
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import size_of, switched_in_short, switched_on
from trainspeed.show.waterfall import QUESTION, REST, STEP, TOTAL, WAY_COLUMNS
from trainspeed.studies.summary.collect import ReportSummary
from trainspeed.studies.summary.confirmation import Confirmed
from trainspeed.studies.summary.headline import HeadlineOutcome, headline_gains
from trainspeed.studies.summary.worth import shares

MOST = 3  # recipes, as in the headline
ALL_TOGETHER = "all that was kept"
SMALLEST_REST = 1.005  # what is less, either way, is written as 1.00


def recipes(report: ReportSummary) -> list[Verdict]:
    """Return the searches whose way is drawn, the largest speed-up first."""
    return sorted(report.kept, key=lambda verdict: -verdict.speedup)[:MOST]


def waterfall_rows(report: ReportSummary) -> pd.DataFrame:
    """Return the bars from plain to best, as `show.waterfall.plot_way` takes them, the largest step first.

    A step is what fresh blocks lose without that switch, all others on. What the steps leave of the total is the last
    bar but one: smaller switches, which have no verdict of their own, and what several do only together. Where no
    switch was left out by itself there is the total alone; the totals of several such searches share a panel.
    """
    rows = []
    ways = {recipe: shares(recipe, report.verdicts) for recipe in recipes(report)}
    if len(ways) > 1 and not any(ways.values()):
        totals = [
            (ALL_TOGETHER, _place(one.candidate), TOTAL, 1.0, one.speedup, one.low, one.high) for one in ways
        ]
        return pd.DataFrame(totals, columns=WAY_COLUMNS)
    for recipe, steps in ways.items():
        place = _place(recipe.candidate)
        so_far = 1.0
        for step in steps:
            ends = (None if end is None else so_far * end for end in (step.low, step.high))
            rows.append((place, f"+ {_words(step)}", STEP, so_far, so_far * step.speedup, *ends))
            so_far *= step.speedup
        rest = recipe.speedup / so_far
        if steps and abs(math.log(rest)) > math.log(SMALLEST_REST):
            words = "+ the rest, and together" if rest > 1 else "less: overlap"
            rows.append((place, words, REST, so_far, recipe.speedup, None, None))
        names = switched_on(recipe.baseline, recipe.candidate)
        whole = f"+ {names[0]}" if len(names) == 1 else "all together"
        rows.append((place, whole, TOTAL, 1.0, recipe.speedup, recipe.low, recipe.high))
    return pd.DataFrame(rows, columns=WAY_COLUMNS)


def waterfall_title(report: ReportSummary) -> str:
    """Return what the searches found: how many times as fast with what they kept, by number or name."""
    kept = recipes(report)
    if len(kept) == 1:
        return f"{size_of(kept[0], times='')} times as fast with {_kept(kept[0])}"
    found = [f"{size_of(v, times='')} times as fast in {_place(v.candidate)} ({_kept(v)})" for v in kept]
    return f"What was kept: {listed(found)}" if found else QUESTION


def _kept(recipe: Verdict) -> str:
    return switched_in_short(recipe.baseline, recipe.candidate)


def single_gains(report: ReportSummary, confirmed: Sequence[Confirmed] = ()) -> list[Verdict]:
    """Return the gain of the headline where it is a single switch, to be drawn in place of a way; may be none."""
    told = headline_gains(report, confirmed)
    return [gain.verdict for gain in told if gain.finding is not HeadlineOutcome.TOGETHER]


def _words(step: Verdict) -> str:
    """Return what the switch is called: by what both sides differ in, or else by the value that is better."""
    return (
        step.row.versus(step.baseline, step.candidate)
        if step.row.contrast
        else step.row.words(step.candidate)
    )


def _place(trial: Trial) -> str:
    return f"{NAMES[trial.framework]}, {model_of(trial.model)}"
