"""Who made the batches of a training, as it was seen while they were made. Knows no framework and no trial."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from trainspeed.core.format import counted
from trainspeed.core.result import Seen

Make = Callable[[int, int], tuple[np.ndarray, np.ndarray]]  # (epoch, index) -> a batch
NOBODY = "nobody was seen to make a batch"


class Here:
    """Makes batches in this process.

    Attributes:
        threads: Those that made one, by their number in Python.
    """

    def __init__(self, make: Make) -> None:
        self._make = make
        self.threads: set[int] = set()

    def __call__(self, epoch: int, index: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a batch."""
        self.threads.add(threading.get_ident())
        return self._make(epoch, index)


@dataclass(frozen=True, kw_only=True)
class MadeBy:
    """Who made batches.

    Attributes:
        processes: Worker processes that were alive.
        other_threads: Threads of this process that made one, without the one that trains.
        in_loop: Whether the thread that trains made one.
    """

    processes: int = 0
    other_threads: int = 0
    in_loop: bool = False

    @classmethod
    def of(cls, threads: Iterable[int], processes: int = 0) -> MadeBy:
        """Return who made them; call it in the thread that trains.

        Args:
            threads: Of this process that made one.
            processes: Worker processes that were alive.
        """
        own = threading.get_ident()
        return cls(processes=processes, other_threads=len({*threads} - {own}), in_loop=own in {*threads})

    def seen(self) -> dict[str, Seen]:
        """Return the pipeline that they are, None where it is not to be told, and of processes how many."""
        by = [
            words
            for there, words in (
                (self.processes, counted(self.processes, "living worker process", "living worker processes")),
                (self.other_threads, f"{counted(self.other_threads, 'thread')} beside the one that trains"),
                (self.in_loop, "the thread that trains"),
            )
            if there
        ]
        if len(by) != 1:
            return {"pipeline": (None, f"batches were made by {' and '.join(by)}" if by else NOBODY)}
        kind = "processes" if self.processes else "threads" if self.other_threads else "generator"
        how = f"batches were made by {by[0]}"
        return {"pipeline": (kind, how)} | ({"workers": (str(self.processes), how)} if self.processes else {})
