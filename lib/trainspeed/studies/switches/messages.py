"""What a chart of switches says, as its title. Decides nothing: the search has."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import listed
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import size_of
from trainspeed.judge.verdict import Outcome
from trainspeed.show.waterfall import QUESTION
from trainspeed.studies.switches.charts import DROPPED, EFFECTS_QUESTION, KEPT

SLOWER = {Outcome.SLOWER: "not faster, but slower", Outcome.SAME: "no faster than without"}


def effects_title(effects: pd.DataFrame) -> str:
    """Return how many switches were kept: "2 of 11 switches kept"; without any that was tried, the question.

    Args:
        effects: As returned by `views.effect_rows`.
    """
    tried = effects[effects["kind"].isin([KEPT, DROPPED])]
    counts = [
        (where, int((own["kind"] == KEPT).sum()), len(own))
        for where, own in tried.groupby("where", sort=False)
    ]
    if not counts:
        return EFFECTS_QUESTION
    if len(counts) == 1:
        return f"{counts[0][1]} of {counts[0][2]} switches kept"
    said = listed([f"{kept} of {number} in {where}" for where, kept, number in counts])
    return f"Switches kept: {said}"


def way_title(verdicts: Iterable[Verdict]) -> str:
    """Return how many times as fast everything that was kept makes it, of what was decided; else the question."""
    told = [v for v in verdicts if v.factor == RECIPE and v.quantity == "time"]
    faster = sorted((v for v in told if v.outcome is Outcome.FASTER), key=lambda v: -v.speedup)
    if faster:
        return f"{listed([size_of(v, times='') for v in faster])} times as fast with all switches together"
    outcomes = {verdict.outcome for verdict in told}
    word = SLOWER.get(next(iter(outcomes))) if len(outcomes) == 1 else None
    return f"All switches together: {word}" if word else QUESTION
