"""How far a study is and how long it still takes: a bar in JupyterLab, sparse lines elsewhere."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from statistics import fmean

from trainspeed.core.format import minutes

LINE_EVERY_S = 15.0
MIN_PACE = 0.5  # of kinds to come, in seconds per estimated second: what has run so far may be the cheap ones


class Progress:
    """Counts runs and estimates the time left.

    A kind of run that has run before takes as long again as it did on average. The estimates of others are scaled
    by how long all runs took in relation to their estimates.

    Args:
        estimates_s: Estimated seconds of every run to come, in order.
        show: Called with (runs done, total, seconds left or None, what runs next).
        kinds: Kind of every run, in order; runs of one kind should take equally long. By default all differ.
    """

    def __init__(
        self,
        estimates_s: Sequence[float],
        show: Callable[[int, int, float | None, str], None],
        *,
        kinds: Sequence[Hashable] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._estimates_s = estimates_s
        self._kinds = range(len(estimates_s)) if kinds is None else kinds
        self._took_s: list[float] = []
        self._show, self._clock, self._started = show, clock, clock()

    def starting(self, name: str) -> None:
        """Show which run comes next; what came before it, such as starting workers, does not count as its time."""
        self._show(len(self._took_s), len(self._estimates_s), self.left_s, name)
        self._started = self._clock()

    def finished(self, runs: int = 1) -> None:
        """Count the run that was started last, or as many as have taken turns since then."""
        self._took_s += runs * [(self._clock() - self._started) / runs]

    @property
    def left_s(self) -> float | None:
        """Seconds left; None before the first run has ended."""
        if not (done := len(self._took_s)):
            return None
        pace = max(MIN_PACE, sum(self._took_s) / sum(self._estimates_s[:done]))
        by_kind: dict[Hashable, list[float]] = defaultdict(list)
        for kind, took_s in zip(self._kinds, self._took_s, strict=False):
            by_kind[kind].append(took_s)
        to_come = zip(self._kinds[done:], self._estimates_s[done:], strict=True)
        return sum(fmean(by_kind[kind]) if kind in by_kind else pace * estimate for kind, estimate in to_come)


class Lines:
    """Prints a line now and then, for logs."""

    def __init__(self, study: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._study, self._clock = study, clock
        self._last: float | None = None

    def __call__(self, done: int, total: int, left_s: float | None, name: str) -> None:
        """Print a line unless the last one is too recent."""
        now = self._clock()
        if self._last is None or now - self._last >= LINE_EVERY_S:
            self._last = now
            left = "" if left_s is None else f", {minutes(left_s)} left"
            print(f"{self._study}: run {done + 1} of {total}{left}: {name}", flush=True)


class Bar:
    """A tqdm bar: a widget in JupyterLab."""

    def __init__(self, study: str) -> None:
        from tqdm.auto import tqdm

        layout = "{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} {postfix}"
        self._bar = tqdm(desc=study, dynamic_ncols=True, bar_format=layout)

    def __call__(self, done: int, total: int, left_s: float | None, name: str) -> None:
        """Move the bar."""
        self._bar.total, self._bar.n = total, done
        left = "" if left_s is None else f"{minutes(left_s)} left, "
        self._bar.set_postfix_str(left + name)

    def close(self) -> None:
        """Leave the bar as it is."""
        self._bar.n = self._bar.total or 0
        self._bar.set_postfix_str("")
        self._bar.close()
