"""Chart of one study's trials on two sides: the forest of speed-ups, B over A. Decides nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from trainspeed.core.run import Run
from trainspeed.show.forest import plot_speedups
from trainspeed.show.rows import VERDICT_FIELDS
from trainspeed.show.theme import status_name
from trainspeed.studies.across.pairs import SIDES, TrialPair, failed, timed

MAX_ROWS = 40  # a taller chart is no longer read, and the table has all of them
XLABEL = "speed-up = A's time / B's time, log scale\n(above 1: B is faster)"


def plot_pairs(study: str, pairs: Sequence[TrialPair], *, ax: Axes | None = None) -> Axes:
    """Draw the speed-up of B over A: a row per trial, dot and interval on a log axis, the largest on top.

    Of many trials those are drawn whose interval, or else whose speed-up, is the farthest from 1.
    """
    drawn = sorted(pairs, key=_weight)[:MAX_ROWS]
    rows = [
        {name: getattr(pair, name) for name in VERDICT_FIELDS} | {"label": _label(pair)} for pair in drawn
    ]
    ax = plot_speedups(rows, ax=ax)
    of_all = f", {len(drawn)} of {len(pairs)} trials" if len(drawn) < len(pairs) else ""
    interval = " with 95 % intervals" if any(pair.low is not None for pair in drawn) else ""
    ax.set_title(f"{study}: B against A{interval}{of_all}")
    if ax.get_xlabel():  # not where there is nothing to draw but a sentence
        ax.set_xlabel(XLABEL)
    return ax


def _weight(pair: TrialPair) -> tuple[bool, bool, float]:
    return pair.low is None, pair.speedup is None, -abs(math.log(pair.speedup or 1))


def _label(pair: TrialPair) -> str:
    """What a trial is called, and on which side it has no result and why."""
    without = [f"{_ways(pair.side(side))} on {side}" for side in SIDES if not timed(pair.side(side))]
    return pair.label + (f" ({', '.join(without)})" if without else "")


def _ways(runs: Sequence[Run]) -> str:
    """How the runs of a side failed: OOM, timeout."""
    return ", ".join(dict.fromkeys(status_name(run.status) for run in failed(runs))) or "no result"
