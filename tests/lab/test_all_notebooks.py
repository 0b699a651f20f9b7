"""Each notebook as a reader has it in JupyterLab who restarts the kernel and runs all cells.

With real PyTorch and less than the smoke preset asks for. `layout` is run so in `test_in_jupyterlab.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from lab_helper import errors_in, place_of, texts_of
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.ledger import Ledger
from trainspeed.core.page_order import Part, parts_of
from trainspeed.core.run import Run, Status
from trainspeed.sensors.machine import logical_cores

pytestmark = pytest.mark.lab

NOTEBOOKS = ("multi_gpu", "amp", "conv2d", "switches", "check", "summary")
NEEDS_TWO_CORES = "multi_gpu"
CHANGE, FILTER = "explore-change", "explore-filter"
LONG_MS = 300_000  # for a notebook, on a busy machine


@dataclass(frozen=True)
class Seen:
    """What a reader saw of a notebook.

    Attributes:
        bars: What has stood beside its bars.
        bars_left: How many bars there were at the end.
        cells: Its cells with their outputs.
        answer: What was on the screen of the last cell that says something, but for those to explore.
        runs: What the ledger holds.
    """

    name: str
    bars: list[str]
    bars_left: int
    cells: list[dict[str, Any]]
    answer: str
    runs: tuple[Run, ...]


def shown(cells: list[dict[str, Any]]) -> list[int]:
    """Return the numbers of the cells that show something, but for those that are not in a page: panel, to explore."""
    kept = [n for n, cell in enumerate(cells) if "remove_cell" not in cell["metadata"].get("tags", ())]
    return [n for n in kept if cells[n].get("outputs")]


def is_last(part: Part, cells: list[dict[str, Any]]) -> bool:
    """Whether all that is shown from the first cell of a part on is of that part, and its last cell shows something."""
    parts = parts_of(cells)
    places = [n for n, cell in enumerate(cells) if cell["cell_type"] == "code" and parts[n] is part]
    places = [n for n in places if "remove_cell" not in cells[n]["metadata"].get("tags", ())]
    after = [n for n in shown(cells) if n >= places[0]]
    return {parts[n] for n in after} == {part} and after[-1] == places[-1]


@pytest.fixture(scope="module", params=NOTEBOOKS)
def seen(request, workplace) -> Seen:
    """Look at a notebook while all of it is run."""
    if find_interpreter("torch") is None:
        pytest.skip("PyTorch is not installed")
    name, lab = request.param, workplace.lab
    if name == NEEDS_TWO_CORES and logical_cores() < 2:
        pytest.skip("one core cannot stand for two devices")
    lab.open(name)
    last = max(place for place, cell in enumerate(lab.cells()) if cell["cell_type"] == "code")
    lab.restart_and_run_all()
    lab.wait_for_run(last, timeout_ms=LONG_MS)
    cells, bars_left = lab.cells(), lab.page.locator("progress").count()
    answer = lab.shown_of(shown(cells)[-1])
    out = workplace.out / name
    return Seen(name, lab.beside_bars(), bars_left, cells, answer, Ledger(out).read()[0])


def test_no_cell_fails(seen):
    assert errors_in(seen.cells) == []
    assert all(cell["execution_count"] for cell in seen.cells if cell["cell_type"] == "code")


def test_a_bar_says_how_long_it_still_takes_and_is_gone_at_the_end(seen):
    own = [said for said in seen.bars if said.startswith(f"{seen.name}: ")]
    if seen.name != "summary":  # which is asked to measure nothing
        assert own[0] == f"{seen.name}: getting ready"
        # The four runs of a search end together, and its bar with them, before the page is looked at again.
        together = seen.name == "switches" and any("how long it takes shows when" in said for said in own)
        assert together or any(" left: " in said for said in own), own
    assert seen.bars_left == 0


def test_the_answer_comes_last_but_for_what_is_there_to_explore(seen):
    assert is_last(Part.ANSWER, seen.cells), [seen.cells[n]["id"] for n in shown(seen.cells)]
    assert seen.answer.strip()


def test_the_cells_to_explore_measure_a_change_beside_the_original(seen):
    if seen.name == "check":
        assert not [cell for cell in seen.cells if cell["id"].startswith("explore")]
        return
    explored = [run for run in seen.runs if run.study == "explore"]
    assert len({run.trial for run in explored}) >= 2 and Status.OK in {run.status for run in explored}
    assert " vs " in texts_of(seen.cells[place_of(seen.cells, CHANGE)])
    assert seen.cells[place_of(seen.cells, FILTER)]["outputs"]


def test_the_check_of_what_comes_last_can_fail():
    def cell(*tags: str, outputs: int = 1, kind: str = "code", source: str = "x") -> dict[str, Any]:
        return {"cell_type": kind, "source": source, "metadata": {"tags": tags}, "outputs": [{}] * outputs}

    heading = cell("answer", outputs=0, kind="markdown", source="## Answer")
    evidence = cell(outputs=0, kind="markdown", source="## Result")
    right = [evidence, cell(), heading, cell(), cell("remove_cell")]

    assert is_last(Part.ANSWER, right)
    assert is_last(Part.ANSWER, [*right, evidence, cell(outputs=0)])
    assert not is_last(Part.ANSWER, [*right, evidence, cell()])
    assert not is_last(Part.ANSWER, [*right[:3], cell(outputs=0), evidence, cell()])
    assert not is_last(Part.ANSWER, [*right[:3], cell(), cell(outputs=0)])
