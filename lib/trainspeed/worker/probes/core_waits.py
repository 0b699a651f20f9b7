"""For how long the threads of this process wanted a core that others had: what makes a busy machine noisy."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

TASKS = Path("/proc/self/task")
NS_PER_S = 1e9


def core_waits_s(tasks: Path = TASKS) -> float | None:
    """Return the seconds that all threads together were ready to run and did not; None where the system cannot tell.

    Source: https://docs.kernel.org/scheduler/sched-stats.html
    """
    waits = []
    for path in tasks.glob("*/schedstat"):
        with suppress(OSError, ValueError, IndexError):  # the thread has ended, or the kernel counts nothing
            waits.append(int(path.read_text().split()[1]))
    return sum(waits) / NS_PER_S if waits else None
