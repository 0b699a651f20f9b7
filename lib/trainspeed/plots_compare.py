"""Chart of one study's trials on two sides: the forest of speed-ups, B over A. Decides nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes

from trainspeed.compare import Arm, Row
from trainspeed.plots_rows import plot_speedups
from trainspeed.theme import status_name

MOST_ROWS = 40  # a taller chart is no longer read, and the table has all of them
XLABEL = "speed-up = A's time / B's time, log scale\n(above 1: B is faster)"


def plot_comparison(study: str, rows: Sequence[Row], *, ax: Axes | None = None) -> Axes:
    """Draw the speed-up of B over A: a row per trial, dot and interval on a log axis, the largest on top.

    Of many trials those are drawn whose interval, or else whose speed-up, is the farthest from 1.
    """
    drawn = sorted(rows, key=_weight)[:MOST_ROWS]
    verdicts = [
        {
            "label": row.label + _failures(row),
            **{name: getattr(row, name) for name in ("speedup", "low", "high", "outcome", "blocks")},
        }
        for row in drawn
    ]
    ax = plot_speedups(verdicts, ax=ax)
    of_all = f", {len(drawn)} of {len(rows)} trials" if len(drawn) < len(rows) else ""
    interval = " with 95 % intervals" if any(row.low is not None for row in drawn) else ""
    ax.set_title(f"{study}: B against A{interval}{of_all}")
    if ax.get_xlabel():  # not where there is nothing to draw but a sentence
        ax.set_xlabel(XLABEL)
    return ax


def _weight(row: Row) -> tuple[bool, bool, float]:
    return row.low is None, row.speedup is None, -abs(math.log(row.speedup or 1))


def _failures(row: Row) -> str:
    """Say on which side a trial has no result, and why."""
    without = [f"{how(arm)} on {letter}" for letter, arm in (("A", row.a), ("B", row.b)) if not arm.blocks]
    return f" ({', '.join(without)})" if without else ""


def how(arm: Arm) -> str:
    """Return how the runs of a side failed: OOM, timeout."""
    return ", ".join(dict.fromkeys(status_name(run.status) for run in arm.failed)) or "no result"
