"""CONTRIBUTING's "To add a study, look here", taken at its word: its cells make a study of the report."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

from cell_rules import broken_rule
from page_text import read_page
from smoke_report import ADDED, cells_to_add, runs_of
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.run import Status

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not find_interpreter("torch"), reason="torch is not installed"),
]


def test_the_recipe_is_a_notebook_with_parameters_a_run_and_verdicts():
    parameters, _, plan, run, _, shown, recorded = cells_to_add()

    assert "blocks: int" in parameters and "plan = Plan(" in plan and f'measure("{ADDED}", plan' in run
    assert "sections.speedups" in shown and "notebook.record" in recorded


def test_its_cells_keep_to_the_rules_of_the_repository():
    broken = [broken_rule(cell) for cell in cells_to_add()[1:]]
    assert not any(broken), "\n\n".join(filter(None, broken))


def test_its_runs_are_in_the_ledger_under_its_name(smoke_report):
    runs = runs_of(smoke_report, ADDED)

    assert {run.status for run in runs} == {Status.OK}
    assert sorted(run.trial.batch_size for run in runs) == [8, 8, 16], "the control runs twice"


def test_its_page_has_the_sections_of_every_study(smoke_report):
    page = BeautifulSoup(read_page(smoke_report / f"{ADDED}.html"), "html.parser")

    assert len(page.select(".figure img")) == 2, "speed-ups and monitor"
    captions = [caption.get_text() for caption in page.select("caption")]
    assert {"The machine", "Verdicts"} <= set(captions)


def test_the_front_page_shows_its_verdict_with_a_link(smoke_report):
    front = BeautifulSoup(read_page(smoke_report / "index.html"), "html.parser")

    assert "Does a larger batch train faster?" in front.get_text()
    assert [a for a in front.select("td a") if a["href"].startswith(f"{ADDED}.html")]
