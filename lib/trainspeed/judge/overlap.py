"""How much of an exchange of gradients hides behind the backward pass: measured, given, or not known.

Pure functions on seconds: knows no run and no framework.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from numbers import Real
from statistics import median

from trainspeed.core.errors import UserError
from trainspeed.core.format import percent
from trainspeed.judge.verdict import median_interval

# Of a step, the least exchange whose overlap can be seen: a step and its parts are known to a few per cent, which is
# a large part of an exchange that is shorter.
LEAST_EXCHANGE_SHARE = 0.1


@dataclass(frozen=True, kw_only=True)
class Overlap:
    """The share of an exchange that is sent while the backward pass runs.

    Attributes:
        share: 0 to 1.
        low, high: Ends of its interval; None where it has none.
        devices: Number of devices that it was measured on; None where it was given.
    """

    share: float
    low: float | None = None
    high: float | None = None
    devices: int | None = None

    @property
    def words(self) -> str:
        """The share, its interval, and where it comes from."""
        interval = "" if self.low is None else f", {percent(self.low)} to {percent(self.high)}"
        source = "given" if self.devices is None else f"measured on {self.devices} devices{interval}"
        return f"{percent(self.share)} ({source})"


def given_overlap(share: float | None) -> Overlap | None:
    """Return the overlap that a user gave; None where it is to be as measured.

    Raises:
        UserError: It is no share.
    """
    if share is None:
        return None
    if not (isinstance(share, Real) and 0 <= share <= 1):
        raise UserError(
            f"forecast_overlap (={share!r}) must lie between 0 (the whole exchange is waited for) and 1 (it hides "
            "as far as the backward pass is long), or be null: as measured."
        )
    return Overlap(share=share)


def measured_overlap(
    step_s: Mapping[Hashable, float],
    compute_s: Mapping[Hashable, float],
    exchange_s: Mapping[Hashable, float],
    *,
    devices: int,
) -> Overlap | None:
    """Return how much of an exchange ran beside the computing; None where that was not measured, or cannot be seen.

    What hides is compute + exchange - step, at least none and at most all of the exchange: a step that takes longer
    than both parts together has other costs. Blocks in which all three were measured are the repeats; without one,
    the medians stand for a block, and there is no interval.

    Args:
        step_s: Block -> seconds of a whole step.
        compute_s: The same of one device alone, with its share of the batch.
        exchange_s: The same of the exchange alone.
        devices: That the step ran on.
    """
    known = step_s, compute_s, exchange_s
    if not all(known):
        return None
    if median(exchange_s.values()) < LEAST_EXCHANGE_SHARE * median(step_s.values()):
        return None
    blocks = set.intersection(*map(set, known))
    threes = [tuple(part[block] for part in known) for block in blocks]
    threes = threes or [tuple(median(part.values()) for part in known)]
    shares = [min(1.0, max(0.0, (compute + sums - step) / sums)) for step, compute, sums in threes]
    low, high = median_interval(shares) or (None, None)
    return Overlap(share=median(shares), low=low, high=high, devices=devices)
