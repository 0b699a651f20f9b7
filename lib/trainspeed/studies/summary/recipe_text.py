"""The recipe in words, rows and a verdict. Decides nothing: `recipe_search` has."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import counted, fixed, interval
from trainspeed.core.names import NAMES
from trainspeed.core.run import Role, Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import measured
from trainspeed.judge.verdict import Judgement
from trainspeed.studies.summary.recipe import Search, Step
from trainspeed.studies.summary.switches import Switch

QUESTION = "What do all switches that were kept bring together?"
STEP_COLUMNS = ["where", "switch", "alone", "combined", "accuracy", "decision"]
CHAIN_COLUMNS = ["where", "switch", "speedup", "low", "high"]


def where(search: Search) -> str:
    """Return what a search is about: framework and model."""
    return f"{NAMES[search.start.framework]}, {search.start.model}"


def plain_sentence(search: Search) -> str:
    """Say what the baseline is, and what is tried on it."""
    start = ", ".join(search.start.describe())
    if not search.switches:
        return (
            f"{start}: no study has found a faster setting for it, so there is nothing to put together. "
            "More blocks decide more; `try_also` tries a setting that no study compared."
        )
    words = ", ".join(f"{switch.words}{_alone(switch)}" for switch in search.switches)
    return f"{start}: to be switched on in this order: {words}."


def _alone(switch: Switch) -> str:
    if switch.found is None:
        return " (no verdict calls it faster)"
    return f" ({switch.found:.2f}x alone{f' with {switch.model}' if switch.model else ''})"


def total_sentence(search: Search) -> str:
    """Say what all kept switches bring together, measured in fresh blocks."""
    kept = [step.switch.words for step in search.kept]
    tried = ", ".join(f"{step.switch.words} ({step.decision})" for step in search.steps)
    if not search.switches:
        return f"{where(search)}: nothing to switch on was found."
    if not kept and len(search.steps) < len(search.switches):
        far = f" It got as far as {tried}." if tried else ""
        return f"{where(search)}: the recipe was not measured here.{far}"
    if not kept:
        return f"{where(search)}: no switch was kept. Tried: {tried}."
    together, switches = search.total(), " + ".join(kept)
    if together is None or together.speedup is None:
        failed = search.failed
        why = f"{failed.status}: {failed.reason}" if failed else "the fresh blocks are missing"
        return f"{where(search)}: kept {switches}, but not confirmed: {why}."
    blocks = counted(together.blocks, "fresh block")
    accuracy = accuracy_words(search.total(quantity="accuracy"))
    return f"{where(search)}, {switches}: all together {measured(together)}. {blocks}. {accuracy}."


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
            "alone": _found(step.switch),
            "combined": "—" if step.time is None else _interval(step.time, "x", 2),
            "accuracy": "—" if step.accuracy is None else _interval(step.accuracy, " points", 1),
            "decision": _decision(step),
        }
        for search in searches
        for step in search.steps
    ]
    return pd.DataFrame(rows, columns=STEP_COLUMNS)


def _found(switch: Switch) -> str:
    size = "—" if switch.found is None else f"{switch.found:.2f}x"
    return f"{size} ({switch.model})" if switch.model else size


def _interval(judgement: Judgement, unit: str, decimals: int) -> str:
    ends = "" if judgement.low is None else f" ({interval(judgement.low, judgement.high, decimals)})"
    return fixed(judgement.speedup, decimals, unit) + ends


def _decision(step: Step) -> str:
    return f"{step.decision}: {step.reason}" if step.reason else str(step.decision)


def chain_rows(searches: Sequence[Search]) -> pd.DataFrame:
    """Return a row per kept switch: the speed-up over the plain trial with it and all before it on.

    A switch whose fresh blocks failed shares the row of the next one; without the last, a search has no row.
    """
    rows = []
    for search in searches:
        mine, since = [], []
        for number, step in enumerate(search.kept, 1):
            judgement = search.total(number)
            since.append(step.switch.words)
            if judgement is not None and judgement.speedup is not None:
                size = {"speedup": judgement.speedup, "low": judgement.low, "high": judgement.high}
                mine.append({"where": where(search), "switch": " + ".join(since), **size})
                since = []
        rows += [] if since else mine
    return pd.DataFrame(rows, columns=CHAIN_COLUMNS)


def recipe_verdicts(searches: Sequence[Search], runs: Sequence[Run]) -> list[Verdict]:
    """Return a verdict on everything together for each search that kept something, in time and accuracy."""
    found = []
    for search in searches:
        for quantity in ("time", "accuracy"):
            judgement = search.total(quantity=quantity)
            mine = [run for run in runs if run.role is Role.RECIPE]
            if judgement is None or not judgement.blocks or not mine:
                continue
            found.append(
                Verdict(
                    session=mine[0].session,
                    study=mine[0].study,
                    question=QUESTION,
                    quantity=quantity,
                    factor=RECIPE,
                    baseline=search.start.spec,
                    candidate=search.chain[-1].spec,
                    judgement=judgement,
                    sentence=f"{where(search)}: all together {measured(judgement, quantity)}.",
                )
            )
    return found
