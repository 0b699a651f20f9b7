"""What a node is, as far as it decides how long a run takes, and what it measures with."""

from __future__ import annotations

import hashlib
import json
import subprocess
from functools import cache
from pathlib import Path

from trainspeed.conduct.cluster.orders import NodeFacts
from trainspeed.conduct.machine import devices, find_interpreter
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import FRAMEWORKS

MEASURING = ("lib/**/*.py", "notebooks/*.ipynb", "notebooks/presets/*.yaml")  # what a run of it depends on
INSTALLERS = ("pip", "setuptools", "uv", "wheel")  # what is measured does not need them
NO_ANSWER_S = 60.0  # an interpreter on a cold disk was seen to take seconds
LIST_PACKAGES = (
    "import importlib.metadata as m, json, sys; "
    "found = {d.metadata['Name'].lower().replace('_', '-'): d.version for d in m.distributions()}; "
    "print(json.dumps({'python': sys.version.split()[0], **found}))"
)


def node_facts() -> NodeFacts:
    """Return the machine as in the ledger, the packages of each framework's environment, and a hash of the code."""
    _, _, machine = devices()
    versions = {name: packages(python) for name in FRAMEWORKS if (python := find_interpreter(name))}
    return NodeFacts(machine=dict(machine), versions=versions, code=code_hash())


@cache
def packages(python: str) -> dict[str, str]:
    """Return name -> version of what an interpreter can import, itself among it; nothing where it does not answer."""
    try:
        answer = subprocess.run(
            [python, "-I", "-c", LIST_PACKAGES], capture_output=True, timeout=NO_ANSWER_S, check=True
        )
        found = json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        return {}
    return {name: version for name, version in found.items() if name not in INSTALLERS}


def code_hash(root: Path = ROOT) -> str:
    """Return the beginning of a hash of what decides on measurements: file names and contents.

    Of a notebook its cells count, not what they have put out: one that was opened in JupyterLab is the same.

    Args:
        root: Folder of the project.
    """
    code = hashlib.sha256()
    for path in sorted(path for pattern in MEASURING for path in root.glob(pattern)):
        text = _cells(path) if path.suffix == ".ipynb" else path.read_bytes()
        code.update(path.relative_to(root).as_posix().encode() + b"\0" + text + b"\0")
    return code.hexdigest()[:12]


def _cells(path: Path) -> bytes:
    """Return the kind, tags and source of a notebook's cells; all of a file that is none."""
    text = path.read_bytes()
    try:
        cells = [
            (cell["cell_type"], cell["metadata"].get("tags"), "".join(cell["source"]))
            for cell in json.loads(text)["cells"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return text
    return json.dumps(cells).encode()
