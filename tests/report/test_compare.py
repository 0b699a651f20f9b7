"""`make compare`: the command's checks without a kernel, and one page with the real notebook."""

import json
import os
import re

import nbformat
import pandas as pd
import pytest

from command_line import trainspeed as run_command
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.files import COMPARE
from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import SCHEMA, Status
from trainspeed.report.execute import NotebookResult, NotebookStatus
from trainspeed.report.parameters import read_notebook
from trainspeed.report.request import new_session
from trainspeed.report.run import compare_reports

PRICES = {"a_usd_per_hour": "1.5", "b_usd_per_hour": "3"}


def measured(folder, seconds, **more):
    """Write a ledger: a trial in six blocks, one in one block."""
    for block in range(6):
        run = make_run(seconds * (1 + block / 100), block=block, dataset="digits", **more)
        Ledger(folder).append(run)
    Ledger(folder).append(make_run(seconds, batch_size=64, dataset="digits", **more))


@pytest.fixture
def sides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    measured(tmp_path / "old", 2.0)
    measured(tmp_path / "new", 1.0)
    return tmp_path


class Kernels:
    """Stands in for `execute`: notes what it was given and ends as it was told to."""

    def __init__(self):
        self.calls = []
        self.end = (NotebookStatus.OK, None)

    def __call__(self, source, out, parameters, *, environment, interruption, metadata, **_):
        self.calls.append((source.stem, dict(parameters), dict(environment)))
        status, error = self.end
        interruption.asked = status is NotebookStatus.INTERRUPTED
        path = out / f"{source.stem}{'' if status is NotebookStatus.OK else '.failed'}.ipynb"
        notebook = nbformat.read(source, 4)
        notebook.metadata["trainspeed"] = {**metadata, "status": str(status), "error": error, "cell": None}
        nbformat.write(notebook, path)
        return NotebookResult(name=source.stem, title="T", status=status, seconds=1.0, error=error, path=path)


@pytest.fixture
def kernels(monkeypatch):
    stand_in = Kernels()
    monkeypatch.setattr("trainspeed.report.notebooks.execute", stand_in)
    return stand_in


