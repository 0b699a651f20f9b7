"""How far a study is and how long it still takes: a bar in JupyterLab, sparse lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

LINE_EVERY_S = 15.0


class Progress:
    """Counts runs and tells the time left, from how long the runs took against their estimates.

    Args:
        estimates_s: Estimated seconds of every run to come, in order.
        show: Called with (runs done, total, seconds left or None, what runs next).
    """

    def __init__(
        self,
        estimates_s: list[float],
        show: Callable[[int, int, float | None, str], None],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._left_s = sum(estimates_s)
        self._estimates_s = estimates_s
        self._done, self._done_s = 0, 0.0
        self._show, self._clock, self._started = show, clock, clock()

    def starting(self, name: str) -> None:
        """Tell which run comes next."""
        self._show(self._done, len(self._estimates_s), self.left_s, name)

    def finished(self) -> None:
        """Count the run that was started last."""
        self._done_s += self._estimates_s[self._done]
        self._done += 1

    @property
    def left_s(self) -> float | None:
        """Seconds left; None before the first run has ended."""
        if not self._done_s:
            return None
        pace = (self._clock() - self._started) / self._done_s
        return pace * (self._left_s - self._done_s)


class Lines:
    """A line now and then, for logs."""

    def __init__(
        self,
        study: str,
        stream: TextIO | None = None,
        *,
        every_s: float = LINE_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._study, self._stream, self._every_s, self._clock = study, stream, every_s, clock
        self._last: float | None = None

    def __call__(self, done: int, total: int, left_s: float | None, name: str) -> None:
        """Print a line unless the last one is too recent."""
        now = self._clock()
        if self._last is None or now - self._last >= self._every_s:
            self._last = now
            left = "" if left_s is None else f", {minutes(left_s)} left"
            print(
                f"{self._study}: run {done + 1} of {total}{left}: {name}",
                file=self._stream or sys.stdout,
                flush=True,
            )


class Bar:
    """A tqdm bar: a widget in JupyterLab."""

    def __init__(self, study: str) -> None:
        from tqdm.auto import tqdm

        self._bar = tqdm(
            desc=study,
            dynamic_ncols=True,
            bar_format="{desc} {percentage:3.0f}% |{bar}| {n_fmt}/{total_fmt} {postfix}",
        )

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


def minutes(seconds: float) -> str:
    """Return a duration as a reader says it: 45 s, 3 min 20 s, 2 h 05 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
