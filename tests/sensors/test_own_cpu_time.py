"""The CPU time of a process and of what it has started, from made-up processes and real clocks."""

import errno
import os
import signal
import sys
import time
from dataclasses import replace
from types import SimpleNamespace

import psutil
import pytest

from trainspeed.sensors.cpu import TICKS_PER_S, foreign_cores, host_load, process_s

NO_PROCESS = 2**22 + 1  # larger than any process id of Linux


class Process:
    """A process with made-up CPU seconds. What it waited for is in the children's two."""

    def __init__(self, cpu_s, *, waited_for_s=0.0, children=(), pid=NO_PROCESS):
        self.cpu_s, self.waited_for_s, self._children, self.pid = cpu_s, waited_for_s, children, pid

    def cpu_times(self):
        if self.cpu_s is None:
            raise psutil.NoSuchProcess(pid=1)
        return SimpleNamespace(
            user=0.75 * self.cpu_s,
            system=0.25 * self.cpu_s,
            children_user=0.5 * self.waited_for_s,
            children_system=0.5 * self.waited_for_s,
        )

    def children(self, recursive=False):
        below = [p for child in self._children for p in child.children(recursive=True)] if recursive else []
        return [*self._children, *below]


def test_a_runs_own_workers_and_ranks_are_no_other_processes(tmp_path):
    """A rank of ddp with a worker of its input pipeline: what both use, the run uses."""
    worker = Process(2.0)
    rank = Process(5.0, children=[worker])
    run = Process(1.0, children=[rank])
    (tmp_path / "stat").write_text("cpu  0 0 0 0 0 0 0 0 0 0\n")
    before = host_load(tmp_path / "stat", run)

    run.cpu_s, rank.cpu_s, worker.cpu_s = 11.0, 15.0, 12.0
    (tmp_path / "stat").write_text("cpu  3000 0 0 0 0 0 0 0 0 0\n")
    after = replace(host_load(tmp_path / "stat", run), monotonic_s=before.monotonic_s + 10)

    assert before.own_s == pytest.approx(8.0)
    assert after.own_s - before.own_s == pytest.approx(30.0)
    assert foreign_cores(before, after) == pytest.approx(0.0)


def test_of_this_process_less_than_a_tick_is_seen(tmp_path, monkeypatch):
    """A run that takes turns waits often and briefly: a tick of 0.01 s in each wait would be a doubt."""
    used_s, own = iter([4.0, 4.0005]), Process(3.99, waited_for_s=1.0, pid=os.getpid())
    monkeypatch.setattr("trainspeed.sensors.cpu.time.process_time", lambda: next(used_s))
    monkeypatch.setattr("trainspeed.sensors.cpu.psutil.Process", lambda: own)
    before, after = (host_load(tmp_path / "stat").own_s for _ in range(2))

    assert (before, after - before) == (5.0, pytest.approx(0.0005))


def test_a_worker_that_ended_counts_by_the_process_that_waited_for_it(tmp_path):
    """It may end between being listed and being looked at."""
    run = Process(1.0, waited_for_s=4.0, children=[Process(None), Process(2.0)])

    assert host_load(tmp_path / "stat", run).own_s == pytest.approx(7.0)


@pytest.mark.parametrize("clock", [True, False])
@pytest.mark.parametrize("descendants", [0, 1])
def test_what_a_process_used_counts_in_ticks_where_another_has_no_clock(monkeypatch, descendants, clock):
    others = [psutil.Process(os.getppid())] * descendants
    monkeypatch.setattr("psutil.Process.children", lambda *_, **__: others)
    if not clock:
        monkeypatch.setattr(time, "clock_gettime", _fail)

    assert host_load().in_ticks is (descendants > 0 and not clock)
    assert host_load(process=others[0] if others else psutil.Process(os.getppid())).in_ticks is not clock


def _fail(*_):
    raise OSError(errno.EINVAL, "Invalid argument")


@pytest.mark.skipif(sys.platform != "linux", reason="numbers of clocks are Linux's")
def test_the_clock_of_another_process_is_exact_and_its_own():
    """A child that has used less than a tick."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.write(write, b".")
        while True:
            signal.pause()
    try:
        os.read(read, 1)

        assert 0 < process_s(child) < 1
        assert process_s(child) * TICKS_PER_S % 1 > 0
        assert process_s(os.getpid()) == pytest.approx(time.process_time(), abs=0.1)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)
    assert process_s(child) is None
