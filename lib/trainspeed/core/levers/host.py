"""The levers of the host: threads, allocators, flags of libraries. Knows no framework."""

from __future__ import annotations

from trainspeed.core.levers.lever import Level, Lever

LEVERS = (
    Lever(
        name="huge_pages",
        words="huge pages",
        level=Level.ENVIRONMENT,
        environment={"on": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}},
        default="the system's: mostly only where a program asks for them",
        evidence="AnonHugePages in /proc/self/smaps_rollup",
        source="https://sourceware.org/glibc/manual/latest/html_node/Memory-Allocation-Tunables.html",
    ),
)
