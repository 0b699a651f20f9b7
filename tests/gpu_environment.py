"""Run a probe of `tests/probes` on the GPU in a framework's environment: the notebooks' own has none of them."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest

from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.paths import ROOT


def told_by(framework: str, module: str, *arguments: str) -> Any:
    """Return the JSON that a probe prints last; the test of a framework that is not installed is skipped."""
    if (python := find_interpreter(framework)) is None:
        pytest.skip(f"{framework} is not installed here")
    paths = [str(ROOT / "lib"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [python, "-m", module, *arguments]

    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])
