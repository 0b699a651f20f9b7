"""The time that a block may take, and how its runs end where their first epochs show that it would take longer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from trainspeed.conduct.block_queue import Block, BlockQueue
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.format import minutes
from trainspeed.core.result import Failure
from trainspeed.core.run import Run, Status

FIRST_S = 30.0  # beyond the time of a study, that the first block of all may take


def limit_of(block: Block, queue: BlockQueue, runs: Iterable[Run], budget_s: float | None) -> BlockLimit:
    """Return the time that a block may take: the first one of its group, whose pace nobody knows, what is left.

    Until something was measured, a little more: a study is not to be empty where only its workers took long to start.

    Args:
        runs: Of the session so far.
        budget_s: Seconds that all of it may take; None without a limit.
    """
    if block.number or budget_s is None:
        return BlockLimit()
    measured = any(run.status is Status.OK for run in runs)
    more_s = max(queue.table.grace_s, 0.0 if measured else FIRST_S)
    return BlockLimit(until_s=queue.end_s - queue.table.after_s + more_s)


@dataclass(kw_only=True)
class BlockLimit:
    """The time of one block whose pace nobody knows beforehand: of a user's own model, on whatever machine.

    Attributes:
        until_s: `time.monotonic()` at which it is over.
    """

    until_s: float = math.inf
    _begun_s: float = field(default_factory=lambda: time.monotonic(), init=False)

    @property
    def left_s(self) -> float:
        """Seconds until then."""
        return self.until_s - time.monotonic()

    def ending(
        self, least_s: Callable[[Sequence[float]], float], arms: int, epoch_s: Sequence[float]
    ) -> RunOutcome | None:
        """Return how runs end of which nothing is left of the time, or less than their turns take; else None.

        Args:
            least_s: Returns the seconds of the turns, at least, of arms with such epochs.
            arms: How many take turns with each other.
            epoch_s: Seconds of an epoch of each arm that has come so far.
        """
        least = least_s(epoch_s)
        if least < self.left_s:
            return None
        needs_s = time.monotonic() - self._begun_s + least * arms / max(1, len(epoch_s))
        reason = (
            f"a block of it takes {minutes(needs_s)} or more, and there were {minutes(self.until_s - self._begun_s)} "
            "for it: give it more (BUDGET), or ask for less, such as images_per_epoch"
        )
        return RunOutcome(
            status=Status.TIMEOUT, reason=reason, failure=Failure(stage="train", needs_s=needs_s)
        )
