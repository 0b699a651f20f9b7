"""Levers of the host, which are the same in every framework: what the environment set, and how that is seen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainspeed.core.levers.lever import OFF, ON
from trainspeed.core.result import Seen
from trainspeed.worker.levers.hook import Hook

SMAPS = Path("/proc/self/smaps_rollup")


def _huge_pages(_value: str, _training: Any) -> Seen:
    for line in SMAPS.read_text().splitlines():
        if line.startswith("AnonHugePages:"):
            kilobytes = int(line.split()[1])
            return (ON if kilobytes else OFF), f"AnonHugePages {kilobytes} kB in {SMAPS}"
    return None, f"{SMAPS} does not tell"


HOOKS: Mapping[str, Hook] = {"huge_pages": Hook(seen=_huge_pages)}
