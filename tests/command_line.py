"""Run this project's own command as a user does, on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys


def trainspeed(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Return how the command ended and what it printed; `variables` are of its environment."""
    command = [sys.executable, "-m", "trainspeed", *arguments]
    environment = {**os.environ, "TRAINSPEED_DEVICE": "cpu", **variables}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=900)
