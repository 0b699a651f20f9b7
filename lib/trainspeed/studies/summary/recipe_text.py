"""The recipe in words, rows and a verdict. Decides nothing: `recipe` has."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import MISSING, NAMES, counted, fixed, interval
from trainspeed.core.run import Role, Run
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import measured
from trainspeed.judge.verdict import MIN_BLOCKS, Judgement
from trainspeed.studies.summary.recipe import Search

RECIPE_QUESTION = "What do all switches that were kept bring together?"
STEP_COLUMNS = ["where", "switch", "alone", "combined", "accuracy", "decision"]
CHAIN_COLUMNS = ["where", "switch", "speedup", "low", "high"]


def where(search: Search) -> str:
    """Return what a search is for: framework and model."""
    return f"{NAMES[search.start.framework]}, {search.start.model}"


def plain_sentence(search: Search) -> str:
    """Return what the baseline is, and what is tried on it."""
    start = ", ".join(search.start.describe())
    if not search.switches and not search.compared:
        return f"{start}: {_not_compared()}."
    if not search.switches:
        return (
            f"{start}: no study has found a faster setting for it, so there is nothing to put together. "
            "More blocks decide more; `try_also` tries a setting that no study compared."
        )
    switches = []
    for switch in search.switches:
        model = f" with {switch.model}" if switch.model else ""
        alone = "no verdict calls it faster" if switch.alone is None else f"{switch.alone:.2f}x alone{model}"
        switches.append(f"{switch.words} ({alone})")
    return f"{start}: to be switched on in this order: {', '.join(switches)}."


def _not_compared() -> str:
    return f"nothing was compared in {MIN_BLOCKS} blocks or more, which a verdict needs"


def total_sentence(search: Search) -> str:
    """Return what all kept switches bring together, measured in fresh blocks."""
    kept = [step.switch.words for step in search.kept]
    tried = ", ".join(f"{step.switch.words} ({step.decision})" for step in search.steps)
    if not search.switches and not search.compared:
        return f"{where(search)}: {_not_compared()}, so what to switch on is not known."
    if not search.switches:
        return f"{where(search)}: nothing to switch on was found."
    if not kept and len(search.steps) < len(search.switches):
        so_far = f" It got as far as {tried}." if tried else ""
        return f"{where(search)}: the recipe was not measured here.{so_far}"
    if not kept:
        return f"{where(search)}: no switch was kept. Tried: {tried}."
    together, accuracy, switches = search.total(), search.total(quantity="accuracy"), " + ".join(kept)
    if together is None or together.speedup is None:
        failed = search.failed
        why = f"{failed.status}: {failed.reason}" if failed else "the fresh blocks are missing"
        return f"{where(search)}: kept {switches}, but not confirmed: {why}."
    compared = "Accuracy is not compared: the models had not learned enough to tell"
    if accuracy is not None and accuracy.speedup is not None:
        compared = f"Accuracy: {measured(accuracy, 'accuracy')}"
    blocks = counted(together.blocks, "fresh block")
    return f"{where(search)}, {switches}: all together {measured(together)}. {blocks}. {compared}."


def step_rows(searches: Sequence[Search]) -> pd.DataFrame:
    """Return a row per switch that was tried: its gain alone and in combination, its accuracy, the decision."""
    rows = []
    for search in searches:
        for step in search.steps:
            switch, model = step.switch, f" ({step.switch.model})" if step.switch.model else ""
            row = {
                "where": where(search),
                "switch": switch.words,
                "alone": fixed(switch.alone, 2, "x") + model,
                "combined": _with_interval(step.time, "x", 2),
                "accuracy": _with_interval(step.accuracy, " points", 1),
                "decision": f"{step.decision}{f': {step.reason}' if step.reason else ''}",
            }
            rows.append(row)
    return pd.DataFrame(rows, columns=STEP_COLUMNS)


def _with_interval(judgement: Judgement | None, unit: str, decimals: int) -> str:
    if judgement is None:
        return MISSING
    ends = "" if judgement.low is None else f" ({interval(judgement.low, judgement.high, decimals)})"
    return fixed(judgement.speedup, decimals, unit) + ends


def chain_rows(searches: Sequence[Search]) -> pd.DataFrame:
    """Return a row per kept switch: the speed-up over the plain trial with it and all before it on.

    A switch whose fresh blocks failed shares the row of the next one; without the last, a search has no row.
    """
    rows = []
    for search in searches:
        own, since = [], []
        for number, step in enumerate(search.kept, 1):
            judgement = search.total(number)
            since.append(step.switch.words)
            if judgement is not None and judgement.speedup is not None:
                size = {"speedup": judgement.speedup, "low": judgement.low, "high": judgement.high}
                own.append({"where": where(search), "switch": " + ".join(since), **size})
                since = []
        rows += [] if since else own
    return pd.DataFrame(rows, columns=CHAIN_COLUMNS)


def recipe_verdicts(searches: Sequence[Search], runs: Sequence[Run]) -> list[Verdict]:
    """Return a verdict on everything together for each search that kept something, in time and accuracy."""
    own = next((run for run in runs if run.role is Role.RECIPE), None)
    verdicts = []
    for search in searches if own else ():
        for quantity in ("time", "accuracy"):
            judgement = search.total(quantity=quantity)
            if judgement is not None and judgement.blocks:
                verdict = Verdict(
                    session=own.session,
                    study=own.study,
                    question=RECIPE_QUESTION,
                    quantity=quantity,
                    factor=RECIPE,
                    baseline=search.start.spec,
                    candidate=search.chain[-1].spec,
                    judgement=judgement,
                    sentence=f"{where(search)}: all together {measured(judgement, quantity)}.",
                )
                verdicts.append(verdict)
    return verdicts
