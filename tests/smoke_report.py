"""One measured report for all tests of notebooks: every study with the smoke preset, and CONTRIBUTING's own."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from pathlib import Path

import nbformat
import pytest
import yaml

from shared_workers import ONEDNN, QUICK_COMPILER
from tiny_notebooks import code, text
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.files import CHECK
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run
from trainspeed.judge.comparison import Verdict
from trainspeed.report.run import NOTEBOOKS, report
from trainspeed.sensors.cpu import FLAGS_VARIABLE
from trainspeed.sensors.machine import logical_cores
from trainspeed.show.notebook import read_elements

SHORT_RUNS = Path(__file__).parent / "short_runs"
ADDED = "batch"  # the study of CONTRIBUTING
TINY = {"blocks": 1, "images_per_epoch": 16, "image_size": 8}
TWO_DEVICES = ("multi_gpu", "conv2d")  # cannot be measured on one CPU core


def cells_to_add() -> list[str]:
    """Return the Python of "To add a study, look here", in its order."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = contributing.partition("## To add a study, look here")[2].partition("\n## ")[0]
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    return [textwrap.dedent(block).strip() for block in blocks]


def measure(folder: Path, out: Path) -> None:
    """Measure the report that tests look at, on the CPU as if it had no 16-bit arithmetic.

    test_precision_arms and test_ceilings train in 16 bits. Where the CPU only pretends to have bfloat16, and
    has no AVX-512, a ceiling takes longer than its timeout.

    Args:
        folder: Gets a copy of the notebooks and their presets, and the study of CONTRIBUTING.
    """
    shutil.copytree(NOTEBOOKS, folder, dirs_exist_ok=True)
    parameters, *others = cells_to_add()
    cells = [text("# Does a larger batch train faster?"), code(parameters, "parameters"), *map(code, others)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / f"{ADDED}.ipynb")
    preset = folder / "presets/smoke.yaml"
    preset.write_text(preset.read_text() + yaml.safe_dump({ADDED: TINY}))
    names = ["layout", "amp"]
    names += TWO_DEVICES if logical_cores() > 1 else ()
    names += [ADDED, CHECK] if find_interpreter("torch") else []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRAINSPEED_DEVICE", "cpu")
        patch.setenv(FLAGS_VARIABLE, "")
        patch.setenv("PYTHONPATH", str(SHORT_RUNS), prepend=os.pathsep)
        for variable, value in (QUICK_COMPILER | ONEDNN).items():
            patch.setenv(variable, value)
        assert report(preset="smoke", notebooks=names, out=out, folder=folder) == 0


def runs_of(out: Path, study: str) -> list[Run]:
    """Return what the ledger holds of one study; every line is whole."""
    runs, doubts = Ledger(out).read()
    assert doubts == ()
    return [run for run in runs if run.study == study]


def verdicts_of(out: Path, study: str) -> list[Verdict]:
    """Return what one study recorded."""
    return [Verdict.from_dict(e) for e in read_elements(out / "verdicts.json") if e["study"] == study]
