"""What every file of the repository keeps to."""

import ast
import json
import re

import pytest

from cell_rules import broken_rule, imports_only, lines_of
from trainspeed.core.paths import ROOT

LONGEST = 300  # lines: one subject fits
MODULES = sorted((ROOT / "lib/trainspeed").rglob("*.py"))
OTHERS = [path for folder in ("benchmarks", "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def name(path):
    return str(path.relative_to(ROOT))


def too_long(text):
    return len(text.splitlines()) > LONGEST


def outputs(notebook):
    """Return the numbers of the cells that were committed with what they printed."""
    return [
        number
        for number, cell in enumerate(notebook["cells"])
        if cell["cell_type"] == "code" and (cell["outputs"] or cell["execution_count"] is not None)
    ]


def says_what_it_is_for(text):
    """Whether a module's first line is a sentence on it; an empty file needs none."""
    documentation = ast.get_docstring(ast.parse(text)) or ""
    return not text or bool(re.match(r"[A-Z].*[.:]", documentation.partition("\n")[0]))


def test_every_module_is_short():
    assert [name(path) for path in [*MODULES, *OTHERS] if too_long(path.read_text())] == []


def test_every_module_says_in_its_first_line_what_it_is_for():
    assert [name(path) for path in MODULES if not says_what_it_is_for(path.read_text())] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_notebook_is_committed_without_outputs(path):
    assert outputs(json.loads(path.read_text())) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_no_two_cells_of_a_notebook_have_one_id(path):
    """Tools that read notebooks refuse that, or rename one of them as they please."""
    ids = [cell["id"] for cell in json.loads(path.read_text())["cells"]]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_a_notebook_defines_no_function_and_has_short_cells(path):
    """What is longer is in lib/: the notebook is a report."""
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    broken = [broken_rule("".join(cell["source"]), cell["metadata"].get("tags", ())) for cell in cells]
    assert not any(broken), "\n\n".join(filter(None, broken))


def test_there_is_something_to_check():
    assert len(MODULES) > 40
    assert NOTEBOOKS


def test_the_checks_can_fail():
    assert lines_of("a = 1\n" * 7) == 7 and lines_of("plan(\n" + "    a=1,\n" * 9 + ")") == 2
    assert imports_only("import a\nset_theme()") and not imports_only("measure()")
    assert "at most 6 lines" in broken_rule("a = 1\n" * 7) and "into lib/" in broken_rule("!pip install a")
    assert broken_rule("a = 1\n" * 6) == broken_rule("a = 1\n" * 7, ["parameters"]) == ""
    assert too_long("line\n" * (LONGEST + 1))
    assert not too_long("line\n" * LONGEST)
    assert says_what_it_is_for('"""What it is."""') and says_what_it_is_for("")
    assert not says_what_it_is_for("x = 1") and not says_what_it_is_for('"""what it is"""')
    printed = {"cell_type": "code", "outputs": [{"output_type": "stream"}], "execution_count": None}
    counted = {"cell_type": "code", "outputs": [], "execution_count": 1}
    clean = {"cell_type": "code", "outputs": [], "execution_count": None}
    assert outputs({"cells": [clean, printed, counted, {"cell_type": "markdown"}]}) == [1, 2]
