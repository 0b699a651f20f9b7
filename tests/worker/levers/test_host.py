"""Levers of the host: what was asked for and is not there is never taken for being in effect."""

import gc
import os
import platform
import subprocess
import sys

import pytest

from trainspeed.core.levers.host import MALLOC_THRESHOLDS
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import host, process
from trainspeed.worker.levers.process import HugePages, Thread

MB = 2**20


@pytest.fixture
def machine(monkeypatch):
    """A function that sets what the kernel tells of this process; it may use cores 0 and 1."""
    monkeypatch.setattr(host, "all_cores", lambda: [0, 1])

    def told(**values):
        for name, value in values.items():
            monkeypatch.setattr(process, name, lambda *_, value=value: value)

    return told


def thread(*cores):
    return Thread(name="python", cores=frozenset(cores))


def seen(name, value, training=None):
    return host.HOOKS[name].seen(value, training)


@pytest.mark.parametrize(
    ("cores", "number", "found"),
    [
        ([(0, 1), (0, 1)], 2, "all"),
        ([(0,), (1,)], 2, "all"),  # placed, each on its own
        ([(1,), (1,)], 2, "2 threads"),  # on one core still
        ([(0, 1), (0, 1)], 1, "1 thread"),
    ],
)
def test_all_threads_are_in_effect_only_on_all_cores(machine, cores, number, found):
    machine(threads=[thread(*each) for each in cores])

    value, how = host.threads_seen("all", ["OMP_NUM_THREADS"], number, 2, "it says so")

    assert value == found
    assert how.startswith("it says so; its threads may run on ")


