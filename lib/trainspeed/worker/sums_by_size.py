"""Time sums of messages of several sizes over the ranks: what a link's latency and bandwidth are fitted to.

Knows no framework and fits nothing: a sum is a function.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from trainspeed.core.result import LinkSum
from trainspeed.worker.timing import RepeatedWork

# 4 KiB, where latency is all, to 16 MiB, as much as DDP sends at once (its buckets have 25 MiB at most).
# Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
SIZES_BYTES = tuple(4096 * 8**step for step in range(5))
SIZE_S = 0.2  # of the sums of one size in an epoch
LONGEST_SUM_S = 2.0  # a size of which one sum takes longer is left out: on a slow link bandwidth shows before


class SumsBySize:
    """An epoch of sums, the smallest message first, each size repeated until that takes long enough.

    How often, the first epoch finds out, and which sizes are too large for the link. It is kept apart, as every first
    epoch is.
    """

    def __init__(
        self,
        sum_of: Callable[[int], Callable[[], object]],
        synchronize: Callable[[], None],
        *,
        finish: Callable[[], None],
        agree: Callable[[float], float],
        sizes_bytes: Sequence[int] = SIZES_BYTES,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Sum nothing yet.

        Args:
            sum_of: Returns what sums a message of so many bytes over all ranks, once a call.
            synchronize: Waits for all ranks: before the clock is read first, so that none is late.
            finish: Waits for this rank's own sums: no more is timed, since on a slow link waiting for all ranks takes
                as long as a sum. No rank has its sum before all have sent theirs.
            agree: Returns the seconds of rank 0, in every rank.
            sizes_bytes: Of the messages, the smallest first.
        """
        self._synchronize, self._finish = synchronize, finish
        self._agree, self._clock = agree, clock
        self._works = {
            size: RepeatedWork(sum_of(size), 1, synchronize, epoch_s=SIZE_S, agree=agree, clock=clock)
            for size in sizes_bytes
        }
        self._sum_s: dict[int, list[float]] = {}

    @property
    def measured(self) -> tuple[LinkSum, ...]:
        """What was measured: empty before the second epoch."""
        known = ((size, tuple(seconds)) for size, seconds in self._sum_s.items() if seconds)
        return tuple(LinkSum(size_bytes=size, sum_s=seconds) for size, seconds in known)

    def __call__(self) -> None:
        """Run an epoch."""
        if not self._sum_s:
            return self._find_out()
        for size, seconds in self._sum_s.items():
            seconds.append(self._timed_s(size))

    def _find_out(self) -> None:
        """Repeat each size as often as it takes, and stop before one that takes too long."""
        one_s, smaller = 0.0, 0
        for size, work in self._works.items():
            if smaller and one_s * size / smaller > LONGEST_SUM_S:
                return
            work()
            one_s, smaller = self._agree(self._timed_s(size)), size
            self._sum_s[size] = []

    def _timed_s(self, size: int) -> float:
        """Return the seconds of one sum of this size, the mean over its repeats."""
        work = self._works[size]
        self._synchronize()
        started = self._clock()
        work()
        self._finish()
        return (self._clock() - started) / work.repeats
