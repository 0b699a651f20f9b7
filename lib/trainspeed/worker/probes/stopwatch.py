"""A clock outside this process: another process reads its own as each mark arrives. Knows no framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from types import TracebackType

from trainspeed.sensors.processes import CORES, usable_cores

# Reads a clock that nobody sets, not even by little, for each byte that comes, until there are no more.
PROGRAM = """
import json, os, sys, time
cores = json.loads(sys.argv[1])
if cores:
    os.sched_setaffinity(0, cores)
clock = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)
moments = []
print("ready", flush=True)
while os.read(0, 1):
    moments.append(time.clock_gettime(clock))
print(json.dumps(moments))
"""


class Stopwatch:
    """Takes the time of marks from outside, between entering and leaving it; on a core of its own if there is one.

    Attributes:
        spans_s: Seconds from each odd mark to the next even one, once it has been left: of the beginnings and ends
            of epochs, their durations.
    """

    def __init__(self) -> None:
        self.spans_s: tuple[float, ...] = ()

    def __enter__(self) -> Stopwatch:
        command = [sys.executable, "-I", "-S", "-c", PROGRAM, json.dumps(_other_cores())]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen(command, bufsize=0, **pipes)
        self._process.stdout.readline()  # its start is not in the first span
        return self

    def mark(self) -> None:
        """Mark this moment: takes some microseconds."""
        os.write(self._process.stdin.fileno(), b"x")

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.stdin.close()
        text = self._process.stdout.read()
        self._process.stdout.close()
        if self._process.wait() == 0:
            moments = json.loads(text)
            self.spans_s = tuple(end - begin for begin, end in zip(moments[::2], moments[1::2], strict=False))


def _other_cores() -> list[int]:
    """Return the cores that this process leaves free for others; none where it is pinned to none or to all."""
    every = {int(core) for core in os.environ.get(CORES, "").split(",") if core}
    return sorted(every - set(usable_cores()))
