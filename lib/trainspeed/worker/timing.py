"""Time epochs that return before the device is done. Knows no framework and no GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

Another = Callable[[Sequence[float]], bool]  # of the epochs' seconds so far: whether to train one more


def in_a_row(epochs: int) -> Another:
    """Return what lets a training train a number of epochs without a pause."""
    return lambda epoch_s: len(epoch_s) < epochs


def time_epochs(
    epoch: Callable[[], object],
    synchronize: Callable[[], None],
    *,
    another: Another,
    clock: Callable[[], float] = time.perf_counter,
) -> tuple[float, ...]:
    """Return the duration of each epoch, in seconds, first epoch first.

    A GPU step only queues work, so the clock is read after `synchronize()` at both ends of an epoch
    and nowhere between: queueing the next step must overlap with running this one, as it does in
    real training.

    Args:
        epoch: Trains on every batch once; what it returns is ignored.
        another: Returns whether to train one more, given the seconds of the epochs so far; may wait first.
        synchronize: Blocks until all queued work on all devices is finished.
        clock: Seconds since a fixed moment; tests pass a fake.
    Source: https://pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
    """
    marks = EpochMarks(synchronize, clock=clock)
    while True:
        marks.begin()
        epoch()
        marks.end()
        if not another(marks.epoch_s):
            return marks.epoch_s


class EpochMarks:
    """Collects epoch times where a framework owns the loop and calls back at both ends of an epoch."""

    def __init__(
        self, synchronize: Callable[[], None], *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._synchronize = synchronize
        self._clock = clock
        self._started: float | None = None
        self._epoch_s: list[float] = []

    @property
    def epoch_s(self) -> tuple[float, ...]:
        """Duration of each finished epoch, in seconds, first epoch first."""
        return tuple(self._epoch_s)

    def begin(self) -> None:
        """Call before the first step of an epoch."""
        self._synchronize()
        self._started = self._clock()

    def end(self) -> None:
        """Call after the last step of an epoch.

        Raises:
            RuntimeError: `begin` was not called first.
        """
        if self._started is None:
            raise RuntimeError("end of an epoch that did not begin")
        self._synchronize()
        self._epoch_s.append(self._clock() - self._started)
        self._started = None
