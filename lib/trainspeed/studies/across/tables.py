"""Tables of a comparison: the two sides, the times, memory and accuracy, costs, failures. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, clock, digits, fixed, or_nothing, usd
from trainspeed.judge.text import interval_of, size_of
from trainspeed.show.cells import failures, styled
from trainspeed.show.rows import memory_unit
from trainspeed.show.theme import status_name
from trainspeed.studies.across.costs import PairCost
from trainspeed.studies.across.pairs import SIDES, TrialPair, failed, median_of, timed


def sides_table(rows: Sequence[Mapping[str, str]]) -> Styler:
    """Return what both sides were measured with.

    Args:
        rows: As `facts.fact_rows` returns them.
    """
    caption = "What the common trials were measured with"
    return styled(rows, "sides", caption, columns=["what", "A", "B", ""])


def times_table(study: str, pairs: Sequence[TrialPair]) -> Styler:
    """Return a row per trial: both times, the speed-up of B over A with its interval, blocks, outcome."""
    seconds = {side: _medians(pairs, side, "median_s") for side in SIDES}
    known = [value for values in seconds.values() for value in values if value is not None]
    scale, unit = (1e3, "ms") if max(known, default=0.0) < 1 else (1.0, "s")
    columns = {
        "trial": [pair.label for pair in pairs],
        **{f"{side} {unit}": _cells(values, lambda s: digits(scale * s)) for side, values in seconds.items()},
        "speed-up": [size_of(pair, times="×") for pair in pairs],
        "95 % interval": [interval_of(pair) for pair in pairs],
        "blocks on A": [len(timed(pair.a)) for pair in pairs],
        "on B": [len(timed(pair.b)) for pair in pairs],
        "B is": [MISSING if pair.speedup is None else str(pair.outcome) for pair in pairs],
    }
    kinds = " or ".join(sorted({pair.trial.phase.timed for pair in pairs}))
    return styled(columns, "times", f"{study}: {kinds}, medians over the blocks")


def with_resources(pairs: Sequence[TrialPair]) -> list[TrialPair]:
    """Return the trials that have peak memory or test accuracy on both sides."""
    names = ("peak_memory_bytes", "test_accuracy")
    return [p for p in pairs if any(None not in (median_of(p.a, n), median_of(p.b, n)) for n in names)]


def resources_table(study: str, pairs: Sequence[TrialPair]) -> Styler:
    """Return peak memory and test accuracy side by side, of trials that have either on both sides."""
    memory = {side: _medians(pairs, side, "peak_memory_bytes") for side in SIDES}
    accuracy = {side: _medians(pairs, side, "test_accuracy") for side in SIDES}
    divisor, unit = memory_unit(pd.Series([*memory["A"], *memory["B"]], dtype=float))
    columns = {
        "trial": [pair.label for pair in pairs],
        **{
            f"memory {s}, {unit}": _cells(sizes, lambda v: digits(v / divisor)) for s, sizes in memory.items()
        },
        **{f"accuracy {s}, %": _cells(shares, lambda v: fixed(100 * v, 1)) for s, shares in accuracy.items()},
    }
    caption = f"{study}: peak memory and test accuracy, medians over the blocks that have them"
    return styled(columns, "resources", caption)


def costs_table(costs: Sequence[PairCost]) -> Styler:
    """Return a row per setting: the time of a training on both sides, its price, and A's cost over B's."""
    judged = [cost.judgement for cost in costs]
    columns = {"study": [cost.pair.study for cost in costs], "trial": [cost.pair.label for cost in costs]}
    for place, side in enumerate(SIDES):
        columns[f"training on {side}"] = _cells([cost.training_s[place] for cost in costs], clock)
    if any(usd is not None for cost in costs for usd in cost.usd):
        for place, side in enumerate(SIDES):
            columns[f"cost on {side}"] = _cells([cost.usd[place] for cost in costs], usd)
    ratio = "A's cost / B's" if any(None not in cost.usd for cost in costs) else "A's time / B's"
    columns |= {
        ratio: [size_of(j, times="×") for j in judged],
        "95 % interval": [interval_of(j) for j in judged],
    }
    return styled(columns, "costs", "A training (h:mm:ss) and its price")


def failed_pairs_table(pairs: Sequence[TrialPair]) -> Styler | None:
    """Return a row per trial, side and way to fail, with the reason; None where every run ended as it should."""
    rows = [
        {
            "study": pair.study,
            "trial": pair.label,
            "side": side,
            "status": status_name(run.status),
            "reason": or_nothing(run.reason),
            "blocks": len(pair.side(side)),
        }
        for pair in pairs
        for side in SIDES
        for run in failed(pair.side(side))
    ]
    caption = "Runs that failed, of the trials that both sides tried"
    return failures(rows, caption=caption, name="of which failed")


def _medians(pairs: Sequence[TrialPair], side: str, quantity: str) -> list[float | None]:
    return [median_of(pair.side(side), quantity) for pair in pairs]


def _cells(values: Sequence[float | None], write: Callable[[float], str]) -> list[str]:
    return [MISSING if value is None else write(value) for value in values]
