"""Ranks that report and die, as small processes: no framework trains here."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator

import pytest

from trainspeed.worker.backends.rank_watch import (
    NCCL_VARIABLES,
    RankWatch,
    answer_limit_s,
    once_compiled,
    threads_of_a_rank,
)
from trainspeed.worker.timing import in_a_row, time_epochs

SOON_S = 30.0  # the longest that a test waits for a process to end; none takes a tenth of a second


@pytest.fixture
def forked() -> Iterator[Callable]:
    """Return a function that forks ranks, each with what it does with its pipe, as `RankWatch` takes them."""
    pids = []

    def forked(*ranks: Callable[[int], None]) -> dict[int, int]:
        pipes = {}
        for does in ranks:
            read, write = os.pipe()
            if not (pid := os.fork()):
                try:
                    does(write)
                finally:
                    os._exit(0)
            os.close(write)
            pipes[pid] = read
        pids.extend(pipes)
        return pipes

    yield forked
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)  # its watch reaps it


def ends_well(pipe: int) -> None:
    """As a rank that has trained."""


def waits(pipe: int) -> None:
    signal.pause()


def reports(pipe: int) -> None:
    os.write(pipe, b"rank 1: OutOfMemoryError: CUDA out of memory")
    os._exit(1)


def dies(pipe: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def exits(pipe: int) -> None:
    os._exit(3)


def dies_before_its_loader(pipe: int) -> None:
    """Its own child holds the pipe open."""
    if os.fork():
        os.kill(os.getpid(), signal.SIGKILL)
    signal.alarm(2)
    signal.pause()


class GivesUp:
    """Keeps the error that this process would be ended with."""

    def __init__(self) -> None:
        self.reports: list[str] = []
        self.called = threading.Event()

    def __call__(self, report: str) -> None:
        self.reports.append(report)
        self.called.set()


@pytest.mark.parametrize(
    ("does", "report"),
    [
        (reports, "rank 1: OutOfMemoryError: CUDA out of memory"),
        (dies, "rank 1 was killed by SIGKILL"),
        (exits, "rank 1 ended with exit code 3"),
        (dies_before_its_loader, "rank 1 was killed by SIGKILL"),
    ],
)
def test_a_rank_that_fails_ends_a_rank_zero_that_only_waits(forked, does, report):
    """Over NCCL it would wait for minutes; the ranks that are left are killed."""
    gives_up = GivesUp()
    ranks = forked(does, waits)
    watch = RankWatch(ranks, grace_s=0.0, give_up=gives_up, look_again_s=0.05)

    assert gives_up.called.wait(SOON_S)
    assert watch.end(SOON_S) == report
    assert gives_up.reports == [report], "the first failure, once"
    for pid in ranks:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.parametrize("does", [reports, dies])
def test_a_rank_zero_that_found_out_by_itself_is_told_why(forked, does):
    gives_up = GivesUp()
    watch = RankWatch(forked(does), grace_s=SOON_S, give_up=gives_up)

    assert watch.first_error(SOON_S).startswith("rank 1")
    assert watch.end(SOON_S)
    assert gives_up.reports == []


def test_an_error_on_another_node_ends_a_rank_zero_that_only_waits(forked):
    gives_up, said = GivesUp(), iter([None, "rank 2: MemoryError"])
    watch = RankWatch(
        forked(waits), grace_s=0.0, elsewhere=lambda: next(said, None), give_up=gives_up, look_again_s=0.05
    )

    assert gives_up.called.wait(SOON_S)
    assert watch.end(SOON_S) == "rank 2: MemoryError"
    assert gives_up.reports == ["rank 2: MemoryError"]


def test_a_watch_with_nothing_to_follow_here_listens_until_the_ranks_have_trained(forked):
    asked = threading.Event()
    watch = RankWatch({}, grace_s=0.0, elsewhere=asked.set, give_up=GivesUp(), look_again_s=0.05)

    assert asked.wait(SOON_S)
    assert watch.end(SOON_S) is None


def test_ranks_are_named_by_their_number_among_all(forked):
    watch = RankWatch(forked(ends_well, dies), grace_s=SOON_S, first=5, give_up=GivesUp())

    assert watch.first_error(SOON_S) == "rank 6 was killed by SIGKILL"


def test_a_rank_that_says_nothing_in_time_leaves_rank_zero_its_own_error(forked):
    watch = RankWatch(forked(waits), grace_s=0.0, give_up=GivesUp())

    assert watch.first_error(0.0) is None


def test_ranks_that_end_well_are_no_error(forked):
    gives_up = GivesUp()
    watch = RankWatch(forked(ends_well, ends_well), grace_s=0.0, give_up=gives_up)

    assert watch.end(SOON_S) is None
    assert watch.first_error(SOON_S) is None
    assert gives_up.reports == []


def test_a_rank_that_does_not_end_after_the_training_is_killed_and_is_no_error(forked):
    """Its part was measured."""
    gives_up = GivesUp()
    watch = RankWatch(forked(waits), grace_s=0.0, give_up=gives_up)

    assert watch.end(0.0) is None
    watch.end(SOON_S)
    assert gives_up.reports == []


@pytest.mark.parametrize(
    ("cores", "ranks", "threads"), [(16, 8, 2), (16, 1, 16), (6, 4, 1), (2, 8, 1), (0, 2, 1)]
)
def test_ranks_share_out_the_cores(cores, ranks, threads):
    """Each of 8 would take all 16 otherwise."""
    assert threads_of_a_rank(cores, ranks) == threads


def test_a_rank_that_hangs_on_a_gpu_ends_the_run_within_a_minute():
    """torch's own limits, and what its watchdog sleeps after them, make 11."""
    sleep_s = 4 * int(NCCL_VARIABLES["TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"]) / 1000

    assert answer_limit_s(on_gpu=True, compiled=False) + sleep_s < 60
    assert answer_limit_s(on_gpu=True, compiled=True) > 60, "ranks compile for longer than others"
    assert answer_limit_s(on_gpu=False, compiled=False) > 60, "a step may take as long on a core"


@pytest.mark.parametrize(
    ("hangs_in", "on_gpu", "within_a_minute"),
    [(0, True, False), (1, True, True), (2, True, True), (1, False, False)],
)
def test_a_rank_that_hangs_after_its_compiled_first_epoch_ends_the_run_within_a_minute(
    fake_clock, hangs_in, on_gpu, within_a_minute
):
    limit_s = answer_limit_s(on_gpu=on_gpu, compiled=True)
    begun_s, epochs = [], iter(range(3))

    def limit(seconds):
        nonlocal limit_s
        limit_s = seconds

    def epoch():
        begun_s.append(fake_clock())
        if next(epochs) == hangs_in:
            fake_clock.advance(limit_s)
            raise TimeoutError("a rank does not answer")
        fake_clock.advance(1.0)

    with pytest.raises(TimeoutError):
        time_epochs(
            epoch, lambda: None, another=once_compiled(in_a_row(3), limit, on_gpu=on_gpu), clock=fake_clock
        )

    assert (fake_clock() - begun_s[-1] < 60) is within_a_minute
