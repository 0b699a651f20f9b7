"""The forest of speed-ups and the tables of a comparison: sides, times, memory, accuracy, costs, failures.

Decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from pandas.io.formats.style import Styler

from trainspeed.core.format import MISSING, clock, digits, fixed, or_nothing, usd
from trainspeed.judge.text import interval_of, size_of
from trainspeed.show.cells import styled, styled_failures
from trainspeed.show.forest import plot_speedups
from trainspeed.show.rows import VERDICT_FIELDS, memory_unit
from trainspeed.show.theme import status_name
from trainspeed.studies.across.costs import PairCost
from trainspeed.studies.across.pairs import SIDES, TrialPair, failed, median_of, timed

MAX_ROWS = 40  # nobody reads a taller chart, and the table has all of them
XLABEL = "speed-up = A's time / B's time, log scale\n(above 1: B is faster)"
RESOURCES = ("peak_memory_bytes", "test_accuracy")


def plot_pairs(study: str, pairs: Sequence[TrialPair], *, ax: Axes | None = None) -> Axes:
    """Draw the speed-up of B over A: a row per trial, dot and interval on a log axis, the largest on top.

    Of more than MAX_ROWS trials, those are drawn whose speed-up is farthest from 1, those with an interval first.
    """
    drawn = sorted(pairs, key=_rank)[:MAX_ROWS]
    rows = [
        {name: getattr(pair, name) for name in VERDICT_FIELDS} | {"label": _label(pair)} for pair in drawn
    ]
    ax = plot_speedups(rows, ax=ax)
    of_all = f", {len(drawn)} of {len(pairs)} trials" if len(drawn) < len(pairs) else ""
    interval = " with 95 % intervals" if any(pair.low is not None for pair in drawn) else ""
    ax.set_title(f"{study}: B against A{interval}{of_all}")
    if ax.get_xlabel():  # an Axes with nothing but a sentence has none
        ax.set_xlabel(XLABEL)
    return ax


def _rank(pair: TrialPair) -> tuple[bool, bool, float]:
    return pair.low is None, pair.speedup is None, -abs(math.log(pair.speedup or 1))


def _label(pair: TrialPair) -> str:
    """Return what a trial is called, and on which side it has no result and why: OOM, timeout."""
    missing = []
    for side in SIDES:
        if not timed(pair.side(side)):
            statuses = dict.fromkeys(status_name(run.status) for run in failed(pair.side(side)))
            missing.append(f"{', '.join(statuses) or 'no result'} on {side}")
    return pair.label + (f" ({', '.join(missing)})" if missing else "")


def sides_table(rows: Sequence[Mapping[str, str]]) -> Styler:
    """Return what both sides were measured with.

    Args:
        rows: As `sides.fact_rows` returns them.
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


def resources_table(study: str, pairs: Sequence[TrialPair]) -> Styler | None:
    """Return peak memory and test accuracy of the trials that have either on both sides; None without any."""
    pairs = [p for p in pairs if any(None not in (median_of(p.a, n), median_of(p.b, n)) for n in RESOURCES)]
    memory, accuracy = ({side: _medians(pairs, side, name) for side in SIDES} for name in RESOURCES)
    divisor, unit = memory_unit(pd.Series([*memory["A"], *memory["B"]], dtype=float))
    columns = {"trial": [pair.label for pair in pairs]}
    for side, sizes in memory.items():
        columns[f"memory {side}, {unit}"] = _cells(sizes, lambda v: digits(v / divisor))
    for side, shares in accuracy.items():
        columns[f"accuracy {side}, %"] = _cells(shares, lambda v: fixed(100 * v, 1))
    caption = f"{study}: peak memory and test accuracy, medians over the blocks that have them"
    return styled(columns, "resources", caption) if pairs else None


def costs_table(costs: Sequence[PairCost]) -> Styler:
    """Return a row per setting: the time of a training on both sides, its price, and A's cost over B's."""
    columns = {"study": [cost.pair.study for cost in costs], "trial": [cost.pair.label for cost in costs]}
    for index, side in enumerate(SIDES):
        columns[f"training on {side}"] = _cells([cost.training_s[index] for cost in costs], clock)
    if any(amount is not None for cost in costs for amount in cost.usd):
        for index, side in enumerate(SIDES):
            columns[f"cost on {side}"] = _cells([cost.usd[index] for cost in costs], usd)
    ratio = "A's cost / B's" if any(None not in cost.usd for cost in costs) else "A's time / B's"
    columns[ratio] = [size_of(cost.judgement, times="×") for cost in costs]
    columns["95 % interval"] = [interval_of(cost.judgement) for cost in costs]
    return styled(columns, "costs", "A training (h:mm:ss) and its price")


def failed_pairs_table(pairs: Sequence[TrialPair]) -> Styler | None:
    """Return a row per trial, side and kind of failure, with the reason; None where no run failed."""
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
    return styled_failures(rows, caption=caption, name="of which failed")


def _medians(pairs: Sequence[TrialPair], side: str, quantity: str) -> list[float | None]:
    return [median_of(pair.side(side), quantity) for pair in pairs]


def _cells(values: Sequence[float | None], write: Callable[[float], str]) -> list[str]:
    return [MISSING if value is None else write(value) for value in values]
