"""The recipe in words, rows and a verdict. Decides nothing: `recipe_search` has."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from trainspeed.comparison import Verdict
from trainspeed.recipe_search import CHAIN, Decision, Search, Step
from trainspeed.run import Run
from trainspeed.verdict import Judgement
from trainspeed.wording import NAMES, describe, measured

QUESTION = "What do all switches that were kept bring together?"
FACTOR = "recipe"
STEP_COLUMNS = ["where", "switch", "alone", "combined", "accuracy", "decision"]
CHAIN_COLUMNS = ["where", "switch", "speedup", "low", "high"]


def where(search: Search) -> str:
    """Return what a search is about: framework and model."""
    return f"{NAMES[search.start.framework]}, {search.start.model}"


def plain_sentence(search: Search) -> str:
    """Say what the baseline is, and what was tried on it."""
    start = ", ".join(describe(search.start))
    if not search.switches:
        return (
            f"{start}: no study has found a faster setting for it, so there is nothing to put together. "
            "More blocks decide more; `try_also` tries a setting that no study compared."
        )
    words = ", ".join(f"{switch.words}{_alone(switch.found)}" for switch in search.switches)
    return f"{start}: tried, in this order: {words}."


def _alone(found: float | None) -> str:
    return " (no study compared it)" if found is None else f" ({found:.2f}x alone)"


def total_sentence(search: Search) -> str:
    """Say what all kept switches bring together, measured in fresh blocks."""
    kept = [step.switch.words for step in search.steps if step.decision is Decision.KEPT]
    if not kept and len(search.steps) < len(search.switches):
        return f"{where(search)}: the recipe was not measured here."
    if not kept:
        tried = f" Tried: {', '.join(s.switch.words for s in search.steps)}." if search.steps else ""
        return f"{where(search)}: nothing to switch on was found.{tried}"
    together, switches = search.total(), " + ".join(kept)
    if together is None or together.speedup is None:
        return f"{where(search)}: {switches} were kept, but not confirmed: the fresh blocks are missing."
    accuracy = search.total(quantity="accuracy")
    said = f" {accuracy_words(accuracy)}."
    return f"{where(search)}: all together {measured(together)} ({switches}; {together.blocks} fresh blocks).{said}"


def accuracy_words(accuracy: Judgement | None) -> str:
    """Say what became of the accuracy."""
    if accuracy is None or accuracy.speedup is None:
        return "Accuracy is not compared: the models had not learned enough to tell"
    return f"Accuracy: {measured(accuracy, 'accuracy')}"


def step_rows(searches: Sequence[Search]) -> pd.DataFrame:
    """Return a row per switch that was tried: found alone, in combination, accuracy, decision."""
    rows = [
        {
            "where": where(search),
            "switch": step.switch.words,
            "alone": "—" if step.switch.found is None else f"{step.switch.found:.2f}x",
            "combined": "—" if step.time is None else _interval(step.time, "x", 2),
            "accuracy": "—" if step.accuracy is None else _interval(step.accuracy, " points", 1),
            "decision": _decision(step),
        }
        for search in searches
        for step in search.steps
    ]
    return pd.DataFrame(rows, columns=STEP_COLUMNS)


def _interval(judgement: Judgement, unit: str, decimals: int) -> str:
    if judgement.speedup is None:
        return "—"
    ends = (
        "" if judgement.low is None else f" ({judgement.low:.{decimals}f} to {judgement.high:.{decimals}f})"
    )
    return f"{judgement.speedup:.{decimals}f}{unit}{ends}"


def _decision(step: Step) -> str:
    return f"{step.decision}: {step.reason}" if step.reason else str(step.decision)


def chain_rows(searches: Sequence[Search]) -> pd.DataFrame:
    """Return a row per kept switch: the speed-up over the plain trial with it and all before it on."""
    rows = []
    for search in searches:
        kept = [step.switch.words for step in search.steps if step.decision is Decision.KEPT]
        for number, words in enumerate(kept, 1):
            judgement = search.total(number)
            if judgement is not None and judgement.speedup is not None:
                size = {"speedup": judgement.speedup, "low": judgement.low, "high": judgement.high}
                rows.append({"where": where(search), "switch": words, **size})
    return pd.DataFrame(rows, columns=CHAIN_COLUMNS)


def recipe_verdicts(searches: Sequence[Search], runs: Sequence[Run]) -> list[Verdict]:
    """Return a verdict on everything together for each search that kept something, in time and accuracy."""
    found = []
    for search in searches:
        for quantity in ("time", "accuracy"):
            judgement = search.total(quantity=quantity)
            mine = [run for run in runs if run.label == CHAIN]
            if judgement is None or not judgement.blocks or not mine:
                continue
            found.append(
                Verdict(
                    session=mine[0].session,
                    study=mine[0].study,
                    question=QUESTION,
                    quantity=quantity,
                    factor=FACTOR,
                    baseline=search.start,
                    candidate=search.chain[-1],
                    judgement=judgement,
                    sentence=f"{where(search)}: all together {measured(judgement, quantity)}.",
                )
            )
    return found
