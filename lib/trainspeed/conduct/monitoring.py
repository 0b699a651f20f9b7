"""The monitor's process beside a study: it begins before the first run, and ends after the last."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def monitoring(out: Path, interval_s: float, cores: Sequence[int]) -> Iterator[None]:
    """Run the monitor's process while measuring; it dies with this process."""
    out.parent.mkdir(parents=True, exist_ok=True)
    # -P: a file of the user's in this folder may have the name of a module.
    command = [sys.executable, "-P", "-m", "trainspeed.monitor", "--interval", str(interval_s)]
    command += ["--out", str(out)]
    command += ["--parent", str(os.getpid()), "--until-stdin-closes"]
    command += ["--cores", ",".join(map(str, cores))] if cores else []
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=5 + 2 * interval_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
