"""Pages are renewed before the arms of a block begin: as much as they take, on their cores, and no core is kept."""

import errno
import mmap
import os
import sys

import pytest

from study_data import make_run, make_trial
from trainspeed.conduct import free_pages
from trainspeed.conduct.free_pages import MOST_BYTES, FreePages
from trainspeed.core.convolution import Conv2dTrial
from trainspeed.sensors.memory import LIMIT_VARIABLE
from trainspeed.sensors.processes import usable_cores

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux keeps such lists")

MIB = 2**20
CORES = usable_cores()
TRIAL = make_trial()


@pytest.fixture
def taken(monkeypatch):
    """Bytes that were taken, and the cores that this thread then had."""
    found = []

    class Recorded(mmap.mmap):
        def __new__(cls, fileno, length, **more):
            assert fileno == -1 and more["flags"] & mmap.MAP_POPULATE
            found.append((length, os.sched_getaffinity(0)))
            return super().__new__(cls, fileno, mmap.PAGESIZE)

    monkeypatch.setattr(free_pages.mmap, "mmap", Recorded)
    monkeypatch.setenv(LIMIT_VARIABLE, str(64 * 1024 * MIB))
    return found


def test_twice_what_runs_took_is_taken_on_their_core_and_the_thread_keeps_its_own(taken):
    pages, before = FreePages(), os.sched_getaffinity(0)
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=100 * MIB)])

    assert pages.renew([TRIAL, TRIAL], CORES[-1:]) == 400 * MIB
    assert taken == [(400 * MIB, {CORES[-1]})]
    assert os.sched_getaffinity(0) == before


def test_what_is_taken_is_shared_out_over_the_cores(taken):
    pages = FreePages()
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=96 * MIB)])
    assert pages.renew([TRIAL], CORES) == sum(length for length, _ in taken) == 192 * MIB
    assert [cores for _, cores in taken] == [{core} for core in CORES]
    assert len({length for length, _ in taken}) == 1


def test_another_block_of_a_trial_takes_as_much_and_a_run_that_does_not_tell_changes_nothing(taken):
    pages = FreePages()
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=50 * MIB), make_run(trial=TRIAL)])
    assert pages.renew([TRIAL.in_block(3)], CORES[-1:]) == 100 * MIB


def test_what_has_not_run_takes_as_much_as_what_takes_most(taken):
    pages, larger = FreePages(), make_trial(batch_size=64, images_per_epoch=64)
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=50 * MIB)])
    pages.learn([make_run(trial=larger, peak_memory_bytes=70 * MIB)])
    assert pages.renew([TRIAL, make_trial(batch_size=32, images_per_epoch=64)], CORES[-1:]) == 240 * MIB


def test_for_large_arms_and_for_many_there_is_a_limit(taken):
    pages = FreePages()
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=200 * MIB)])
    assert pages.renew([TRIAL] * 5, CORES[-1:]) == MOST_BYTES == 768 * MIB


def test_for_calls_of_a_convolution_nothing_is_taken(taken):
    pages, calls = FreePages(), Conv2dTrial(library="torch", mode="eager", images=8, height=8, width=8)
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=200 * MIB)])
    assert pages.renew([calls, calls], CORES[-1:]) == 0 and not taken


def test_where_memory_is_short_an_eighth_of_it_is_taken(taken, monkeypatch):
    pages = FreePages()
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=50 * MIB)])
    monkeypatch.setenv(LIMIT_VARIABLE, str(80 * MIB))
    assert pages.renew([TRIAL], CORES[-1:]) == 10 * MIB
    monkeypatch.setenv(LIMIT_VARIABLE, "0")
    assert pages.renew([TRIAL], CORES[-1:]) == 0 and len(taken) == 1


def test_nothing_is_taken_without_a_run_that_told_or_a_core(taken):
    pages = FreePages()
    assert pages.renew([TRIAL], CORES[-1:]) == 0
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=50 * MIB)])
    assert pages.renew([TRIAL], []) == 0 and not taken


def test_where_the_kernel_refuses_the_block_begins_as_it_is(monkeypatch):
    def refuses(*_, **__):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    pages, before = FreePages(), os.sched_getaffinity(0)
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=4 * MIB)])
    monkeypatch.setattr(free_pages.mmap, "mmap", refuses)
    assert pages.renew([TRIAL], CORES[-1:]) == 0
    assert os.sched_getaffinity(0) == before


def test_the_kernel_takes_it_at_once():
    """Without a stand-in: the memory is this process's for a moment, and is gone afterwards."""
    pages = FreePages()
    pages.learn([make_run(trial=TRIAL, peak_memory_bytes=4 * MIB)])
    assert pages.renew([TRIAL], CORES[-1:]) == 8 * MIB
