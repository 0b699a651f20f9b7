"""A page begins with its answer, though a notebook ends with it."""

from pathlib import Path

import nbformat
import pytest

from tiny_notebooks import code, text
from trainspeed.core.page_order import Part, page_order, parts_of
from trainspeed.core.paths import ROOT
from trainspeed.report import export, parameters

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TAGS = {*Part, parameters.TAG, export.REMOVED_CELL_TAG, export.REMOVED_INPUT_TAG}
A, E, P = Part.ANSWER, Part.EVIDENCE, Part.APPENDIX


def tagged(cell, *tags):
    cell.metadata.tags = [*cell.metadata.get("tags", []), *tags]
    return cell


def cells():
    return [
        text("# A question"),
        tagged(text("## The question"), "appendix"),
        code("blocks = 6", "parameters"),
        text("## Result"),
        code("table()"),
        tagged(text("## Run"), "appendix"),
        code("measure()"),
        text("### Details of the runs"),
        code("details()"),
        tagged(text("### Accuracy"), "evidence"),
        code("accuracy()"),
        tagged(text("## Answer"), "answer"),
        code("answer()"),
        text("### What to paste"),
        code("paste()"),
        text("## Not said"),
    ]


def test_a_tag_holds_for_the_section_up_to_a_heading_of_its_level():
    assert parts_of(cells()) == [None, P, P, E, E, P, P, P, P, E, E, A, A, A, A, E]


def test_the_page_has_the_answer_after_the_title_and_the_appendix_last():
    order = page_order(cells())

    assert order == [0, 11, 12, 13, 14, 3, 4, 9, 10, 15, 1, 2, 5, 6, 7, 8]


def test_a_tag_on_a_cell_within_a_section_holds_for_that_cell_alone():
    several = [text("## Result"), tagged(code("chart()"), "answer"), code("table()")]

    assert parts_of(several) == [E, A, E]


def test_a_notebook_without_such_tags_stays_as_it_is():
    plain = [text("# A question"), code("x", "remove_input"), text("## Run")]

    assert parts_of(plain) == [None] * 3 and page_order(plain) == [0, 1, 2]


def test_sources_as_they_are_saved_are_read_too():
    saved = [
        {"cell_type": "markdown", "source": ["## Run\n", "\n", "How."], "metadata": {"tags": ["appendix"]}},
        {"cell_type": "code", "source": ["x"]},
    ]
    assert parts_of(saved) == [P, P]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_tag_is_one_that_is_read(path: Path):
    """One that is misspelt does nothing, and says nothing."""
    named = {tag for cell in nbformat.read(path, 4).cells for tag in cell.metadata.get("tags", [])}

    assert named <= TAGS, f"known tags: {', '.join(sorted(TAGS))}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_notebook_of_the_project_has_an_answer_evidence_and_an_appendix(path: Path):
    own = nbformat.read(path, 4).cells
    parts = parts_of(own)
    kept = [i for i in page_order(own) if "remove_cell" not in own[i].metadata.get("tags", [])]

    assert own[kept[0]].source.startswith("# ")
    assert {A, E, P} <= {parts[i] for i in kept}, f"tag cells as {', '.join(Part)}: see core/page_order.py"
    assert any(own[i].cell_type == "code" for i in kept if parts[i] is A)


@pytest.mark.parametrize("name", ["layout", "multi_gpu", "amp", "conv2d", "switches", "check"])
def test_in_a_notebook_of_a_study_the_answer_is_what_is_shown_last(name):
    """Before the cells to explore: who runs all cells in JupyterLab finds it at the end."""
    own = nbformat.read(ROOT / f"notebooks/{name}.ipynb", 4).cells
    kept = [part for part, cell in zip(parts_of(own), own, strict=True) if _is_shown(cell)]

    assert kept[-1] is A and E in kept


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_answer_is_in_one_piece(path: Path):
    """Else who runs all cells in JupyterLab finds the headline many screens above what is said to be the answer."""
    own = nbformat.read(path, 4).cells
    kept = [part for part, cell in zip(parts_of(own), own, strict=True) if _is_shown(cell)]
    first, last = kept.index(A), len(kept) - kept[::-1].index(A)

    assert set(kept[first:last]) == {A}


def _is_shown(cell):
    return cell.cell_type == "code" and "remove_cell" not in cell.metadata.get("tags", [])
