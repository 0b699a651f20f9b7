"""One JupyterLab and one browser for all tests of this folder. Skipped, with the reason, where there is no Chromium.

Each notebook measures into a folder of its own: `layout` on the fake backend, whose runs wait at a gate, the others
with real PyTorch and less than the smoke preset asks for; `summary` looks at a recorded report.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from browser_helper import browser, executable
from gated_backend import GATE
from lab_helper import Lab, server
from shared_workers import QUICK_COMPILER
from smoke_report import SHORT_RUNS
from trainspeed.core.factors import RECIPE
from trainspeed.core.files import VERDICTS
from trainspeed.core.paths import ROOT
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.report.parameter_text import with_values
from trainspeed.report.parameters import TAG, read_parameters
from trainspeed.report.run import NOTEBOOKS
from trainspeed.sensors.cpu import FLAGS_VARIABLE

TESTS = Path(__file__).parents[1]
GATED = "layout"
# Notebook -> values of its parameters beside the smoke preset's.
LESS: dict[str, dict[str, Any]] = {
    "layout": {
        "frameworks": ["torch"],
        "models": ["cnn10"],
        "controls": [],
        "blocks": 2,
        "images_per_epoch": 32,
    }
    | {"image_size": 8, "interval_s": 0.2},
    "multi_gpu": {"frameworks": ["torch"], "strategies": ["ddp"], "pipelines": []},
    "amp": {"frameworks": ["torch"], "keras_models": [], "fit_frameworks": []},
    "conv2d": {"libraries": ["torch", "scipy_signal"], "survey_libraries": [], "controls": []}
    | {"device_libraries": [], "image_counts": [1], "channels": [1], "filter_sizes": [3]},
    "switches": {"levers": ["layout"], "budget_s": 10.0},
    "check": {},
    "summary": {},
}
# What a reader changes in the cells to explore: fewer repeats, and nothing that compiles for half a minute.
CHANGED = {"blocks=6": "blocks=1", "compile=True": "batch_size=16", 'precision="bf16"': "batch_size=8"}
# Which notebook a kernel runs is in a variable that Jupyter sets.
FIRST = """
import os
from pathlib import Path
from trainspeed.worker import backends

name = Path(os.environ["JPY_SESSION_NAME"]).stem
os.environ["TRAINSPEED_OUT"] = os.path.join({out!r}, name)
if name == {gated!r}:
    backends.MODULES.update(dict.fromkeys({frameworks!r}, "gated_backend"))
    os.environ.update(dict.fromkeys({interpreters!r}, {python!r}))
"""


@dataclass(frozen=True)
class Workplace:
    """What the tests drive and look at.

    Attributes:
        notebooks: The folder that is open in JupyterLab.
        out: Has for each notebook the folder that it measures to.
        gate: The file at which the runs of `GATED` wait.
    """

    lab: Lab
    notebooks: Path
    out: Path
    gate: Path


def copy_of(name: str, folder: Path) -> None:
    """Write a notebook whose parameters ask for little."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    cell = next(cell for cell in notebook.cells if TAG in cell.metadata.get("tags", []))
    cell.source = with_values(
        cell.source, read_parameters(NOTEBOOKS / "presets/smoke.yaml", NOTEBOOKS)[name] | LESS[name]
    )
    for explored in (cell for cell in notebook.cells if cell.id == "explore-change"):
        for before, after in CHANGED.items():
            explored.source = explored.source.replace(before, after)
    nbformat.write(notebook, folder / f"{name}.ipynb")


def write_report(out: Path) -> None:
    """Write the recorded report for `summary`, as if a search had kept what one of its verdicts is on."""
    shutil.copytree(ROOT / "data/measured/xeon-amx-2-cores", out)
    verdicts = json.loads((TESTS / "golden/verdicts.json").read_text())
    of_torch = next(
        v for v in verdicts if v["study"] == "layout" and v["baseline"].get("framework") == "torch"
    )
    (out / VERDICTS).write_text(json.dumps([*verdicts, of_torch | {"study": "switches", "factor": RECIPE}]))


@pytest.fixture(scope="session")
def workplace(tmp_path_factory) -> Iterator[Workplace]:
    """The notebooks in JupyterLab."""
    if executable() is None:
        pytest.skip("no Chromium here: install it (apt install chromium), or name one: TRAINSPEED_CHROMIUM=…")
    pytest.importorskip("playwright", reason="playwright is not installed: `make setup` installs it")
    folder = tmp_path_factory.mktemp("jupyter")
    notebooks, out, gate = folder / "notebooks", folder / "out", folder / "gate"
    notebooks.mkdir()
    for name in LESS:
        copy_of(name, notebooks)
    write_report(out / "summary")
    first = FIRST.format(
        out=str(out),
        gated=GATED,
        frameworks=FRAMEWORKS,
        interpreters=[f"TRAINSPEED_PYTHON_{name.upper()}" for name in FRAMEWORKS],
        python=sys.executable,
    )
    paths = [SHORT_RUNS, ROOT / "lib", TESTS, os.environ.get("PYTHONPATH", "")]
    environment = {"PYTHONPATH": os.pathsep.join(map(str, paths)), GATE: str(gate)}
    environment |= {"TRAINSPEED_DEVICE": "cpu", FLAGS_VARIABLE: "", **QUICK_COMPILER}
    environment["OMP_NUM_THREADS"] = "1"  # two that spin for each other take minutes where a core is busy
    with server(folder, notebooks, environment, startup=first) as address, browser() as started:
        lab = Lab(started.new_page(), address)
        lab.watch_bars()
        yield Workplace(lab, notebooks, out, gate)
