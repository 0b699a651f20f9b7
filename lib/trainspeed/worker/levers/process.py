"""What the kernel tells of this process: its libraries, its threads and their cores, its huge pages. Linux.

Knows no lever and no framework.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROCESS = Path("/proc/self")
# Advice that was given for a mapping, in the field VmFlags. Source: proc_pid_smaps(5)
ADVISED = "hg"


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A thread of this process.

    Attributes:
        name: As the kernel has it: 15 letters at most.
        cores: Those that it may run on.
    """

    name: str
    cores: frozenset[int]


def threads(process: Path = PROCESS) -> list[Thread]:
    """Return the threads that there are now; none where the system does not tell."""
    found = []
    for task in sorted((process / "task").glob("*")):
        with contextlib.suppress(OSError, KeyError):  # it has ended meanwhile
            status = dict(line.split(":", 1) for line in (task / "status").read_text().splitlines())
            cores = frozenset(_numbers(status["Cpus_allowed_list"]))
            found.append(Thread(name=status["Name"].strip(), cores=cores))
    return found


def library_path(name: str, process: Path = PROCESS) -> str | None:
    """Return the path under which a library is mapped; None where it is not.

    Args:
        name: How its file name begins: "libjemalloc".
    """
    for line in (process / "maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if Path(path).name.startswith(name):
            return path
    return None


@dataclass(frozen=True, kw_only=True)
class HugePages:
    """Memory of this process and what of it is in huge pages, in bytes.

    Attributes:
        heap: Size of the heap.
        heap_advised: Of that, what the kernel was asked to put into huge pages.
        held: Resident in huge pages, of all memory for which that was asked.
    """

    heap: int
    heap_advised: int
    held: int


def huge_pages(process: Path = PROCESS) -> HugePages:
    """Return what the heap has of huge pages.

    The heap tells an allocator that asks for them from others who do: NumPy asks for its large arrays, anywhere.
    Source: https://numpy.org/doc/stable/reference/global_state.html
    """
    heap = heap_advised = held = 0
    for path, fields in _mappings(process):
        size, huge = _bytes(fields.get("Size", "")), _bytes(fields.get("AnonHugePages", ""))
        advised = ADVISED in fields.get("VmFlags", "").split()
        held += huge if advised else 0
        if path == "[heap]":
            heap += size
            heap_advised += size if advised else 0
    return HugePages(heap=heap, heap_advised=heap_advised, held=held)


def _mappings(process: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the path and the fields of each mapping."""
    path, fields = "", {}
    for line in (process / "smaps").read_text().splitlines():
        name, colon, value = line.partition(":")
        if colon and " " not in name:
            fields[name] = value.strip()
            continue
        if fields:
            yield path, fields
        parts = line.split(maxsplit=5)
        path, fields = parts[5].strip() if len(parts) > 5 else "", {}
    if fields:
        yield path, fields


def _bytes(text: str) -> int:
    return int(text.split()[0]) * 1024 if text else 0


def _numbers(text: str) -> Iterator[int]:
    """Yield the numbers of a list such as "0-3,8"."""
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
