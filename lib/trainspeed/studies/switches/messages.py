"""What a chart of switches says, as its title. Decides nothing: the search has."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pandas as pd

from trainspeed.core.factors import RECIPE
from trainspeed.core.format import NAMES, listed, model_of
from trainspeed.judge.comparison import Verdict
from trainspeed.judge.text import size_of, switched_in_short
from trainspeed.judge.verdict import Outcome
from trainspeed.search.findings import Findings
from trainspeed.search.unmeasured import where
from trainspeed.show.waterfall import QUESTION
from trainspeed.studies.switches.charts import DROPPED, EFFECTS_QUESTION, KEPT, UNDECIDED
from trainspeed.studies.switches.views import is_drawn, spoiled, switch_names

NOT_FASTER = {Outcome.SLOWER: "not faster, but slower", Outcome.SAME: "no faster than without"}


def effects_title(effects: pd.DataFrame) -> str:
    """Return how many switches were kept: "2 of 11 switches kept, 3 undecided"; without any tried, the question.

    Where several values of one lever were tried, of which one can be kept, it counts values: "2 of 11 values kept".

    Args:
        effects: As returned by `views.effect_rows`.
    """
    tried = effects[effects["kind"].isin([KEPT, DROPPED, UNDECIDED])]
    counts = [
        (where, *(int((own["kind"] == kind).sum()) for kind in (KEPT, UNDECIDED)), len(own))
        for where, own in tried.groupby("where", sort=False)
    ]
    if not counts:
        return EFFECTS_QUESTION
    what = "values" if tried.duplicated(["where", "lever"]).any() else "switches"
    if len(counts) == 1:
        _, kept, open_, number = counts[0]
        return f"{kept} of {number} {what} kept{f', {open_} undecided' if open_ else ''}"
    said = listed(
        [
            f"{kept} of {number}{f' ({open_} undecided)' if open_ else ''} in {where}"
            for where, kept, open_, number in counts
        ]
    )
    return f"{what.capitalize()} kept: {said}"


def best_waterfall_title(found: Sequence[Findings], verdicts: Iterable[Verdict]) -> str:
    """Return how many times as fast what was kept makes it, in each panel; the question if none is decided.

    Args:
        found: The searches whose way is drawn below: see `views.best_waterfall_rows`.
    """
    told = {_where(v): v for v in verdicts if v.factor == RECIPE and v.quantity == "time"}
    if all(verdict.outcome is Outcome.UNDECIDED for verdict in told.values()):
        return QUESTION
    without = {
        where(one): f", without {switch_names(spoiled(one))}" for one in found if one.rest and one.kept
    }
    said: dict[str, list[str]] = {}
    for place in dict.fromkeys([*(where(one) for one in found if is_drawn(one)), *told]):
        said.setdefault(_together(told.get(place)) + without.get(place, ""), []).append(place)
    faster = all(verdict.outcome is Outcome.FASTER for verdict in told.values())
    others = "Switches together" if without else "All switches together"
    lead = "What was kept" if faster else others
    if len(said) == 1:
        return f"{lead}: {next(iter(said))}"
    return f"{lead}: {'; '.join(f'{words} in {listed(places)}' for words, places in said.items())}"


def _together(verdict: Verdict | None) -> str:
    """Return what was decided on all switches of a search; it has none where nothing was kept of them."""
    if verdict is None:
        return "without a verdict"
    if verdict.outcome is Outcome.FASTER:
        kept = switched_in_short(verdict.baseline, verdict.candidate)
        return f"{size_of(verdict, times='')} times as fast with {kept}"
    return NOT_FASTER.get(verdict.outcome, str(verdict.outcome))


def _where(verdict: Verdict) -> str:
    return f"{NAMES[verdict.baseline.framework]}, {model_of(verdict.baseline.model)}"