def files(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_writes_a_notebook_and_a_page_and_prints_them(kernels, sides, capsys):
    assert compare_reports("old", "new", out=sides / "out") == 0
    assert files(sides / "out") >= {"compare.ipynb", "compare.html"}
    assert capsys.readouterr().out.splitlines() == [
        "compare: 2 trials that both have",
        "",
        "compare: notebook 1 of 1",
        "",
        "compare: ok",
        "out/compare.ipynb",
        "out/compare.html",
    ]


def test_the_notebook_is_told_names_and_the_kernel_alone_knows_the_paths(kernels, sides):
    compare_reports("old", "new/runs.jsonl", out=sides / "out", **PRICES)
    ((name, parameters, environment),) = kernels.calls
    assert name == COMPARE
    assert parameters == {"a": "old", "b": "new", "a_usd_per_hour": 1.5, "b_usd_per_hour": 3.0}
    assert environment == {
        "TRAINSPEED_REPORT": "1",
        "TRAINSPEED_OUT": str(sides / "out"),
        "TRAINSPEED_COMPARE_A": str(sides / "old/runs.jsonl"),
        "TRAINSPEED_COMPARE_B": str(sides / "new/runs.jsonl"),
    }


def test_a_variable_that_is_set_already_is_not_what_the_command_was_told(kernels, sides, monkeypatch):
    monkeypatch.setenv("TRAINSPEED_COMPARE_A", "/nowhere")
    assert compare_reports("old", "new", out=sides / "out") == 0


def test_the_page_links_to_a_front_page_only_where_there_is_one(kernels, sides):
    compare_reports("old", "new", out=sides / "out")
    assert "index.html" not in (sides / "out/compare.html").read_text()
    (sides / "out/index.html").write_text('<meta name="generator" content="Trainspeed">')
    compare_reports("old", "new", out=sides / "out")
    assert 'href="index.html"' in (sides / "out/compare.html").read_text()


@pytest.mark.parametrize(
    ("end", "code"),
    [((NotebookStatus.FAILED, "ValueError: x"), 1), ((NotebookStatus.INTERRUPTED, "interrupted"), 130)],
)
def test_a_notebook_that_failed_leaves_no_page_that_looks_finished(kernels, sides, end, code, capsys):
    kernels.end = end
    assert compare_reports("old", "new", out=sides / "out") == code
    assert files(sides / "out") >= {"compare.failed.ipynb", "compare.html"}
    assert "this report is not complete" in (sides / "out/compare.html").read_text()
    assert end[1] in capsys.readouterr().out


@pytest.mark.parametrize(
    ("a", "b", "more", "message"),
    [
        ("", "new", {}, "A is missing"),
        ("old", "nowhere", {}, "B (=nowhere) does not exist"),
        ("old", "empty", {}, "B (=empty) is a folder without a ledger"),
        ("old", "old", {}, "A (=old) and B (=old) are the same ledger"),
        ("old", "other", {}, "A and B have no common trials: A has layout (2 trials), B has amp (2 trials)"),
        ("old", "future", {}, f"B (=future) has schema {SCHEMA + 1} in line 1"),
        ("old", "new", {"a_usd_per_hour": "-1"}, "a_usd_per_hour (=-1.0) must be a positive number"),
        ("old", "new", {"b_usd_per_hour": "0"}, "b_usd_per_hour (=0.0) must be a positive number"),
        ("old", "new", {"b_usd_per_hour": "cheap"}, "b_usd_per_hour (='cheap') must be a positive number"),
        ("old", "new", {"b_usd_per_hour": "nan"}, "b_usd_per_hour (=nan) must be a positive number"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(kernels, sides, a, b, more, message):
    (sides / "empty").mkdir()
    measured(sides / "other", 1.0, study="amp")
    (sides / "future").mkdir()
    line = {**json.loads((sides / "new/runs.jsonl").read_text().splitlines()[0]), "schema": SCHEMA + 1}
    (sides / "future/runs.jsonl").write_text(json.dumps(line))
    with pytest.raises(UserError, match=f"^{re.escape(message)}") as problem:
        compare_reports(a, b, out=sides / "out", **more)
    assert "\n" not in str(problem.value)
    assert not (sides / "out").exists() and kernels.calls == []


def test_someone_elses_page_is_not_written_over(kernels, sides):
    (sides / "out").mkdir()
    (sides / "out/compare.html").write_text("<p>my prices</p>")
    with pytest.raises(UserError, match=r"holds compare\.html"):
        compare_reports("old", "new", out=sides / "out")
    assert (sides / "out/compare.html").read_text() == "<p>my prices</p>"
    assert kernels.calls == []


def test_a_blank_price_is_none(kernels, sides):
    compare_reports("old", "new", out=sides / "out", a_usd_per_hour=" ")
    assert kernels.calls[0][1]["a_usd_per_hour"] is None


# The notebook itself.


def test_no_report_runs_it_and_one_that_is_told_to_says_what_does():
    more = {"preset": "smoke", "params_file": None, "has_gpu": False, "folder": ROOT / "notebooks"}
    assert COMPARE not in new_session(notebooks=(), **more).notebooks
    with pytest.raises(UserError, match="`make compare A=… B=…` does"):
        new_session(notebooks=("layout", COMPARE), **more)
    assert set(read_notebook(ROOT / "notebooks/compare.ipynb")) == {"a", "b", *PRICES}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The real command on two made-up ledgers in a folder that a page must not name."""
    folder = tmp_path_factory.mktemp("secret_place")
    machine = {"device": "cpu", "cpu": "Old CPU", "gpus": []}
    measured(folder / "old", 2.0, machine=machine, test_accuracy=0.5, peak_memory_bytes=10**8)
    measured(folder / "new", 1.0, test_accuracy=0.5, peak_memory_bytes=10**8)
    oom = {"batch_size": 128, "images_per_epoch": 128, "dataset": "digits"}
    Ledger(folder / "old").append(
        make_run(status=Status.OOM, reason="12 GB asked for", machine=machine, **oom)
    )
    Ledger(folder / "new").append(make_run(1.0, **oom))
    words = [str(folder / "old"), str(folder / "new"), "--out", str(folder / "out")]
    done = run_command("compare", *words, "--a-usd-per-hour", "1.5", "--b-usd-per-hour", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


slow = pytest.mark.slow


@slow
def test_the_page_answers_first_and_warns_of_what_differs(page):
    html = (page / "out/compare.html").read_text()
    for sentence in (
        "A is old: Old CPU",
        "layout: 3 trials on both sides: 1 faster on B, 1 undecided, 1 without a result on a side.",
        "CPU: Old CPU in A, Test CPU in B.",
        "16 px, 128 images an epoch: B is cheaper. A at its cheapest",
        "B vs A: 2.00x (95 % interval 1.94 to 2.06): faster.",
    ):
        assert sentence in html, sentence


@slow
def test_its_tables_are_those_of_the_ledgers(page):
    tables = pd.read_html(page / "out/compare.html")
    times = next(table for table in tables if "B is" in table)
    assert list(times["speed-up"]) == ["2.00×", "2.00×", "—"]
    assert list(times["blocks on A"]) == [6, 1, 0]
    costs = next(table for table in tables if "cost on A" in table)
    assert list(costs["A's cost / B's"]) == ["1.50×", "1.50×", "—"]
    failures = next(table for table in tables if "reason" in table)
    assert list(failures["side"]) == ["A"] and list(failures["status"]) == ["OOM"]


@slow
def test_neither_page_nor_notebook_names_a_place_on_this_machine(page):
    for name in ("compare.html", "compare.ipynb"):
        text = (page / "out" / name).read_text()
        assert not [word for word in (str(page), "secret_place", str(ROOT)) if word in text], name
        assert not re.search(rf"\b{re.escape(os.uname().nodename)}\b", re.sub(r"[\w+/=\\]{40,}", "", text))


@slow
def test_the_page_asks_no_other_host_and_describes_its_figures(page):
    html = (page / "out/compare.html").read_text()
    assert not re.search(r"<script|@import|<link[^>]+href|src=\"(?!data:)", html)
    images = re.findall(r"<img[^>]*>", html)
    assert images and all(re.search(r'alt="[^"]{20,}"', image) for image in images)


@slow
def test_the_notebook_measured_nothing(page):
    assert files(page / "out") == {"compare.ipynb", "compare.html", ".trainspeed"}
    saved = nbformat.read(page / "out/compare.ipynb", 4)
    assert saved.metadata["trainspeed"]["status"] == "ok"


@slow
def test_the_real_command_tells_a_mistake_in_one_line(tmp_path):
    done = run_command("compare", str(tmp_path), "--out", str(tmp_path / "out"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("trainspeed: A (=") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
