"""Which cores the devices of a machine without a GPU are."""

import contextlib
import os
import threading

import pytest

from trainspeed.sensors import processes
from trainspeed.sensors.processes import CORES, descends_from, device_cores, move_to_own_cores, usable_cores


def test_devices_are_the_last_usable_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {10, 1, 4, 2}, raising=False)

    assert usable_cores() == [1, 2, 4, 10]
    assert device_cores(2) == [4, 10]
    assert device_cores(9) == [1, 2, 4, 10]
    assert device_cores(0) == []


def test_a_system_without_affinity_names_no_core(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)

    assert device_cores(2) == usable_cores() == []


@pytest.mark.skipif(len(usable_cores()) < 2, reason="one core is nowhere to move to")
def test_a_process_moves_with_all_its_threads(monkeypatch):
    """A framework's threads keep the core that they were started on."""
    before, go, found = os.sched_getaffinity(0), threading.Event(), []
    first, *_, last = usable_cores()
    monkeypatch.setenv(CORES, f"{first},{last}")
    try:
        os.sched_setaffinity(0, {first})
        thread = threading.Thread(target=lambda: (go.wait(60), found.append(os.sched_getaffinity(0))))
        thread.start()
        move_to_own_cores(1)
        here = os.sched_getaffinity(0)
        move_to_own_cores(1, core_offset=1)
        aside = os.sched_getaffinity(0)
        move_to_own_cores(None)
    finally:
        go.set()
        thread.join()
        for each in os.listdir("/proc/self/task"):
            with contextlib.suppress(ProcessLookupError):  # listed, and ended meanwhile
                os.sched_setaffinity(int(each), before)

    assert (here, found) == ({last}, [{first}])
    assert aside == {first}, "and stays there where it may run on all"


def test_a_child_that_has_ended_may_have_left_others_behind(monkeypatch):
    """They are listed only after it has been seen to be dead."""
    listed = [{11}, {12, 13}, set()]
    killed = []
    monkeypatch.setattr(processes, "child_pids", lambda: listed.pop(0))
    monkeypatch.setattr(processes.os, "kill", lambda pid, number: killed.append(pid))
    monkeypatch.setattr(processes.os, "waitpid", lambda pid, how: (pid if how == 0 or pid == 11 else 0, 0))

    processes.end_children()

    assert sorted(killed) == [12, 13] and not listed


def test_a_process_descends_from_itself_and_its_parents_and_from_no_other():
    assert descends_from(os.getpid(), os.getpid())
    assert descends_from(os.getpid(), os.getppid())
    assert descends_from(os.getppid(), os.getpid()) is False
    assert descends_from(2**22 + 1, os.getpid()) is None, "Linux gives no such number"
