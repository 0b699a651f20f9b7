"""How far a study is and how long it still takes: a bar in JupyterLab, sparse lines elsewhere."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager

from trainspeed.conduct.block_queue import BlockQueue
from trainspeed.conduct.context import in_notebook
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
            left = "" if left_s is None else f", {_left(left_s)}"
            print(f"{self._study}: run {done + 1} of {total}{left}: {name}", flush=True)


class ProgressBar:
    """A bar in a notebook, with the time left; nothing of it stays when it is closed.

    Plain HTML that is drawn again: it asks for no widgets, and a notebook that is saved meanwhile holds no state.
    """

    def __init__(self, study: str) -> None:
        from IPython.display import display

        self._study = study
        self._output = display(self._drawn(0, None, "getting ready"), raw=True, display_id=True)

    def __call__(self, done: int, total: int, left_s: float | None, name: str) -> None:
        """Draw the bar anew."""
        left = "how long it takes shows when the first runs have ended" if left_s is None else _left(left_s)
        self._output.update(self._drawn(done, total, f"{done} of {total} runs, {left}: {name}"), raw=True)

    def close(self) -> None:
        """Take the bar away."""
        self._output.update({}, raw=True)

    def _drawn(self, done: int, total: int | None, text: str) -> dict[str, str]:
        """Return the bar by type of content; one that only moves to and fro where the total is not known."""
        where = "" if total is None else f' value="{done}" max="{max(total, 1)}"'
        study, said = html.escape(self._study), html.escape(text)
        bar = f'<progress{where} aria-label="{study}" style="width: 100%; max-width: 30em"></progress>'
        return {"text/html": f"{bar}<br>{study}: {said}", "text/plain": f"{self._study}: {text}"}


@contextmanager
def shown_progress(study: str, *, in_report: bool) -> Iterator[Lines | ProgressBar]:
    """Show lines while a report runs, and take them out of the notebook at the end; else show a bar."""
    is_shown = in_notebook()
    if is_shown and not in_report:
        with closing(ProgressBar(study)) as bar:
            yield bar
        return
    yield Lines(study)
    if is_shown:
        from IPython.display import clear_output

        clear_output()


def _left(seconds: float) -> str:
    return f"{minutes(seconds)} left"


def _name_of(group: Sequence[Planned]) -> str:
    """Return what runs next, for the progress: of runs that take turns the first, and how many others."""
    first = ", ".join(group[0].trial.describe(without=("image_size", "precision", "compile")))
    return first + (f", in turns with {len(group) - 1} more" if len(group) > 1 else "")
