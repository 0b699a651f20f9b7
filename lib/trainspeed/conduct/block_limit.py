"""The time that a block may take, and how its runs end where their first epochs show that it would take longer."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from trainspeed.conduct.block_queue import Block, BlockQueue
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.core.format import minutes
from trainspeed.core.result import Failure
from trainspeed.core.run import Status

MORE_S = 30.0  # that such a block may take beyond the time
START_S = 60.0  # that its arms may take beyond that to begin, and to look up what is not timed
LONG_S = 30.0  # of turns that are given up; those of an ordinary model take a few seconds


def limit_of(block: Block, queue: BlockQueue, budget_s: float | None) -> BlockLimit:
    """Return the time that a block may take: the first one of its group, whose pace nobody knows, what is left.

    And those around all others, as they are measured in any case. Of several nodes each would have to know it.

    Args:
        budget_s: Seconds that all of it may take; None without a limit.
    """
    of_several = any(one.trial.nodes > 1 for one in block.planned)
    if budget_s is None or of_several or (block.number and not block.group.around):
        return BlockLimit()
    # A study is not to be empty where its workers alone took all of its time to start.
    end_s = max(queue.end_s - queue.table.after_s, time.monotonic())
    return BlockLimit(until_s=end_s + max(queue.table.grace_s, MORE_S))


@dataclass(kw_only=True)
class BlockLimit:
    """The time of one block whose pace nobody knows beforehand: of a user's own model, on whatever machine.

    Attributes:
        until_s: `time.monotonic()` at which it is over.
    """

    until_s: float = math.inf
    _begun_s: float = field(default_factory=lambda: time.monotonic(), init=False)

    @property
    def stopped_s(self) -> float:
        """`time.monotonic()` at which whatever is not a turn is stopped."""
        return self.until_s + START_S

    def ending(
        self, least_s: Callable[[Sequence[float]], float], arms: int, epoch_s: Sequence[float]
    ) -> RunOutcome | None:
        """Return how runs end whose turns are too long for what is left, or have not begun by then; else None.

        Args:
            least_s: Returns the seconds of the turns, at least, of arms with such epochs.
            arms: How many take turns with each other.
            epoch_s: Seconds of an epoch of each arm that has come so far.
        """
        now_s, least = time.monotonic(), least_s(epoch_s)
        if least <= max(self.until_s - now_s, LONG_S) and now_s < self.stopped_s:
            return None
        to_come = [min(epoch_s)] * (arms - len(epoch_s)) if epoch_s else []
        needs_s = now_s - self._begun_s + least_s([*epoch_s, *to_come])
        reason = (
            f"a block of it takes {minutes(needs_s)} or more, and there were {minutes(self.until_s - self._begun_s)} "
            "for it: give it more (BUDGET, or budget_s), or ask for less, such as images_per_epoch"
        )
        return RunOutcome(
            status=Status.TIMEOUT, reason=reason, failure=Failure(stage="train", needs_s=needs_s)
        )
