"""How near to the ideal speed-up several devices are. Pure functions on verdicts."""

from __future__ import annotations

from enum import StrEnum

from trainspeed.judge.comparison import Verdict

NEAR_IDEAL = 0.9  # efficiency from which a further device is called well used


class Rating(StrEnum):
    """How near to the ideal speed-up several devices are."""

    NEAR = "near ideal"
    FAR = "far from ideal"
    OPEN = "not decided how near"


def efficiency_of(verdict: Verdict) -> float:
    """Return the speed-up as a share of the ideal one."""
    return verdict.speedup / verdict.candidate.devices


def rating_of(verdict: Verdict) -> Rating:
    """Return how near to the ideal a verdict that has an interval is."""
    count = verdict.candidate.devices
    if verdict.low / count >= NEAR_IDEAL:
        return Rating.NEAR
    return Rating.FAR if verdict.high / count < NEAR_IDEAL else Rating.OPEN
