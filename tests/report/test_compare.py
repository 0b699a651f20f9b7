"""`make compare`: the command's checks without a kernel, and one page with the real notebook."""

import json
import os
import re
from io import StringIO
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from command_line import trainspeed as run_command
from page_text import read_page
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.files import COMPARE
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import CoresBusy
from trainspeed.core.paths import ROOT
from trainspeed.core.run import SCHEMA, Status
from trainspeed.report.compare import compare_reports, prices_typed, sides_typed
from trainspeed.report.execute import NotebookResult, NotebookStatus
from trainspeed.report.parameters import read_notebook
from trainspeed.report.request import new_session

PARAMETERS = {"runs", "usd_per_hour"}
BUSY = (CoresBusy(cores=1.5),)


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
        self.calls, self.paths = [], []
        self.end = (NotebookStatus.OK, None)

    def __call__(self, source, out, parameters, *, environment, interruption, metadata, name, **_):
        listed = environment["TRAINSPEED_COMPARE"]
        self.calls.append((source.stem, dict(parameters), dict(environment)))
        self.paths = json.loads(Path(listed).read_text())
        status, error = self.end
        interruption.asked = status is NotebookStatus.INTERRUPTED
        path = out / f"{name}{'' if status is NotebookStatus.OK else '.failed'}.ipynb"
        notebook = nbformat.read(source, 4)
        notebook.metadata["trainspeed"] = {**metadata, "status": str(status), "error": error, "cell": None}
        nbformat.write(notebook, path)
        return NotebookResult(name=name, title="T", status=status, error=error, path=path)


@pytest.fixture
def kernels(monkeypatch):
    stand_in = Kernels()
    monkeypatch.setattr("trainspeed.report.notebooks.execute", stand_in)
    return stand_in


