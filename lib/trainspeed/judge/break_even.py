"""What a setting costs besides: memory, compiling, and the epochs until it pays. Pure functions on runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from trainspeed.core.run import Run
from trainspeed.core.runs import RunSet
from trainspeed.judge.pairs import value_pairs


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What a setting takes, by the medians over its blocks.

    Attributes:
        first_epoch_s: Seconds of the first epoch, with tracing and compiling.
        epoch_s: Seconds of a later one.
        peak_memory_bytes: As of a run; None where it cannot be read.
        longer_first_s: By how many seconds its first epoch took longer than the plain one's, in each block in which
            both have one: see `compared_costs`.
    """

    first_epoch_s: float
    epoch_s: float
    peak_memory_bytes: float | None = None
    longer_first_s: tuple[float, ...] = ()

    def break_even(self, plain: Cost) -> float | None:
        """Return after how many later epochs a longer first one has paid for itself.

        0 where it is not longer, None where a later one saves nothing.
        """
        return self._after(self.first_epoch_s - plain.first_epoch_s, plain)

    def break_even_range(self, plain: Cost) -> tuple[float, float] | None:
        """Return the least and the most that single blocks make of it; None where there is no such number."""
        if not self.longer_first_s or self.break_even(plain) is None:
            return None
        return tuple(self._after(edge(self.longer_first_s), plain) for edge in (min, max))

    def _after(self, longer_s: float, plain: Cost) -> float | None:
        saved_s = plain.epoch_s - self.epoch_s
        return max(0.0, longer_s) / saved_s if saved_s > 0 else None


def cost_of(runs: Iterable[Run]) -> Cost | None:
    """Return what a setting takes, from its runs; None where none of them ended well."""
    good = [run for run in RunSet(tuple(runs)).ok() if run.median_epoch_s is not None]
    alone_s = [run.first_epoch_s for run in good if run.first_epoch_s is not None]
    if not alone_s:
        return None
    peaks = [run.peak_memory_bytes for run in good if run.peak_memory_bytes is not None]
    return Cost(
        first_epoch_s=median(alone_s),
        epoch_s=median(run.median_epoch_s for run in good),
        peak_memory_bytes=median(peaks) if peaks else None,
    )


def compared_costs(plain: Sequence[Run], other: Sequence[Run]) -> tuple[Cost | None, Cost | None]:
    """Return what the plain setting and another one take, with the first epochs of the blocks in which both have one.

    Runs that were built side by side have none: where no block has both, what the plain one takes is None.
    """
    first_s = value_pairs(plain, other, lambda run: run.first_epoch_s)
    if not first_s:
        return None, cost_of(other)
    plain_s, other_s = (median(own) for own in zip(*first_s, strict=True))
    longer_s = tuple(own - beside for beside, own in first_s)
    return (
        replace(cost_of(plain), first_epoch_s=plain_s),
        replace(cost_of(other), first_epoch_s=other_s, longer_first_s=longer_s),
    )