def test_a_number_of_threads_that_the_user_has_set_is_not_all(machine, monkeypatch):
    """PyTorch would take it for its own: one thread, called all."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert host.check_threads("all", ["OMP_NUM_THREADS"]) is None
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with pytest.raises(Unsupported, match="OMP_NUM_THREADS is set to '1' in your environment; unset it"):
        host.check_threads("all", ["OMP_NUM_THREADS"])


def test_a_number_of_threads_that_the_user_has_set_is_left_alone_where_the_plain_trial_has_it(monkeypatch):
    names = ["OMP_NUM_THREADS", "MKL_NUM_THREADS"]
    for name in names:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(
        Unsupported, match="none of OMP_NUM_THREADS, MKL_NUM_THREADS sets a number of threads"
    ):
        host.check_threads("as_set", names)
    assert host.threads_seen("as_set", names, 1, 2, "it says so")[0] is None
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    assert host.check_threads("as_set", names) is None
    assert host.threads_seen("as_set", names, 4, 2, "it says so") == (
        "as_set",
        "OMP_NUM_THREADS=4; it says so",
    )


@pytest.mark.parametrize(
    ("variable", "number", "plain", "found"),
    [
        ("4", 1, 2, "1 thread"),
        ("4", 8, 8, "8 threads"),
        ("4", 2, 2, "as_set"),  # MKL takes no more than there are cores
        ("4,2", 4, 4, "as_set"),
        ("4", None, 2, "as_set"),  # TensorFlow tells no number that a variable set
    ],
)
def test_another_number_than_a_variable_says_is_not_as_set(monkeypatch, variable, number, plain, found):
    monkeypatch.setenv("OMP_NUM_THREADS", variable)

    value, how = host.threads_seen("as_set", ["OMP_NUM_THREADS"], number, plain, "it says so")

    assert (value, how) == (found, f"OMP_NUM_THREADS={variable}; it says so")


def test_one_core_is_all_of_them_already(monkeypatch):
    monkeypatch.setattr(host, "all_cores", lambda: [3])
    with pytest.raises(Unsupported, match="there is one core to use here"):
        host.check_threads("all", [])


def test_half_of_the_cores_needs_some_to_halve(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(host, "all_cores", lambda: [0, 1, 2])
    with pytest.raises(
        Unsupported, match="there are 3 cores to use here: half of them is worth a try from 4 on"
    ):
        host.check_threads("half", ["OMP_NUM_THREADS"])
    monkeypatch.setattr(host, "all_cores", lambda: [0, 1, 2, 3])
    assert host.check_threads("half", ["OMP_NUM_THREADS"]) is None
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(Unsupported, match="OMP_NUM_THREADS is set to '2'"):
        host.check_threads("half", ["OMP_NUM_THREADS"])


@pytest.mark.parametrize(
    ("number", "cores", "found"),
    [
        (4, range(8), "half"),
        (4, range(4, 8), "half"),  # XLA's are on half of the cores
        (4, range(2), "4 threads"),  # on too few
        (8, range(8), "all"),
        (1, [7], "one"),
        (3, range(8), "3 threads"),
    ],
)
def test_half_of_the_threads_are_in_effect_only_where_there_are_so_many(
    machine, monkeypatch, number, cores, found
):
    machine(threads=[thread(*cores)] * number)
    monkeypatch.setattr(host, "all_cores", lambda: [*range(8)])

    assert host.threads_seen("half", ["OMP_NUM_THREADS"], number, 8, "it says so")[0] == found


def test_an_allocator_that_was_not_loaded_is_not_in_effect(machine):
    """The linker passes over a library that it cannot load, and only prints so."""
    machine(library_path=None)
    assert seen("allocator", "jemalloc") == ("glibc", "libjemalloc is not in /proc/self/maps")

    machine(library_path="/usr/lib/libjemalloc.so.2")
    assert seen("allocator", "jemalloc") == ("jemalloc", "libjemalloc.so.2 is in /proc/self/maps")


@pytest.mark.parametrize(
    ("advised", "held", "found"), [(200, 100, "on"), (200, 0, "off"), (8, 100, "off"), (0, 0, "off")]
)
def test_huge_pages_are_in_effect_where_the_heap_asked_and_got_them(machine, advised, held, found):
    machine(huge_pages=HugePages(heap=202 * MB, heap_advised=advised * MB, held=held * MB))

    value, how = seen("huge_pages", "on")

    assert value == found
    assert f"asked for in {advised} of 202 MB of the heap, and {held} MB are in them" in how


@pytest.mark.parametrize(
    ("mode", "libc", "why"),
    [
        ("[always] madvise never", ("glibc", "2.36"), "always on here"),
        ("always madvise [never]", ("glibc", "2.36"), "this kernel gives no huge pages"),
        (None, ("glibc", "2.36"), "this kernel gives no huge pages"),
        ("always [madvise] never", ("glibc", "2.31"), "need glibc 2.35 or later; here is glibc 2.31"),
        ("always [madvise] never", ("", ""), "here is another C library"),
    ],
)
def test_huge_pages_that_cannot_be_switched_say_why(monkeypatch, tmp_path, mode, libc, why):
    file = tmp_path / "enabled"
    if mode:
        file.write_text(mode)
    monkeypatch.setattr(host, "HUGE_PAGES_MODE", file)
    monkeypatch.setattr("platform.libc_ver", lambda: libc)

    with pytest.raises(Unsupported, match=why):
        host.check_huge_pages("on", "cpu")


def test_huge_pages_can_be_switched_where_programs_ask_for_them(monkeypatch, tmp_path):
    file = tmp_path / "enabled"
    file.write_text("always [madvise] never")
    monkeypatch.setattr(host, "HUGE_PAGES_MODE", file)
    monkeypatch.setattr("platform.libc_ver", lambda: ("glibc", "2.36"))

    assert host.check_huge_pages("on", "cpu") is None


def test_what_runs_beside_an_allocator_has_thresholds_that_a_script_has_not(machine, monkeypatch):
    """Against a script's own malloc, the gain would be another one."""
    for name, text in MALLOC_THRESHOLDS.items():
        monkeypatch.setenv(name, text)
    machine(library_path="/usr/lib/libjemalloc.so.2", huge_pages=HugePages(heap=2, heap_advised=2, held=1))
    beside = "; the plain trial has glibc's malloc with MALLOC_MMAP_THRESHOLD_=33554432 and "
    beside += "MALLOC_TRIM_THRESHOLD_=67108864, a script has not"

    assert seen("allocator", "jemalloc")[1].endswith(beside)
    assert seen("huge_pages", "on")[1].endswith(beside)


LOOK = """
from trainspeed.worker.levers import host
host.check_glibc("off", "cpu")
print(host.HOOKS["malloc_thresholds"].seen("off", None)[0])
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="needs glibc's malloc")
@pytest.mark.parametrize(("variables", "found"), [(MALLOC_THRESHOLDS, "on"), ({}, "off")])
def test_mallocs_thresholds_are_seen_by_what_malloc_does(variables, found):
    own = {name: text for name, text in os.environ.items() if name not in MALLOC_THRESHOLDS}
    asked = [sys.executable, "-c", LOOK]
    told = subprocess.run(asked, env=own | variables, capture_output=True, text=True, check=True)

    assert told.stdout.strip() == found


def test_another_c_library_has_no_such_thresholds(monkeypatch):
    monkeypatch.setattr("platform.libc_ver", lambda: ("", ""))

    with pytest.raises(Unsupported, match="these are glibc's; here is another C library"):
        host.check_glibc("off", "cpu")


def test_pythons_collector_is_off_until_somebody_turns_it_on():
    try:
        host.HOOKS["python_gc"].flags("off", "cpu")
        gc.collect()
        assert seen("python_gc", "off") == ("off", "gc.isenabled() is False, 1 collection since")
        gc.enable()
        assert seen("python_gc", "off")[0] == "on"
    finally:
        gc.enable()
