"""What every notebook's page and verdicts keep to, in the one report that all tests of notebooks share."""

from __future__ import annotations

import os
import re

import pytest
from bs4 import BeautifulSoup

from command_line import trainspeed
from smoke_report import ADDED, TWO_DEVICES, verdicts_of
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status

pytestmark = pytest.mark.slow

STUDIES = ("layout", "amp", *TWO_DEVICES, ADDED)
LARGEST = 3_000_000  # characters of a page


@pytest.fixture(params=STUDIES)
def study(request, smoke_report):
    if not (smoke_report / f"{request.param}.html").exists():
        pytest.skip(f"{request.param} cannot be measured on this machine")
    return request.param


@pytest.fixture
def html(study, smoke_report):
    return (smoke_report / f"{study}.html").read_text()


def test_every_file_of_the_contract_is_there(study, smoke_report):
    names = {path.name for path in smoke_report.iterdir()}

    shared = {"index.html", "runs.jsonl", "runs.csv", "verdicts.json"}
    assert names >= shared | {f"{study}.ipynb", f"{study}.html"}
    assert list((smoke_report / "monitor").glob(f"*-{study}.csv"))
    assert not [name for name in names if "failed" in name]


def test_every_run_ended_as_it_may(study, smoke_report):
    runs, _ = Ledger(smoke_report).read()
    found = {run.status for run in runs if run.study == study}

    assert Status.OK in found and found <= {Status.OK, Status.UNSUPPORTED}


def test_one_block_decides_nothing(study, smoke_report):
    verdicts = verdicts_of(smoke_report, study)

    assert verdicts or study == "amp"  # smoke asks for 16 bits, and this CPU is told to have none
    assert all((verdict.outcome, verdict.low) == ("undecided", None) for verdict in verdicts)


def test_a_page_is_whole(html):
    page = BeautifulSoup(html, "html.parser")
    page.select_one("details.parameters").extract()  # there None is a value, and the help says what it means

    assert "Traceback" not in html
    assert not [cell for cell in page.select("td") if cell.get_text(strip=True) in ("nan", "None")]
    assert not page.select(".banner")


def test_a_page_asks_no_other_host_and_holds_no_script(html):
    assert not re.search(r"<script|@import|<link[^>]+href|url\((?!data:)", html)
    assert not re.search(r'src="(?!data:)', html)
    assert "default-src 'none'" in html
    assert len(html) < LARGEST


def test_every_figure_says_what_it_shows(html):
    images = re.findall(r"<img[^>]*>", html)

    assert len(images) >= 2
    assert all(re.search(r'alt="[^"]{20,}"', image) for image in images)


def test_nothing_private_is_in_anything_that_is_shared(smoke_report):
    private = (str(ROOT), str(smoke_report), os.path.expanduser("~") + "/")
    host = re.compile(rf"\b{re.escape(os.uname().nodename)}\b")
    for path in (p for p in smoke_report.rglob("*") if p.is_file()):
        text = path.read_text(errors="replace")
        assert not [word for word in private if word in text], path.name
        # A host may have a name as short as pieces of a picture's base64.
        assert not host.search(re.sub(r"[\w+/=\\]{40,}", "", text)), path.name


def test_a_mistake_is_one_line_of_the_command_and_exit_code_2(tmp_path):
    """Of every notebook, as it plans: what each of them finds wrong is told in process, by `mistake_in`."""
    (tmp_path / "mine.yaml").write_text("layout: {batch_sizes: [0]}")
    made = ("--preset", "smoke", "--notebooks", "layout", "--params", str(tmp_path / "mine.yaml"))
    result = trainspeed("report", *made, "--out", str(tmp_path / "out"))

    assert result.returncode == 2
    said = (result.stdout + result.stderr).splitlines()
    assert [line for line in said if "batch_size (=0) must be a whole number of at least 1" in line]
    assert not [line for line in said if "Traceback" in line]
    assert not (tmp_path / "out/runs.jsonl").exists()