def files(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def test_writes_a_notebook_and_a_page_and_prints_them(kernels, sides, capsys):
    assert compare_reports(["old", "new"], out=sides / "out") == 0
    assert files(sides / "out") >= {"compare.ipynb", "compare.html"}
    assert capsys.readouterr().out.splitlines() == [
        "compare: 2 trials that at least two of 2 sides have",
        "",
        "compare: notebook 1 of 1",
        "",
        "compare: ok",
        "out/compare.ipynb",
        "out/compare.html",
    ]


def test_the_notebook_is_told_names_and_the_kernel_alone_knows_the_paths(kernels, sides):
    measured(sides / "third", 3.0)
    compare_reports(["old", "new/runs.jsonl", sides / "third"], [1.5, None, 3], out=sides / "out")
    ((name, parameters, environment),) = kernels.calls
    assert name == COMPARE
    assert parameters == {"runs": ["old", "new", "third"], "usd_per_hour": [1.5, None, 3.0]}
    assert kernels.paths == [str(sides / side / "runs.jsonl") for side in ("old", "new", "third")]
    assert not Path(environment.pop("TRAINSPEED_COMPARE")).exists(), "it is removed afterwards"
    asked = {"TRAINSPEED_REPORT": "1", "TRAINSPEED_OUT": str(sides / "out"), "TRAINSPEED_NOTEBOOK": COMPARE}
    assert environment == asked


def test_a_variable_that_is_set_already_is_not_what_the_command_was_told(kernels, sides, monkeypatch):
    monkeypatch.setenv("TRAINSPEED_COMPARE", "/nowhere")
    assert compare_reports(["old", "new"], out=sides / "out") == 0


def test_the_page_of_a_fleet_has_a_name_of_its_own(kernels, sides, capsys):
    assert compare_reports([sides / "old", sides / "new"], out=sides / "out", name="fleet") == 0
    assert files(sides / "out") == {"fleet.ipynb", "fleet.html", ".trainspeed"}
    assert kernels.calls[0][0] == COMPARE, "it is the same notebook"
    assert "fleet: ok" in capsys.readouterr().out


def test_the_page_links_to_a_front_page_only_where_there_is_one(kernels, sides):
    compare_reports(["old", "new"], out=sides / "out")
    assert "index.html" not in (sides / "out/compare.html").read_text()
    (sides / "out/index.html").write_text('<meta name="generator" content="Trainspeed">')
    compare_reports(["old", "new"], out=sides / "out")
    assert 'href="index.html"' in (sides / "out/compare.html").read_text()


@pytest.mark.parametrize(
    ("end", "code"),
    [((NotebookStatus.FAILED, "ValueError: x"), 1), ((NotebookStatus.INTERRUPTED, "interrupted"), 130)],
)
def test_a_notebook_that_failed_leaves_no_page_that_looks_finished(kernels, sides, end, code, capsys):
    kernels.end = end
    assert compare_reports(["old", "new"], out=sides / "out") == code
    assert files(sides / "out") >= {"compare.failed.ipynb", "compare.html"}
    assert "this report is not complete" in (sides / "out/compare.html").read_text()
    assert end[1] in capsys.readouterr().out


def test_a_page_that_lacks_a_part_ends_with_1_and_says_so_in_its_title(kernels, sides):
    kernels.end = (NotebookStatus.INCOMPLETE, "1 part could not be shown")
    assert compare_reports(["old", "new"], out=sides / "out") == 1
    assert "<title>INCOMPLETE: " in (sides / "out/compare.html").read_text()


@pytest.mark.parametrize(
    ("runs", "usd", "message"),
    [
        ([], [], "RUNS names no ledger: name two or more folders"),
        (["old"], [], "RUNS (=old) names one ledger"),
        (["", "new"], [], "ledger 1 of 2 is missing"),
        (["old", "nowhere"], [], "nowhere does not exist"),
        (["old", "new", "empty"], [], "empty is a folder without a ledger"),
        (["old", "new", "old"], [], "old and old are the same ledger"),
        (
            ["old", "other"],
            [],
            "old and other have no common trials: old has layout (2 trials), other has amp (2",
        ),
        (["old", "future"], [], f"future has schema {SCHEMA + 1} in line 1"),
        (["old", "new"], [1.0], "USD has 1 price for 2 ledgers"),
        (["old", "new"], [-1.0, None], "the price of old (=-1.0) must be a positive number"),
        (["old", "new"], [None, "cheap"], "the price of new (='cheap') must be a positive number"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(kernels, sides, runs, usd, message):
    (sides / "empty").mkdir()
    measured(sides / "other", 1.0, study="amp")
    (sides / "future").mkdir()
    line = {**json.loads((sides / "new/runs.jsonl").read_text().splitlines()[0]), "schema": SCHEMA + 1}
    (sides / "future/runs.jsonl").write_text(json.dumps(line))
    with pytest.raises(UserError, match=f"^{re.escape(message)}") as problem:
        compare_reports(runs, usd, out=sides / "out")
    assert "\n" not in str(problem.value)
    assert not (sides / "out").exists() and kernels.calls == []


def test_someone_elses_page_is_not_written_over(kernels, sides):
    (sides / "out").mkdir()
    (sides / "out/compare.html").write_text("<p>my prices</p>")
    with pytest.raises(UserError, match=r"holds compare\.html"):
        compare_reports(["old", "new"], out=sides / "out")
    assert (sides / "out/compare.html").read_text() == "<p>my prices</p>"
    assert kernels.calls == []


# What is typed.


@pytest.mark.parametrize(
    ("text", "prices"),
    [(None, []), (" ", []), ("1.2 - 3", [1.2, None, 3.0]), ("1,2", [1.0, 2.0]), ("cheap", ["cheap"])],
)
def test_prices_are_typed_in_one_text_with_a_dash_for_none(text, prices):
    assert prices_typed(text) == prices == prices_typed(None, text)
    with pytest.raises(UserError, match="USD has the prices, and A_USD and B_USD have them too"):
        prices_typed("1 2", text or "3 -")


def test_sides_are_typed_one_by_one_or_in_one_text():
    assert sides_typed(["it's old", "new"], None) == ["it's old", "new"]
    assert sides_typed([], " a  'b c' d ") == ["a", "b c", "d"]
    with pytest.raises(UserError, match="use one of the two"):
        sides_typed(["a"], "b c")
    with pytest.raises(UserError, match="quote that is not closed"):
        sides_typed([], "a 'b")
    with pytest.raises(UserError, match="B names a ledger and A none: name both"):
        sides_typed([" ", "new"], None)


# The notebook itself.


def test_no_report_runs_it_and_one_that_is_told_to_says_what_does():
    more = {"preset": "smoke", "params": None, "has_gpu": False, "folder": ROOT / "notebooks"}
    assert COMPARE not in new_session(notebooks=(), **more).notebooks
    with pytest.raises(UserError, match="`make compare RUNS=…` does"):
        new_session(notebooks=("layout", COMPARE), **more)
    assert set(read_notebook(ROOT / "notebooks/compare.ipynb")) == PARAMETERS


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
    measured(folder / "third", 4.0, test_accuracy=0.5, machine={**machine, "cpu": "Third CPU"}, notes=BUSY)
    words = [str(folder / "old"), str(folder / "new"), str(folder / "third"), "--out", str(folder / "out")]
    done = run_command("compare", *words, "--usd", "1.5 2 -")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


slow = pytest.mark.slow


@slow
def test_the_page_answers_first_and_warns_of_what_differs(page):
    html = read_page(page / "out/compare.html")
    for sentence in (
        "Fastest for cnn10 on digits, 16 px, 128 images an epoch: <strong>new</strong>, 125 images per second, "
        "2.00x old (95 % interval 1.94 to 2.06).",
        "<strong>new</strong>, 224,780 images per dollar, 1.50x old",
        'No price is given for third: USD="1.5 2 2.5"',
        "old: Old CPU, no GPU used, 1.50 USD an hour.",
        "Other processes kept up to 1.5 CPU cores busy meanwhile: stop them. In 7 of 7 runs of third (PyTorch).",
        "CPU: Old CPU in old, Test CPU in new, Third CPU in third.",
        "new vs old: 2.00x (95 % interval 1.94 to 2.06): faster.",
    ):
        assert sentence in html, sentence


@slow
def test_its_tables_are_those_of_the_ledgers(page):
    tables = pd.read_html(StringIO(read_page(page / "out/compare.html")))
    answers = next(table for table in tables if "cheapest" in table)
    assert list(answers["fastest"]) == list(answers["cheapest"]) == ["new"]
    speedups = "speed-up of new over old"
    times = next(table for table in tables if speedups in table)
    assert list(times[speedups]) == ["2.00x (1.94 to 2.06)", "2.00x", "—"]
    assert list(times["blocks"]) == ["6", "1", "0, 1"]
    job = next(table for table in tables if "cost of a training" in table)
    assert list(job["side"]) == ["new", "old", "third"]
    assert list(job["per dollar / old"]) == ["1.50x", "1.00x", "—"]
    failures = next(table for table in tables if "reason" in table)
    assert list(failures["side"]) == ["old"] and list(failures["status"]) == ["OOM"]


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
    assert done.stderr.startswith("trainspeed: RUNS (=") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
