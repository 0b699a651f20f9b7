"""How far a study is and how long it still takes: a bar in JupyterLab, sparse lines elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from trainspeed.conduct.groups import PlannedGroup
from trainspeed.conduct.timetable import Timetable
from trainspeed.core.format import minutes

LINE_EVERY_S = 15.0


class Progress:
    """Counts runs, and forecasts how many there will be and how long they still take.

    Args:
        table: Which blocks are still to come.
        show: Called with (runs done, total, seconds left or None before the first run has ended, what runs next).
    """

    def __init__(
        self, table: Timetable[PlannedGroup], show: Callable[[int, int, float | None, str], None]
    ) -> None:
        self._table, self._show = table, show
        self._done = 0

    def starting(self, name: str, left_s: float = math.inf) -> None:
        """Show which run comes next.

        Args:
            left_s: Seconds until the study's time is up.
        """
        end = self._table.forecast(left_s)
        to_come = sum(
            len(block)
            for group in end.groups
            for block in group.blocks[self._table.had(group) : end.had(group)]
        )
        self._show(self._done, self._done + to_come, end.forecast_s if self._done else None, name)

    def finished(self, runs: int = 1) -> None:
        """Count the run that was started last, or as many as have taken turns since then."""
        self._done += runs


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
