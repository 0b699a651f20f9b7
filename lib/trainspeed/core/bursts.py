"""What a burst of others' took of a run's turns: no part of how long such a run usually takes. Knows no comparison."""

from __future__ import annotations

from statistics import median_low

from trainspeed.core.run import Run

FEWEST_OF_A_MEDIAN = 3  # of two, none is known to be out of line


def beyond_usual_s(run: Run) -> float:
    """Return how many seconds the turns of a run took beyond its usual one, which is their (lower) median."""
    took_s = [turn.end_s - turn.start_s for turn in run.turns if turn.end_s is not None]
    enough = len(took_s) >= FEWEST_OF_A_MEDIAN
    return max(0.0, sum(took_s) - len(took_s) * median_low(took_s)) if enough else 0.0
