"""The layout notebook, executed by the report's own command with the smoke preset, and its page."""

from __future__ import annotations

import json
import os
import re

import pandas as pd
import pytest

from command_line import trainspeed
from trainspeed import interpreters
from trainspeed.environments import ROOT
from trainspeed.ledger import Ledger
from trainspeed.run import Status
from trainspeed.trial import FRAMEWORKS

pytestmark = pytest.mark.slow

INSTALLED = [name for name in FRAMEWORKS if interpreters.find(name)]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    result = trainspeed("report", "--preset", "smoke", "--notebooks", "layout", "--out", str(folder))
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.fixture(scope="module")
def page(out):
    return (out / "layout.html").read_text()


def test_every_file_of_the_contract_is_there(out):
    names = {path.name for path in out.iterdir()}

    assert names >= {"layout.ipynb", "layout.html", "index.html", "runs.jsonl", "runs.csv", "verdicts.json"}
    assert list((out / "monitor").glob("*.csv"))
    assert not [name for name in names if "failed" in name or "running" in name]


def test_every_framework_trained_both_layouts(out):
    runs, doubts = Ledger(out).read()

    assert doubts == ()
    ok = {(run.trial.framework, run.trial.layout) for run in runs if run.status == Status.OK}
    assert ok == {(name, layout) for name in INSTALLED for layout in ("channels_first", "channels_last")}


def test_one_block_decides_nothing(out):
    verdicts = json.loads((out / "verdicts.json").read_text())

    assert {verdict["outcome"] for verdict in verdicts} == {"undecided"}
    assert {verdict["factor"] for verdict in verdicts} >= {"layout", "control"}
    assert all(verdict["low"] is None for verdict in verdicts)


def test_a_number_in_the_page_is_that_of_the_ledger(out, page):
    """Recomputed by hand: first epoch and throughput of one run."""
    run = next(r for r in Ledger(out).read()[0] if r.trial.framework == INSTALLED[0] and not r.label)
    table = next(t for t in pd.read_html(out / "layout.html") if "images/s" in t)
    row = table[(table["layout"] == run.trial.layout)].iloc[0]

    assert float(row["first epoch s"]) == pytest.approx(run.epoch_s[0], rel=0.01)
    seconds = sorted(run.epoch_s[1:])
    median = (seconds[0] + seconds[1]) / 2
    assert float(row["images/s"]) == pytest.approx(run.images_per_epoch / median, rel=0.01)


def test_the_page_asks_no_other_host_and_holds_no_script(page):
    assert not re.search(r"<script|@import|<link[^>]+href|url\((?!data:)", page)
    assert not re.search(r'src="(?!data:)', page)
    assert "default-src 'none'" in page
    assert len(page) < 3_000_000


def test_every_figure_says_what_it_shows(page):
    images = re.findall(r"<img[^>]*>", page)

    assert len(images) >= 8
    assert all(re.search(r'alt="[^"]{20,}"', image) for image in images)


def test_nothing_private_is_in_anything_that_is_shared(out):
    private = (str(ROOT), str(out), os.path.expanduser("~") + "/")
    host = re.compile(rf"\b{re.escape(os.uname().nodename)}\b")
    for path in (p for p in out.rglob("*") if p.is_file()):
        text = path.read_text(errors="replace")
        assert not [word for word in private if word in text], path.name
        # A host may have a name as short as pieces of a picture's base64.
        assert not host.search(re.sub(r"[\w+/=\\]{40,}", "", text)), path.name


def test_rendering_again_measures_nothing_and_shows_the_same_runs(out, tmp_path):
    result = trainspeed("render", "--from", str(out), "--out", str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr

    again = pd.read_html(tmp_path / "layout.html")
    before = pd.read_html(out / "layout.html")
    assert len(again) == len(before)
    assert all(one.equals(other) for one, other in zip(again, before, strict=True))
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.parametrize(
    ("parameters", "line"),
    [
        ("layout: {batch_sizes: [0]}", "batch_size (=0) must be a whole number of at least 1"),
        ("layout: {batch_size: [8]}", "did you mean 'batch_sizes'?"),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_code_2(tmp_path, parameters, line):
    """Before anything is measured."""
    (tmp_path / "mine.yaml").write_text(parameters)
    result = trainspeed(
        "report",
        "--notebooks",
        "layout",
        "--params",
        str(tmp_path / "mine.yaml"),
        "--out",
        str(tmp_path / "out"),
    )

    assert result.returncode == 2
    assert line in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert not (tmp_path / "out/runs.jsonl").exists()
