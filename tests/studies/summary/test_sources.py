"""The summary notebook as it is written: what it says by itself, what it leads to, and what it refuses."""

import re

import nbformat
import pytest

from notebook_mistakes import mistake_in
from trainspeed.conduct.forecast import read_plan
from trainspeed.core.files import DRAWING, SUMMARY, notebook_names
from trainspeed.core.page_order import Part, parts_of
from trainspeed.report.parameters import read_notebook
from trainspeed.report.run import NOTEBOOKS

RESULT = re.compile(
    r"\d[\d.,]*\s*(?:(?:x|×|points|s|min)\b|%)|\b(?:is|are|was|were) (?:faster|slower|the same)\b"
)
# What has these words without being a result.
ALLOWED = (
    "95 % interval",
    "the setting named first is faster",
    "What is slower",
    "such as a machine that was slower",
)


def headings(name):
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells
    lines = [line for c in cells if c.cell_type == "markdown" for line in c.source.splitlines()]
    return [line.lstrip("#").strip() for line in lines if line.startswith("##")]


def results_in(text):
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return [found[0] for found in RESULT.finditer(text)]


def test_the_banners_link_has_a_section():
    """A report that is not complete says: see the notebooks."""
    assert "Notebooks" in headings(SUMMARY)


def test_no_result_is_typed_in_prose():
    cells = nbformat.read(NOTEBOOKS / "summary.ipynb", 4).cells
    for cell in cells:
        if cell.cell_type == "markdown":
            assert not results_in(cell.source), cell.source


@pytest.mark.parametrize("text", ["bf16 is 1.3x faster", "it took 20 min", "compiled is slower", "50 % less"])
def test_the_check_of_the_prose_can_fail(text):
    assert results_in(text)


def test_every_parameter_says_what_it_is():
    assert all(parameter.help for parameter in read_notebook(NOTEBOOKS / "summary.ipynb").values())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("confirm: -1", "confirm (=-1) must be a whole number of at least 0"),
        ("confirm_blocks: -1", "confirm_blocks (=-1) must be a whole number of at least 0"),
        ("seed: -1", "seed (=-1) must be a whole number"),
        ("interval_s: 0.005", "interval_s (=0.005) must be positive seconds, 0.01 or more"),
        ("timeout_s: -5", "timeout_s (=-5)"),
    ],
)
def test_a_mistake_is_one_line_before_anything_is_measured(parameters, message, tmp_path, monkeypatch):
    said = mistake_in("summary", parameters, tmp_path, monkeypatch)

    assert message in said and "\n" not in said
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("parameters", ["confirm: 0", "confirm_blocks: 0"])
def test_less_can_be_asked_for(parameters, tmp_path, monkeypatch):
    assert mistake_in("summary", parameters, tmp_path, monkeypatch).startswith("no mistake")


def planned(parameters, tmp_path, monkeypatch):
    mistake_in("summary", parameters, tmp_path, monkeypatch)
    return read_plan(tmp_path / "plan.json")


def test_the_plan_foresees_confirmations(tmp_path, monkeypatch):
    plan = planned("confirm: 1", tmp_path, monkeypatch)

    foreseen = [group for group in plan.groups if group.foreseen]
    assert [(group.most, len(group.arms)) for group in foreseen] == [(15, 2)]


@pytest.mark.parametrize("name", [name for name in notebook_names(NOTEBOOKS) if name not in DRAWING])
def test_a_reader_in_jupyterlab_ends_at_the_answer_with_which_the_page_begins(name):
    """The last output of a notebook, but for the cells to explore."""
    cells = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4).cells
    shown = zip(cells, parts_of(cells), strict=True)
    code = [
        p
        for cell, p in shown
        if cell.cell_type == "code" and "remove_cell" not in cell.metadata.get("tags", ())
    ]
    assert code[-1] is Part.ANSWER
