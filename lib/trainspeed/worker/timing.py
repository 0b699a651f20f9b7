"""Time epochs that return before the device is done. Knows no framework and no GPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

LONG_ENOUGH = 0.1  # share of an epoch whose time tells how many repeats fill it
MAX_REPEATS = 10**6
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


class RepeatedWork:
    """An epoch of steps without a model, each of which repeats its work until an epoch takes long enough.

    How often, the first epoch finds out, which is kept apart as every first epoch is. On a fast device a few
    products or sums take milliseconds: its clocks would not have risen yet, and waiting for it would count.

    Attributes:
        repeats: How often a step of the later epochs does its work; 1 before the first epoch.
    """

    def __init__(
        self,
        work: Callable[[], object],
        steps: int,
        synchronize: Callable[[], None],
        *,
        epoch_s: float,
        agree: Callable[[float], float] = lambda seconds: seconds,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """Repeat nothing yet.

        Args:
            steps: In an epoch.
            synchronize: As of `time_epochs`.
            epoch_s: Seconds that an epoch should take, about.
            agree: Returns the seconds that count where several processes work together, the same in all of them.
        """
        self._work, self._steps, self._synchronize = work, steps, synchronize
        self._epoch_s, self._agree, self._clock = epoch_s, agree, clock
        self._found = False
        self.repeats = 1

    def __call__(self) -> None:
        """Run an epoch."""
        if self._found:
            return self._run(self.repeats)
        self._run(1)  # chooses and loads what computes
        self.repeats = self._enough()
        self._found = True

    def _enough(self) -> int:
        tried, seconds = 1, self._seconds(1)
        while seconds < LONG_ENOUGH * self._epoch_s and tried < MAX_REPEATS:
            tried *= 8
            seconds = self._seconds(tried)
        return max(1, min(MAX_REPEATS, round(tried * self._epoch_s / seconds))) if seconds else MAX_REPEATS

    def _seconds(self, repeats: int) -> float:
        self._synchronize()
        started = self._clock()
        self._run(repeats)
        self._synchronize()
        return self._agree(self._clock() - started)

    def _run(self, repeats: int) -> None:
        for _ in range(self._steps * repeats):
            self._work()


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
