"""CONTRIBUTING's "To add a study, look here", taken at its word: its cells make a study of the report."""

from __future__ import annotations

import json
import re
import shutil
import textwrap

import nbformat
import pytest
from bs4 import BeautifulSoup

from tiny_notebooks import code, text
from trainspeed import interpreters
from trainspeed.environments import ROOT
from trainspeed.report import report

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not interpreters.find("torch"), reason="torch is not installed"),
]
SMALL = {"blocks": 1, "images_per_epoch": 16, "image_size": 8}


def cells_of_the_recipe() -> list[str]:
    """Return the Python of the section's steps, in their order."""
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = contributing.partition("## To add a study, look here")[2].partition("\n## ")[0]
    return [
        textwrap.dedent(block).strip()
        for block in re.findall(r"^ *```python\n(.*?)^ *```", section, re.MULTILINE | re.DOTALL)
    ]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder, out = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("report")
    parameters, *others = cells_of_the_recipe()
    cells = [text("# Does a larger batch train faster?"), code(parameters, "parameters"), *map(code, others)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "batch.ipynb")
    shutil.copy(ROOT / "notebooks/summary.ipynb", folder)
    (folder / "presets").mkdir()
    (folder / "presets/tiny.yaml").write_text(json.dumps({"batch": SMALL}))
    assert report(preset="tiny", notebooks=["batch"], out=out, folder=folder) == 0
    return out


def test_the_recipe_is_a_notebook_with_parameters_a_run_and_verdicts():
    parameters, run, verdicts = cells_of_the_recipe()

    assert "blocks: int" in parameters and "measure(" in run and "notebook.record" in verdicts
    assert all(len(cell.splitlines()) <= 20 for cell in (parameters, run, verdicts))


def test_its_runs_are_in_the_ledger_under_its_name(out):
    runs = [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()]

    assert {run["study"] for run in runs} == {"batch"} and {run["status"] for run in runs} == {"ok"}
    assert sorted(run["trial"]["batch_size"] for run in runs) == [8, 8, 16], "the control runs twice"
    assert list((out / "monitor").glob("*-batch.csv"))


def test_its_page_has_the_sections_of_every_study(out):
    page = BeautifulSoup((out / "batch.html").read_text(), "html.parser")

    assert len(page.select(".figure img")) == 2, "speed-ups and monitor"
    captions = [caption.get_text() for caption in page.select("caption")]
    assert {"The machine", "Verdicts"} <= set(captions)


def test_the_front_page_shows_its_verdict_with_a_link(out):
    front = BeautifulSoup((out / "index.html").read_text(), "html.parser")

    assert "Does a larger batch train faster?" in front.get_text()
    assert [a for a in front.select("td a") if a["href"].startswith("batch.html")]
