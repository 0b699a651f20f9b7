"""Blocks around all others, where several machines measure side by side."""

from __future__ import annotations

import math
import threading

from study_data import make_trial
from trainspeed.conduct.block_queue import BlockQueue
from trainspeed.conduct.groups import PlannedGroup, groups_of
from trainspeed.conduct.plan import TrialSet
from trainspeed.conduct.timetable import Timetable


def groups() -> list[PlannedGroup]:
    """Return a comparison of one block, and a group around it."""
    sums = make_trial(strategy="ddp", devices=2, part="link")
    sets = TrialSet(trials=(make_trial(),), blocks=1), TrialSet(trials=(sums,), blocks=2, around=True)
    return groups_of(sets, ["core", "sums"], [True, False], seed=0)


class Others(threading.Condition):
    """Others that finish what they measure while this one waits for them."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = 0
        self.queue: BlockQueue | None = None

    def wait(self, timeout: float | None = None) -> bool:
        self.waited += 1
        self.queue.finished()
        return True


def test_the_last_block_waits_until_the_others_have_measured_theirs():
    others = Others()
    table = Timetable(groups=groups(), block_s=lambda group: 1.0)
    queue = BlockQueue(
        table=table,
        end_s=math.inf,
        ask=lambda left_s: [],
        left_of=lambda group, number: group.blocks[number],
        begin=lambda groups: None,
        hands=2,
        lock=others,
    )
    others.queue = queue

    first = queue.take()
    queue.finished()
    compared = queue.take()  # by another machine, which goes on measuring
    assert (first.group.around, compared.group.around, others.waited) == (True, False, 0)
    last = queue.take()
    assert (last.group, last.number, others.waited) == (first.group, 1, 1)
