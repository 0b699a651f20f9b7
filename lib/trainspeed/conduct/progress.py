"""How far a study is and how long it still takes: a bar in JupyterLab, sparse lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from trainspeed.conduct.block_queue import BlockQueue
from trainspeed.conduct.plan import Planned
from trainspeed.core.format import minutes

LINE_EVERY_S = 15.0


class Progress:
    """Counts runs, whoever measures them, and forecasts how many there will be and how long they still take.

    Args:
        queue: Gives out the blocks.
        show: Called with (runs done, total, seconds left or None before the first run has ended, what runs next).
    """

    def __init__(self, queue: BlockQueue, show: Callable[[int, int, float | None, str], None]) -> None:
        self._queue, self._show = queue, show
        self._done = 0

    def starting(self, group: Sequence[Planned]) -> None:
        """Show which runs come next."""
        with self._queue.lock:
            runs, left_s = self._queue.outlook()
            self._show(self._done, self._done + runs, left_s if self._done else None, _name_of(group))

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


@contextmanager
def shown_progress(study: str, *, in_report: bool) -> Iterator[Lines | Bar]:
    """Show lines while a report runs, and take them out of the notebook at the end; else show a bar."""
    in_notebook = "ipykernel" in sys.modules
    if in_notebook and not in_report:
        with closing(Bar(study)) as bar:
            yield bar
        return
    yield Lines(study)
    if in_notebook:
        from IPython.display import clear_output

        clear_output()


def _name_of(group: Sequence[Planned]) -> str:
    """Return what runs next, for the progress: of runs that take turns the first, and how many others."""
    first = ", ".join(group[0].trial.describe(without=("image_size", "precision", "compile")))
    return first + (f", in turns with {len(group) - 1} more" if len(group) > 1 else "")
