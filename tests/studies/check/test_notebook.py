"""The page that checks the instrument, in the report that all tests of notebooks share."""

import re

import pytest
from bs4 import BeautifulSoup

from notebook_mistakes import mistake_in
from page_text import read_page
from smoke_report import runs_of, verdicts_of
from trainspeed.core.runs import RunSet
from trainspeed.judge.check_list import all_checks, named, summary

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(smoke_report):
    if not (smoke_report / "check.html").exists():
        pytest.skip("torch is not installed here")
    return smoke_report


def test_every_line_that_the_ledger_has_is_a_row_of_the_page(folder):
    checks = all_checks(RunSet(tuple(runs_of(folder, "check"))))
    page = BeautifulSoup(read_page(folder / "check.html"), "html.parser")
    (table,) = [table for table in page.select("table") if "Checks of the instrument" in table.get_text()]
    rows = [[cell.get_text(strip=True) for cell in row.select("td")] for row in table.select("tbody tr")]
    assert len(rows) == len(checks) >= 5
    assert [row[:2] for row in rows] == [[named(check), str(check.outcome)] for check in checks]
    assert not page.select(".banner") and "Traceback" not in str(page)


def test_the_front_page_says_the_outcome_and_leads_there(folder):
    front = BeautifulSoup(read_page(folder / "index.html"), "html.parser")
    (line,) = [item for item in front.select("li") if "of the instrument" in item.get_text()]
    said = summary(all_checks(RunSet(tuple(runs_of(folder, "check")))))
    assert said in re.sub(r"\s+", " ", line.get_text())
    assert line.select_one("a")["href"] == "check.html"


def test_it_has_no_verdict_that_would_pass_for_advice(folder):
    assert verdicts_of(folder, "check") == []


def test_a_mistake_in_its_parameters_is_one_sentence(tmp_path, monkeypatch):
    assert "planted_steps (=0)" in mistake_in("check", "planted_steps: 0", tmp_path, monkeypatch)
