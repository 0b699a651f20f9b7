"""Levers of the host that are the same in every framework: what the environment or Python has, and how it is seen."""

from __future__ import annotations

import ctypes
import gc
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trainspeed.core.format import counted
from trainspeed.core.levers.host import (
    ALL_CORES,
    ALLOCATORS,
    AS_SET,
    HALF_THREADS,
    LEAST_CORES_TO_HALVE,
    MALLOC_THRESHOLDS,
    MMAP_THRESHOLD_BYTES,
    ONE_THREAD,
    half_of,
)
from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.sensors.memory import HUGE_PAGES_MODE, huge_pages_mode
from trainspeed.sensors.processes import all_cores
from trainspeed.worker.failures import Unsupported
from trainspeed.worker.levers import process
from trainspeed.worker.levers.hook import Hook

TUNABLE_SINCE = (2, 35)  # glibc; older ones pass over glibc.malloc.hugetlb without a word
MOSTLY = 0.5  # of the heap: where glibc asks for huge pages, it does so for all but its ends
MB = 2**20
BELOW_BYTES = (
    MMAP_THRESHOLD_BYTES - MB
)  # glibc left alone maps such a piece, until one as large was given back
IS_MAPPED = 2  # bit of the size that stands before a piece of glibc's. Source: malloc/malloc.c, IS_MMAPPED


def check_threads(value: str, variables: Sequence[str]) -> None:
    """Raise Unsupported where there are too few cores, or one of these variables of the user's sets another number.

    Args:
        value: Of the lever; one that leaves the number to the variables needs one of them.
    """
    if value == AS_SET[1]:
        if not _set_by(variables):
            raise Unsupported(f"none of {', '.join(variables)} sets a number of threads in your environment")
        return
    cores = len(all_cores())
    if cores == 1:
        raise Unsupported("there is one core to use here")
    if value == HALF_THREADS[1] and cores < LEAST_CORES_TO_HALVE:
        raise Unsupported(
            f"there are {cores} cores to use here: half of them is worth a try from {LEAST_CORES_TO_HALVE} on"
        )
    for name, number in _set_by(variables).items():
        raise Unsupported(f"{name} is set to {number!r} in your environment; unset it to try this lever")


def _set_by(variables: Sequence[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in variables if os.environ.get(name)}


def threads_seen(value: str, variables: Sequence[str], number: int | None, plain: int, how_read: str) -> Seen:
    """Return what a run saw of the lever threads.

    A variable may ask for more than a framework takes: with MKL that is one for each core at most.

    Args:
        value: Of the lever.
        variables: With which a user sets the number.
        number: Threads that the framework computes with; None where it only tells that they are its own choice.
        plain: As many as a plain script would have.
        how_read: How the number was found.
    """
    if value == AS_SET[1]:
        given = _set_by(variables)
        said = ", ".join(f"{name}={text}" for name, text in given.items())
        how = f"{said or 'no variable is set'}; {how_read}"
        if not given:
            return None, how
        asked = [int(text) for text in given.values() if text.isdecimal()]
        held = number is None or not asked or number in asked or number == plain < max(asked)
        return (AS_SET[1] if held else counted(number, "thread")), how
    number = plain if number is None else number
    allowed = set(all_cores())
    cores = {core for thread in process.threads() for core in thread.cores} & allowed
    whole = cores == allowed and number == plain
    how = f"{how_read}; its threads may run on {len(cores)} of {counted(len(allowed), 'core')}"
    if value == HALF_THREADS[1] and number == half_of(plain) <= len(cores):
        return value, how
    alone = number <= 1 and len(cores) == 1
    return (ONE_THREAD[1] if alone else ALL_CORES[1] if whole else counted(number, "thread")), how


def _allocator(value: str, _training: Any) -> Seen:
    library = ALLOCATORS[value].partition(".so")[0]
    path = process.library_path(library)
    if path is None:
        return "glibc", f"{library} is not in {process.PROCESS / 'maps'}"
    return value, f"{Path(path).name} is in {process.PROCESS / 'maps'}{_thresholds_of_plain()}"


def _thresholds_of_plain() -> str:
    """Return what the plain trial beside it has of glibc's malloc, which a script has not; "" where nothing."""
    held = [f"{name}={os.environ[name]}" for name in MALLOC_THRESHOLDS if os.environ.get(name)]
    return f"; the plain trial has glibc's malloc with {' and '.join(held)}, a script has not" if held else ""


def check_glibc(_value: str, _device: str) -> None:
    """Raise Unsupported where malloc is another library's."""
    name, version = platform.libc_ver()
    if name != "glibc":
        raise Unsupported(f"these are glibc's; here is {name or 'another C library'} {version}".rstrip())


def _thresholds(_value: str, _training: Any) -> Seen:
    """Tell by a piece of memory: the variables say only what was asked for."""
    mapped = _is_mapped(BELOW_BYTES)
    where = "a mapping of its own" if mapped else "the heap"
    return (OFF if mapped else ON), f"malloc took {BELOW_BYTES / MB:.0f} MB from {where}"


def _is_mapped(size: int) -> bool:
    """Return whether glibc's malloc maps a piece of so many bytes instead of taking it from its heap."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    piece = libc.malloc(size)
    if not piece:
        raise MemoryError(f"malloc had no {size} bytes")
    try:
        before = ctypes.c_size_t.from_address(piece - ctypes.sizeof(ctypes.c_size_t)).value
    finally:
        libc.free(piece)
    return bool(before & IS_MAPPED)


def check_huge_pages(_value: str, _device: str) -> None:
    """Raise Unsupported where glibc or the kernel has no such switch, or every program has huge pages anyway."""
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(map(int, version.split(".")[:2])) < TUNABLE_SINCE:
        needed = ".".join(map(str, TUNABLE_SINCE))
        raise Unsupported(
            f"huge pages need glibc {needed} or later; here is {name or 'another C library'} {version}"
        )
    mode = huge_pages_mode(HUGE_PAGES_MODE)
    if mode == "always":
        raise Unsupported(f"huge pages are always on here: {HUGE_PAGES_MODE} says so")
    if mode in (None, "never"):
        raise Unsupported(f"this kernel gives no huge pages: {HUGE_PAGES_MODE} would have to say madvise")


def _huge_pages(_value: str, _training: Any) -> Seen:
    pages = process.huge_pages()
    how = (
        f"huge pages were asked for in {pages.heap_advised / MB:.0f} of {pages.heap / MB:.0f} MB of the heap, and "
        f"{pages.held / MB:.0f} MB are in them ({process.PROCESS / 'smaps'}){_thresholds_of_plain()}"
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
    "malloc_thresholds": Hook(flags=check_glibc, seen=_thresholds),
    "huge_pages": Hook(flags=check_huge_pages, seen=_huge_pages),
    "python_gc": Hook(flags=_collections.turn_off, seen=_collections.seen),
}
