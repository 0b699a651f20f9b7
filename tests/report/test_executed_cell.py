"""Which text of a parameters cell the panel shows: what the kernel has run, whatever its file is called."""

from __future__ import annotations

import pytest

from tiny_notebooks import write
from trainspeed.core.errors import UserError
from trainspeed.report.executed_cell import executed_cell

CELL = "blocks: int = 9\nbatch_sizes: list = [8]"
OTHERS = ("blocks = 3", "for", "print(blocks)")  # another cell, one that is no Python, one without a value


@pytest.fixture
def path(tmp_path):
    write(tmp_path, "layout")
    return tmp_path / "layout.ipynb"


def ran(*cells):
    return [(cell, cell) for cell in cells]


def test_what_was_run_last_goes_before_the_file(path):
    assert executed_cell(path, ran("blocks = 1\nbatch_sizes = []", CELL, *OTHERS)) == CELL
    assert executed_cell(path, ran(*OTHERS)).startswith("blocks: int = 6")


def test_a_notebook_that_was_renamed_is_known_by_what_it_has_run(path):
    path = path.rename(path.with_name("mine.ipynb")).with_name("layout.ipynb")

    assert executed_cell(path, ran(CELL, *OTHERS)) == CELL
    with pytest.raises(
        UserError, match=r"^layout.ipynb has another name, .*: run the cell above, then this one"
    ):
        executed_cell(path, ran(*OTHERS))


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (CELL.replace("[8]", "[2**k for k in (2, 3)]"), "parameter batch_sizes must be a plain literal"),
        ("blocks = 9\nfor batch_sizes in [[8]]: pass", "parameter batch_sizes must be a plain literal"),
        (CELL.replace("[8]", "(8, 16)"), r"batch_sizes must be list, got \(8, 16\) \(tuple\)"),
    ],
)
def test_a_cell_whose_values_are_not_plain_is_named_and_the_file_not_taken_for_it(path, python, said):
    """Else older values would be shown, and written over those that were measured."""
    with pytest.raises(UserError, match=rf"^layout: {said}.*\. Change it in the cell above, or run all"):
        executed_cell(path, ran(CELL, python))


def test_a_cell_with_a_magic_is_named_too(path):
    with pytest.raises(UserError, match="not Python"):
        executed_cell(path, [*ran(CELL), (f"get_ipython()\n{CELL}", f"%time\n{CELL}")])
