"""How much CPU time a container's or a job's limit grants, and how often it has stopped its processes. Linux.

A limit such as `docker run --cpus` or Kubernetes' `limits.cpu` is one of time, not of cores: the threads of a process
run on all of them until the time of a period, a tenth of a second as a rule, is used up, and then stand still.
Source: https://docs.kernel.org/scheduler/sched-bwc.html
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from trainspeed.sensors.control_groups import FILE_SYSTEM, control_groups


class Periods(NamedTuple):
    """Periods of a limit so far, and in how many of them it stopped somebody."""

    elapsed: int
    throttled: int


def core_quota(root: Path = FILE_SYSTEM) -> float | None:
    """Return how many cores' worth of time the control groups grant (`docker run --cpus`, a job); None if all."""
    quotas = []
    for group in control_groups("cpu", root):
        quota, _, period = _text(group / "cpu.max").strip().partition(" ")
        if not period:  # version 1 of control groups
            quota, period = (_text(group / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
        if quota.isdigit() and period.isdigit() and int(period):  # "max" and -1 mean no limit
            quotas.append(int(quota) / int(period))
    return min(quotas, default=None)


def limit_periods(root: Path = FILE_SYSTEM) -> dict[str, Periods]:
    """Return those of each control group that has had a limit, by its folder; both versions name them alike."""
    found = {}
    for group in control_groups("cpu", root):
        facts = dict(line.split() for line in _text(group / "cpu.stat").splitlines() if line.count(" ") == 1)
        numbers = facts.get("nr_periods", ""), facts.get("nr_throttled", "")
        if all(map(str.isdigit, numbers)) and int(numbers[0]):
            found[str(group)] = Periods(*map(int, numbers))
    return found


def throttled_of(before: Mapping[str, Periods], after: Mapping[str, Periods]) -> float | None:
    """Return in which share of the periods between two readings a limit stopped somebody: of the tightest limit.

    None where no period went by: there is no limit.
    """
    shares = []
    for group, end in after.items():
        begin = before.get(group, Periods(0, 0))
        if (elapsed := end.elapsed - begin.elapsed) > 0:
            shares.append(min(1.0, max(0, end.throttled - begin.throttled) / elapsed))
    return max(shares, default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""
