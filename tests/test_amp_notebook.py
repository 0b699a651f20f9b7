"""The amp notebook, executed by the report's own command with the smoke preset, and its page."""

from __future__ import annotations

import json
import re

import pytest

from command_line import trainspeed
from notebook_mistakes import mistake_in
from trainspeed import interpreters
from trainspeed.environments import ROOT
from trainspeed.ledger import Ledger
from trainspeed.precision import unsupported_reason
from trainspeed.run import Status
from trainspeed.trial import CEILINGS, PRECISIONS

pytestmark = pytest.mark.slow

INSTALLED = [name for name in ("tensorflow", "torch") if interpreters.find(name)]  # of the smoke preset's
LACKING = {name: reason for name in PRECISIONS if (reason := unsupported_reason(name, None))}
WITH_TORCH = pytest.mark.skipif("torch" not in INSTALLED, reason="torch is not installed")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    result = trainspeed("report", "--preset", "smoke", "--notebooks", "amp", "--out", str(folder))
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


@pytest.fixture(scope="module")
def runs(out):
    found, doubts = Ledger(out).read()
    assert doubts == ()
    return [run for run in found if run.trial.framework in INSTALLED]


@pytest.fixture(scope="module")
def page(out):
    return (out / "amp.html").read_text()


def test_every_framework_trained_in_fp32(runs):
    trained = {run.trial.framework for run in runs if run.trial.part == "both" and run.status == Status.OK}

    assert trained == set(INSTALLED)
    assert {run.status for run in runs} <= {Status.OK, Status.UNSUPPORTED}


def test_a_precision_that_the_cpu_lacks_is_a_row_with_the_reason(runs):
    rows = {
        (run.trial.framework, run.trial.precision): run.reason
        for run in runs
        if run.trial.part == "both" and run.trial.precision in LACKING and run.status == Status.UNSUPPORTED
    }

    assert rows == {(name, precision): reason for name in INSTALLED for precision, reason in LACKING.items()}


def test_accuracy_flops_and_dtype_were_looked_up(runs):
    whole = [run for run in runs if run.trial.part == "both" and run.status == Status.OK]

    assert all(0 <= run.test_accuracy <= 1 for run in whole)
    assert all(run.step_flops > 0 and run.step_bytes > 0 and run.parameters > 0 for run in whole)
    assert {run.effective_precision for run in whole if run.trial.precision == "fp32"} == {"float32"}


@WITH_TORCH
def test_parts_and_ceilings_were_measured(runs):
    parts = {run.trial.part for run in runs if run.trial.framework == "torch" and run.status == Status.OK}

    assert parts == {"both", "input", "compute", "fit", *CEILINGS}


def test_the_page_tells_what_was_measured_and_what_was_not(page):
    text = re.sub(r"<[^>]+>", "", page)

    assert "Not measured here:" in text, "no CPU has TF32"
    for reason in LACKING.values():
        assert reason[1:] in text
    assert "Nothing was compared in 6 blocks or more: nothing is decided." in text
    assert "Price not given: set usd_per_hour." in text
    assert "reading and enlarging the images of an epoch takes" in text
    assert "Traceback" not in text
    assert not re.search(r"<td[^>]*>\s*nan\s*</td>", page)
    assert not re.search(r'(src|href)="https?://[^"]+\.(js|css|png)"', page)
    assert len(page) < 3_000_000


@WITH_TORCH
def test_the_page_tells_the_ceilings_and_names_no_model_of_theirs(page):
    text = re.sub(r"<[^>]+>", "", page)

    assert "fp32 multiplies matrices at" in text or "as fast as fp32" in text
    assert "memory moves" in text
    assert "cnn10" not in text
    assert "PyTorch, matrix products only, tf32" in text


def test_precisions_are_listed_in_their_order(page):
    (table,) = re.findall(r'<table[^>]*id="T_results.*?</table>', page, flags=re.DOTALL)
    found = re.findall(rf">\s*({'|'.join(PRECISIONS)})\s*<", table)

    assert found == ["fp32", "tf32", "bf16"] * len(INSTALLED), "fp16 is not in the smoke preset"


def test_one_block_decides_nothing(out):
    verdicts = json.loads((out / "verdicts.json").read_text())

    assert {verdict["factor"] for verdict in verdicts} <= {"precision", "control"}
    assert {verdict["outcome"] for verdict in verdicts} <= {"undecided"}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("models: [vgg17]", "did you mean 'vgg16'?"),
        ("image_size: 16", "image_size (=16) is too small for mobilenet: 32 px or more"),
        ("folds: 1", "folds (=1) must be a whole number of at least 2"),
        ("folds: 2000", "folds (=2000) is more than the 1,000 images"),
        ("usd_per_hour: -1.0", "usd_per_hour (=-1.0) must be a positive number"),
        ("precisions: [bf16]", "must hold 'fp32'"),
        ("weights: imagnet", "did you mean 'imagenet'?"),
        ("fit_frameworks: [tensorflw]", "did you mean 'tensorflow'?"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(parameters, words, tmp_path, monkeypatch):
    assert words in mistake_in("amp", parameters, tmp_path, monkeypatch)


def test_what_can_be_is_no_mistake(tmp_path, monkeypatch):
    """The check of bad input can fail."""
    assert mistake_in("amp", "folds: 3", tmp_path, monkeypatch).startswith("no mistake")


def test_bad_input_is_one_line_of_the_command(tmp_path):
    (tmp_path / "mine.yaml").write_text("amp: {models: [vgg17]}")
    made = ("--notebooks", "amp", "--out", str(tmp_path / "out"), "--params", str(tmp_path / "mine.yaml"))
    result = trainspeed("report", "--preset", "smoke", *made)

    assert result.returncode == 2
    assert "did you mean 'vgg16'?" in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert not (tmp_path / "out/runs.jsonl").exists()


def test_the_notebook_is_committed_without_outputs():
    cells = json.loads((ROOT / "notebooks/amp.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
