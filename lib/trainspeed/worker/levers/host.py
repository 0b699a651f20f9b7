"""Levers of the host that are the same in every framework: what the environment or Python has, and how it is seen."""

from __future__ import annotations

import gc
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainspeed.core.format import counted
from trainspeed.core.levers.host import ALL_CORES, ALLOCATORS, ONE_THREAD
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.sensors.processes import all_cores
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import process
from trainspeed.worker.levers.hook import Hook

HUGE_PAGES_MODE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
TUNABLE_SINCE = (2, 35)  # glibc; older ones pass over glibc.malloc.hugetlb without a word
MOSTLY = 0.5  # of the heap: where glibc asks for huge pages, it does so for all but its ends
MB = 2**20


def check_threads(variables: Sequence[str]) -> None:
    """Raise Unsupported where all cores are one, or one of these variables of the user's sets another number."""
    if len(all_cores()) == 1:
        raise Unsupported("there is one core to use here")
    for name in variables:
        if number := os.environ.get(name):
            raise Unsupported(f"{name} is set to {number!r} in your environment; unset it to try this lever")


def threads_seen(number: int, plain: int, told: str) -> Seen:
    """Return what a run saw of the lever threads.

    Args:
        number: Threads that the framework computes with.
        plain: As many as a plain script would have.
        told: How the number was found.
    """
    allowed = set(all_cores())
    cores = {core for thread in process.threads() for core in thread.cores} & allowed
    whole = cores == allowed and number == plain
    how = f"{told}; its threads may run on {len(cores)} of {counted(len(allowed), 'core')}"
    alone = number <= 1 and len(cores) == 1
    return (ONE_THREAD[1] if alone else ALL_CORES[1] if whole else counted(number, "thread")), how


def _allocator(value: str, _training: Any) -> Seen:
    library = ALLOCATORS[value].partition(".so")[0]
    path = process.library_path(library)
    if path is None:
        return "glibc", f"{library} is not in {process.PROCESS / 'maps'}"
    return value, f"{Path(path).name} is in {process.PROCESS / 'maps'}"


def check_huge_pages(_value: str, _device: str) -> None:
    """Raise Unsupported where glibc or the kernel has no such switch, or every program has huge pages anyway."""
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split(".")[:2])) < TUNABLE_SINCE:
        needed = ".".join(map(str, TUNABLE_SINCE))
        raise Unsupported(
            f"huge pages need glibc {needed} or later; here is {name or 'another C library'} {version}"
        )
    mode = HUGE_PAGES_MODE.read_text() if HUGE_PAGES_MODE.exists() else "[never]"
    if "[always]" in mode:
        raise Unsupported(f"huge pages are always on here: {HUGE_PAGES_MODE} says so")
    if "[never]" in mode:
        raise Unsupported(f"this kernel gives no huge pages: {HUGE_PAGES_MODE} would have to say madvise")


def _huge_pages(_value: str, _training: Any) -> Seen:
    pages = process.huge_pages()
    how = (
        f"huge pages were asked for in {pages.heap_advised / MB:.0f} of {pages.heap / MB:.0f} MB of the heap, and "
        f"{pages.held / MB:.0f} MB are in them ({process.PROCESS / 'smaps'})"
    )
    on = pages.heap_advised > MOSTLY * pages.heap and pages.held > 0
    return (ON if on else OFF), how


class _Collections:
    """Counts how often Python has looked for cycles since the lever was set."""

    def __init__(self) -> None:
        self._before = 0

    def turn_off(self, _value: str, _device: str) -> None:
        """Let Python look for no more cycles by itself, and forget those of the building so far."""
        gc.collect()
        gc.disable()
        self._before = self._number()

    def seen(self, _value: str, _training: Any) -> Seen:
        count = counted(self._number() - self._before, "collection")
        return (ON if gc.isenabled() else OFF), f"gc.isenabled() is {gc.isenabled()}, {count} since"

    def _number(self) -> int:
        return sum(generation["collections"] for generation in gc.get_stats())


_collections = _Collections()

HOOKS: Mapping[str, Hook] = {
    "allocator": Hook(seen=_allocator),
    "huge_pages": Hook(flags=check_huge_pages, seen=_huge_pages),
    "python_gc": Hook(flags=_collections.turn_off, seen=_collections.seen),
}
