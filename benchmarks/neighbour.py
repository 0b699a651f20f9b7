"""A noisy neighbour: a process on one core that keeps a third of it busy, in bursts.

    python benchmarks/neighbour.py CORE SEED PARENT

It copies memory, so that caches and bandwidth that the cores share are disturbed, too. Knows nothing of what is
measured.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from trainspeed.core.paths import ROOT
from trainspeed.sensors.processes import die_with_parent, usable_cores

BUSY_SHARE = 1 / 3
SHORTEST_S, LONGEST_S = 0.2, 20.0  # of a burst
COPIED_BYTES = 64 * 2**20  # more than a core's own caches


def bursts(seed: int) -> Iterator[tuple[float, float]]:
    """Yield the seconds of a burst and of the pause after it, without end.

    Their lengths are spread evenly on a log scale, so that there are episodes of every length; pauses are as much
    longer as the busy share asks for.
    """
    draw = random.Random(seed)
    longer = (1 - BUSY_SHARE) / BUSY_SHARE

    def length_s() -> float:
        return math.exp(draw.uniform(math.log(SHORTEST_S), math.log(LONGEST_S)))

    while True:
        yield length_s(), longer * length_s()


def core_for(where: str) -> int | None:
    """Return the core of a neighbour: an arm's "own" one, or the "other" one next to it; None without one.

    An arm on one core has the last usable one; a machine with one core has no other.

    Raises:
        ValueError: It is neither "own", "other" nor "none".
    """
    if where not in ("own", "other", "none"):
        raise ValueError(f"neighbour (={where!r}) must be own, other or none.")
    cores = usable_cores()
    if where == "none" or not cores:
        return None
    return cores[-1] if where == "own" or len(cores) == 1 else cores[-2]


@contextmanager
def neighbour(core: int | None, seed: int) -> Iterator[None]:
    """Have a neighbour on a core, if there is one; it ends with the context, and dies with this process."""
    if core is None:
        yield
        return
    command = [sys.executable, __file__, str(core), str(seed), str(os.getpid())]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "lib")}
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        yield
        if process.poll() is not None:
            raise SystemExit(
                f"bench: the neighbour on core {core} has ended with exit code {process.returncode}"
            )
    finally:
        process.kill()
        process.wait()


def disturb(core: int, seed: int) -> None:
    """Copy memory in bursts on a core, without end."""
    os.sched_setaffinity(0, {core})
    source, target = bytes(COPIED_BYTES), bytearray(COPIED_BYTES)
    for busy_s, idle_s in bursts(seed):
        until = time.monotonic() + busy_s
        while time.monotonic() < until:
            target[:] = source
        time.sleep(idle_s)


if __name__ == "__main__":
    die_with_parent(parent=int(sys.argv[3]))
    disturb(int(sys.argv[1]), int(sys.argv[2]))
