"""What only the layout notebook has, in the report that all tests of notebooks share."""

from __future__ import annotations

import re
import shutil
import statistics

import pandas as pd
import pytest

from notebook_mistakes import mistake_in
from page_text import read_page
from smoke_report import runs_of, verdicts_of
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.run import Status
from trainspeed.core.trial import FRAMEWORKS
from trainspeed.report.run import NOTEBOOKS, render

pytestmark = pytest.mark.slow

INSTALLED = [name for name in FRAMEWORKS if find_interpreter(name)]


@pytest.fixture(scope="module")
def runs(smoke_report):
    return runs_of(smoke_report, "layout")


@pytest.fixture(scope="module")
def page(smoke_report):
    return read_page(smoke_report / "layout.html")


def test_every_framework_trained_both_layouts(runs):
    ok = {(run.trial.framework, run.trial.layout) for run in runs if run.status == Status.OK}
    assert ok == {(name, layout) for name in INSTALLED for layout in ("channels_first", "channels_last")}


def test_both_layouts_and_the_control_are_compared(smoke_report):
    assert {v.factor for v in verdicts_of(smoke_report, "layout")} >= {"layout", "control"}


def test_numbers_on_the_page_are_those_of_the_ledger(runs, smoke_report):
    """The first epoch and the throughput of one run are computed again by hand."""
    run = next(run for run in runs if run.trial.framework == INSTALLED[0] and not run.label)
    table = next(t for t in pd.read_html(smoke_report / "layout.html") if "images/s" in t)
    row = table[(table["layout"] == run.trial.layout)].iloc[0]

    assert float(row["first epoch s"]) == pytest.approx(run.epoch_s[0], rel=0.01)
    quiet = [turn for turn in run.turns if not turn.is_disturbed]  # other tests run beside the report
    counted = quiet if len(quiet) >= 2 else run.turns
    later_s = statistics.median(s for turn in counted for s in turn.epoch_s)
    assert float(row["images/s"]) == pytest.approx(run.images_per_epoch / later_s, rel=0.01)


def test_the_page_has_every_figure(page):
    """But that beside the article: with one batch size, there is nothing of this machine to draw."""
    assert len(re.findall(r"<img[^>]*>", page)) == 7


def test_rendering_again_measures_nothing_and_shows_the_same_runs(smoke_report, tmp_path):
    """There is no front page, as the folder has no other notebook."""
    folder, out = tmp_path / "notebooks", tmp_path / "out"
    folder.mkdir()
    shutil.copy(NOTEBOOKS / "layout.ipynb", folder)
    assert render(source=smoke_report, out=out, folder=folder) == 0

    again = pd.read_html(out / "layout.html")
    before = pd.read_html(smoke_report / "layout.html")
    assert len(again) == len(before)
    assert all(one.equals(other) for one, other in zip(again, before, strict=True))
    assert not (out / "runs.jsonl").exists()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("batch_sizes: [0]", "batch_size (=0) must be a whole number of at least 1"),
        ("batch_size: [8]", "did you mean 'batch_sizes'?"),
    ],
)
def test_bad_input_is_reported_before_anything_is_measured(parameters, message, tmp_path, monkeypatch):
    assert message in mistake_in("layout", parameters, tmp_path, monkeypatch)
