"""What ranks need that no framework gives them: one watches the others, and they share the cores. Knows no device."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from trainspeed.worker.timing import Another

# How long a rank waits for another one in an exchange, at most. On GPUs ranks do the same work side by side; until the
# first epoch has ended torch.compile takes minutes, and on some ranks longer than on others, as may a step on one core
# of a busy CPU at any time.
ANSWER_S, LONG_ANSWER_S = 50.0, 300.0
# torch's watchdog sleeps for four times as many milliseconds, by default 15,000, before it ends a process whose
# exchange has timed out, to let a trace be written that nobody here reads.
# Source: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, Watchdog::runLoop
NCCL_VARIABLES = {"TORCH_NCCL_DUMP_ON_TIMEOUT": "0", "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "250"}
REPORT_BYTES = 4096  # of an error: what a pipe takes at once
LOOK_AGAIN_S = 1.0  # a rank's own children may hold its pipe open after its death
EXIT_CODE = 1


def end_process(report: str) -> NoReturn:
    """End this process, whatever its other threads wait for, with these words as the last on standard error."""
    sys.stderr.write(f"{report}\n")
    sys.stderr.flush()
    os._exit(EXIT_CODE)


class RankWatch:
    """Follows the other ranks in a thread, from rank 0.

    Over NCCL a rank that waits for a dead one neither returns nor raises: its thread stays in the driver until a
    watchdog of minutes ends it, and why the other one died is never told. So where rank 0 does not ask for the error
    itself in time, its process is ended from here.
    """

    def __init__(
        self,
        ranks: Mapping[int, int],
        *,
        grace_s: float,
        first: int = 1,
        elsewhere: Callable[[], str | None] | None = None,
        give_up: Callable[[str], object] = end_process,
        look_again_s: float = LOOK_AGAIN_S,
    ) -> None:
        """Begin to watch.

        Args:
            ranks: Process id -> pipe from which its error is read, of the ranks on this node but the first one, in
                their order. They are reaped here.
            grace_s: Seconds in which rank 0 may find out by itself that another one has failed.
            first: Number of the first of these ranks.
            elsewhere: Returns the error of a rank on another node; asked until the caller asks for the error itself.
            give_up: Ends this process; is told the error.
        """
        self._ranks = dict(enumerate(ranks.items(), start=first))
        self._grace_s, self._give_up, self._look_again_s = grace_s, give_up, look_again_s
        self._elsewhere = elsewhere
        self._report: str | None = None
        self._failed_or_ended, self._asked = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._watch, name="rank watch", daemon=True)
        self._thread.start()

    def first_error(self, wait_s: float) -> str | None:
        """Return the error of the first rank that failed; None if none has failed within so many seconds.

        From now on it is for the caller to end this process.
        """
        self._asked.set()
        self._failed_or_ended.wait(wait_s)
        return self._report

    def end(self, wait_s: float) -> str | None:
        """Wait until all ranks have ended and return the error of the first that failed; kill those that do not end."""
        self._asked.set()
        self._thread.join(wait_s)
        if self._thread.is_alive():
            self.kill()
        return self._report

    def kill(self) -> None:
        """Kill the ranks that are left, which is no failure of theirs any more."""
        self._asked.set()
        for pid, _ in list(self._ranks.values()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _watch(self) -> None:
        with selectors.PollSelector() as reports:
            for rank, (_, pipe) in self._ranks.items():
                reports.register(pipe, selectors.EVENT_READ, rank)
            while self._ranks or (self._elsewhere and not self._asked.is_set()):
                for key, _ in reports.select(self._look_again_s):
                    if text := os.read(key.fd, REPORT_BYTES).decode(errors="replace"):
                        self._record_error(text)
                    else:  # it is ending
                        reports.unregister(key.fd)
                        self._reap(key.data, 0)
                for rank in [*self._ranks]:
                    self._reap(rank, os.WNOHANG)
                if self._elsewhere and not self._asked.is_set() and (text := self._elsewhere()):
                    self._record_error(text)
        self._failed_or_ended.set()

    def _reap(self, rank: int, how: int) -> None:
        """Take note of a rank's end, where it has ended."""
        if rank not in self._ranks:
            return
        pid, pipe = self._ranks[rank]
        try:
            ended, status = os.waitpid(pid, how)
        except ChildProcessError:  # whoever waited for any child has how it ended
            ended, status = pid, 0
        if not ended:
            return
        del self._ranks[rank]
        os.set_blocking(pipe, False)
        with contextlib.suppress(BlockingIOError):  # its own children hold the pipe open
            if text := os.read(pipe, REPORT_BYTES).decode(errors="replace"):
                self._record_error(text)
        code = os.waitstatus_to_exitcode(status)
        if code < 0:
            self._record_error(f"rank {rank} was killed by {signal.Signals(-code).name}")
        elif code:
            self._record_error(f"rank {rank} ended with exit code {code}")

    def _record_error(self, text: str) -> None:
        if self._report is not None:
            return
        self._report = text
        self._failed_or_ended.set()
        if not self._asked.wait(self._grace_s):
            self.kill()
            self._give_up(text)


def threads_of_a_rank(cores: int, ranks: int) -> int:
    """Return how many CPU threads each of the ranks on GPUs has: all cores are shared out, not taken by each."""
    return max(1, cores // ranks)


def answer_limit_s(*, on_gpu: bool, compiled: bool) -> float:
    """Return after how many seconds a rank that does not answer is taken to hang.

    Args:
        compiled: Whether the ranks are still compiling: until their first epoch has ended.
    """
    return ANSWER_S if on_gpu and not compiled else LONG_ANSWER_S


def once_compiled(another: Another, limit: Callable[[float], object], *, on_gpu: bool) -> Another:
    """Return what answers as `another` does, and sets the limit anew after the first epoch.

    Args:
        limit: Is told the seconds after which a rank that does not answer hangs from now on: compiling is over, on
            every rank, as an epoch ends with all.
    """
    compiling = True

    def answered(epoch_s: Sequence[float]) -> bool:
        nonlocal compiling
        if compiling:
            compiling = False
            limit(answer_limit_s(on_gpu=on_gpu, compiled=False))
        return another(epoch_s)

    return answered
