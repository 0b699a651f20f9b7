"""Whether a measured interval is as wanted. Pure functions on numbers."""

from __future__ import annotations

import math
from typing import NamedTuple, Protocol


class HasInterval(Protocol):
    """What was measured, with its interval: a judgement, an estimate. None where it has none."""

    low: float | None
    high: float | None


class Interval(NamedTuple):
    """An interval by itself."""

    low: float
    high: float


def met(found: HasInterval, *, at_least: float = -math.inf, at_most: float = math.inf) -> str:
    """Return whether the whole interval is within the bounds: yes, NO where none of it is, else undecided.

    A number that happens to lie within them says nothing where its interval does not: a noisier measurement would
    pass the more easily.
    """
    if found.low is None:
        return "undecided"
    if found.low >= at_least and found.high <= at_most:
        return "yes"
    return "NO" if found.high < at_least or found.low > at_most else "undecided"
