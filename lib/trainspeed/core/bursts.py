"""What of a run is no part of how long it usually takes: what bursts of others' took, and looking up what ran."""

from __future__ import annotations

import math
from statistics import median_low

from trainspeed.core.run import Run

FEWEST_OF_A_MEDIAN = 3  # of two, none is known to be out of line


def beyond_usual_s(run: Run) -> float:
    """Return how many seconds the turns of a run took beyond its usual one, which is their (lower) median."""
    took_s = [turn.end_s - turn.start_s for turn in run.turns if turn.end_s is not None]
    enough = len(took_s) >= FEWEST_OF_A_MEDIAN
    return max(0.0, sum(took_s) - len(took_s) * median_low(took_s)) if enough else 0.0


def beyond_usual_before_turns_s(run: Run) -> float:
    """Return the same of its epochs between the first one, which compiles, and its turns."""
    usual_s = median_low(run.later_epoch_s) if len(run.turns) >= FEWEST_OF_A_MEDIAN else math.inf
    return sum(max(0.0, seconds - usual_s) for seconds in run.epoch_s[1 : run.epochs_before_turns])


def undisturbed_s(run: Run) -> float:
    """Return the seconds that a run was busy, without what bursts took of its epochs after the first."""
    return run.busy_s - beyond_usual_s(run) - beyond_usual_before_turns_s(run)


def looked_up_s(run: Run) -> float:
    """Return the seconds in which a run looked up what ran: of the first of its kind, with its layers, up to 5.6."""
    return run.stages_s.get("inspect", 0.0)
