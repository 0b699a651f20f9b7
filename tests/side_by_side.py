"""Run a probe in each installed framework's own environment, all at once: they import and trace on one core."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from trainspeed import interpreters
from trainspeed.environments import ROOT
from trainspeed.trial import FRAMEWORKS

ENVIRONMENT = {"PYTHONPATH": str(ROOT / "lib"), "CUDA_VISIBLE_DEVICES": ""}
END_S = 600


def run_probe(probe: Path, arguments: Callable[[str], Sequence[str | Path]]) -> list[str]:
    """Return the frameworks that are installed, when the probe has ended well in each.

    Args:
        arguments: Of the probe, after the name of the framework.
    """
    pythons = {name: python for name in FRAMEWORKS if (python := interpreters.find(name))}
    started = {
        name: subprocess.Popen([python, probe, name, *arguments(name)], env={**os.environ, **ENVIRONMENT})
        for name, python in pythons.items()
    }
    try:
        assert {name: process.wait(END_S) for name, process in started.items()} == dict.fromkeys(pythons, 0)
    finally:
        for process in started.values():
            process.kill()
    return list(pythons)
