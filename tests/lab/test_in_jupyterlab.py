"""A notebook as a reader has it in JupyterLab: its parameters clicked, measured, interrupted, gone on with.

On the fake backend; what the reader sees on the way is noted for the tests.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import pytest

from lab_helper import errors_in, place_of, texts_of
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Run
from trainspeed.report.parameters import parse

pytestmark = pytest.mark.lab

ARMS = 2  # of a block: the layouts
PARAMETERS, PANEL, MEASURED, CHANGED = "cell-01", "panel", "cell-05", "explore-change"
ANSWER, PASTED, CERTAINTY = "cell-34", "cell-36", "certainty"


@dataclass
class Seen:
    """What a reader saw.

    Attributes:
        wrong: What the panel said of a wrong value.
        written: The parameters cell after *Measure*.
        bar: What stood beside the bar when a block had ended.
        interrupted: The runs in the ledger after the interrupt.
        after_interrupt, at_end: The cells of the notebook.
        bars_after_interrupt, bars_at_end: How many bars there were.
        runs: All runs in the ledger at the end.
        saved: The notebook's file, saved after the interrupt.
    """

    wrong: str = ""
    written: str = ""
    bar: str = ""
    interrupted: tuple[Run, ...] = ()
    after_interrupt: list[dict[str, Any]] = field(default_factory=list)
    bars_after_interrupt: int = -1
    at_end: list[dict[str, Any]] = field(default_factory=list)
    bars_at_end: int = -1
    runs: tuple[Run, ...] = ()
    saved: str = ""

    def cell(self, cell_id: str) -> dict[str, Any]:
        """Return a cell as it was at the end."""
        return self.at_end[place_of(self.at_end, cell_id)]


@pytest.fixture(scope="module")
def seen(workplace):
    """Look at JupyterLab while a reader chooses, measures, interrupts, and runs all again."""
    lab, out = workplace.lab, workplace.out / "layout"
    workplace.gate.write_text(str(ARMS))  # the first block passes
    seen = Seen()
    page = lab.page
    lab.open("layout")
    places = {cell["id"]: place for place, cell in enumerate(lab.cells())}
    lab.run_to(places[PANEL])
    panel = page.locator(".trainspeed-panel")
    sizes = panel.get_by_label("batch_sizes", exact=True)
    sizes.fill("four")
    panel.get_by_role("button", name="Measure").click()
    seen.wrong = panel.get_by_role("alert").inner_text()
    sizes.fill("4")
    picture(page, "panel")
    panel.get_by_role("button", name="Measure").click()
    bar = page.locator(".jp-OutputArea-output", has=page.locator("progress"))
    bar.filter(has_text=" left").wait_for()
    lab.select(places[MEASURED])
    seen.bar = bar.text_content()
    seen.written = lab.cells()[places[PARAMETERS]]["source"]
    picture(page, "bar")
    page.locator(".jp-NotebookPanel-toolbar [data-command='notebook:interrupt-kernel']").first.click()
    lab.wait_for_run(places[MEASURED])
    seen.after_interrupt, seen.bars_after_interrupt = lab.cells(), page.locator("progress").count()
    seen.interrupted = Ledger(out).read()[0]
    picture(page, "interrupted")
    lab.save()
    seen.saved = (workplace.notebooks / "layout.ipynb").read_text()
    workplace.gate.unlink()
    lab.restart_and_run_all()
    lab.wait_for_run(len(places) - 1)
    seen.at_end, seen.bars_at_end = lab.cells(), page.locator("progress").count()
    lab.select(places[ANSWER])
    picture(page, "answer")
    seen.runs = Ledger(out).read()[0]
    return seen


def picture(page, name: str) -> None:
    """Keep what is on the screen, where someone wants to look at it."""
    if folder := os.environ.get("TRAINSPEED_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def test_a_wrong_value_is_one_clear_line_and_measures_nothing(seen):
    assert seen.wrong == "layout: batch_sizes[0] must be int, got 'four' (str)"


def test_the_parameters_are_written_back_as_text(seen):
    values = {name: known.default for name, known in parse(seen.written, "layout").items()}
    assert values["batch_sizes"] == [4] and values["frameworks"] == ["torch"]
    assert "# images per step, compared in every block" in seen.written
    assert {run.trial.batch_size for run in seen.interrupted} == {4}


def test_a_notebook_that_is_opened_again_does_not_run_by_itself(seen):
    assert "batch_sizes: list = [4]" in seen.saved
    assert "run-all-below" not in seen.saved and "javascript" not in seen.saved


def test_the_bar_says_how_long_it_still_takes_and_is_gone_at_the_end(seen):
    assert f"{ARMS} of {2 * ARMS} runs" in seen.bar and seen.bar.count(" left: PyTorch") == 1
    assert seen.bars_after_interrupt == seen.bars_at_end == 0


def test_an_interrupted_kernel_loses_nothing_that_was_measured(seen):
    """The unfinished block is measured anew, in the same session."""
    assert [run.block for run in seen.interrupted] == [0] * ARMS
    stopped = seen.after_interrupt[place_of(seen.after_interrupt, MEASURED)]
    assert (
        texts_of(stopped).strip()
        == "layout: interrupted. What was measured is kept: run this cell again to go on."
    )
    of_study = [run for run in seen.runs if run.study == "layout"]
    assert Counter(run.key for run in of_study).most_common(1)[0][1] == 1
    assert [run.block for run in of_study] == [0] * ARMS + [1] * ARMS
    assert len({run.session for run in of_study}) == 1 and of_study[:ARMS] == list(seen.interrupted)
    assert "goes on with the session" in texts_of(seen.cell(MEASURED))


def test_after_restart_and_run_all_the_answer_comes_last_but_for_what_is_there_to_explore(seen):
    code = [cell for cell in seen.at_end if cell["cell_type"] == "code"]
    answer, explored = place_of(code, ANSWER), place_of(code, CHANGED)
    last = [cell["id"] for cell in code[answer:explored]]

    assert errors_in(seen.at_end) == [] and all(cell["outputs"] for cell in code[answer:])
    assert last == [ANSWER, PASTED, CERTAINTY], "answer, what to paste, how sure that is"
    assert "Nothing is decided: no comparison has 6 blocks" in texts_of(code[answer]), "2 were measured"
    assert "image/" in str(code[answer]["outputs"])


def test_the_cells_to_explore_measure_a_change_beside_the_original(seen):
    explored = [run for run in seen.runs if run.study == "explore"]
    assert {run.trial.batch_size for run in explored} == {4, 8}
    assert "batch 8 vs batch 4" in texts_of(seen.cell(CHANGED))
