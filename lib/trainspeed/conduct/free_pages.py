"""Which free pages of memory the arms of a block get: alike ones, not what those before them gave back. Linux.

The kernel keeps what a process frees on a list of the core that freed it, and gives out what came last first: pages
scattered over the memory, some hundred megabytes of them after a block. The arms that begin first get these. On an AMD
EPYC of 2 cores, beside a neighbour, the first of two equal arms was faster than the second by 1.0 % with TensorFlow and
0.7 with PyTorch (standard errors 0.2, 53 and 43 blocks); where memory was taken and given back before, by 0.4 and 0.3,
and blocks scattered by 0.011 for 0.015 and for 0.013.

Source: https://docs.kernel.org/admin-guide/sysctl/vm.html#percpu-pagelist-high-fraction (the lists)
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Sequence

from trainspeed.core.convolution import AnyTrial
from trainspeed.core.run import Run
from trainspeed.core.trial import Trial
from trainspeed.sensors.memory import allowance_bytes

MOST_BYTES = 768 * 2**20  # takes half a second
MOST_SHARE = 1 / 8  # of the memory that a run may add


class FreePages:
    """The pages that are given out next."""

    def __init__(self) -> None:
        self._taken_bytes: dict[AnyTrial, int] = {}

    def learn(self, runs: Iterable[Run]) -> None:
        """Learn what runs take from those that have ended."""
        for run in runs:
            if run.peak_memory_bytes:
                self._taken_bytes[run.trial.spec] = run.peak_memory_bytes

    def renew(self, trials: Iterable[AnyTrial], cores: Sequence[int]) -> int:
        """Have the runs of these trials, which are about to begin on these cores, get contiguous pages.

        Memory is taken, twice as much as they take: what those before them gave back, and as much again. It is given
        back in this order, so that the pages that came last are given out first. A trial that has not run yet takes as
        much as the one that takes most. For calls of one convolution nothing is taken: what it does to them was not
        measured, and they have large buffers.

        Returns:
            Bytes taken; 0 where no run has told what it takes, or the system cannot take memory at once.
        """
        most = max(self._taken_bytes.values(), default=0)
        trainings = [trial for trial in trials if isinstance(trial, Trial)]
        wanted = 2 * sum(self._taken_bytes.get(trial.spec, most) for trial in trainings)
        if not wanted or not cores or not hasattr(mmap, "MAP_POPULATE"):
            return 0
        each = int(min(wanted, MOST_BYTES, MOST_SHARE * allowance_bytes()) / len(cores))
        each -= each % mmap.PAGESIZE
        before = os.sched_getaffinity(0)  # of this thread alone
        try:
            return sum(_take(core, each) for core in cores)
        except OSError:  # as where the kernel promises no more than there is: the block begins as it is
            return 0
        finally:
            os.sched_setaffinity(0, before)


def _take(core: int, size: int) -> int:
    """Take bytes on a core and give them back; return how many."""
    if size:
        os.sched_setaffinity(0, {core})
        mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE).close()
    return size
