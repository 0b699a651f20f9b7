"""On a real GPU: every way in which images can come to it is seen in effect, and teaches what images that stay do."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from probes.gpu_feeding_probe import ARMS
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import FRAMEWORKS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.path.exists("/dev/nvidiactl"), reason="needs a real NVIDIA GPU"),
]


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_however_images_come_to_the_gpu_they_teach_the_same(framework):
    """A batch that is computed before its copy has ended, or overwritten while it is read, teaches something else."""
    if (python := find_interpreter(framework)) is None:
        pytest.skip(f"{framework} is not installed here")
    paths = [str(ROOT / "lib"), str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    command = [python, "-m", "probes.gpu_feeding_probe", framework]

    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)

    assert ended.returncode == 0, ended.stderr[-2000:]
    learned = json.loads(ended.stdout.splitlines()[-1])
    for name, (levers, fields) in ARMS[framework].items():
        seen = learned[name]["in_effect"]
        assert {lever: seen[lever][0] for lever, _ in levers} == dict(levers), (name, seen)
        plain = learned["workers" if fields else "resident"]["numbers"]
        assert learned[name]["numbers"] == pytest.approx(plain, rel=1e-2, abs=0.05), name
