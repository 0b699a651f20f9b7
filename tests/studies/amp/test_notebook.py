"""What only the amp notebook has, in the report that all tests of notebooks share."""

from __future__ import annotations

import re

import pytest

from notebook_mistakes import mistake_in
from page_text import read_page
from smoke_report import runs_of, verdicts_of
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.format import NAMES
from trainspeed.core.phase import CEILINGS
from trainspeed.core.result import precision_text
from trainspeed.core.run import Status
from trainspeed.core.trial import PRECISIONS

pytestmark = pytest.mark.slow

INSTALLED = [name for name in ("tensorflow", "torch") if find_interpreter(name)]  # of the smoke preset's
LACKING = {
    "tf32": "TF32 is a mode of NVIDIA GPUs; this is a CPU",
    "bf16": "this CPU has no bf16 arithmetic (none of the flags avx512_bf16, amx_bf16, bf16)",
}
WITH_TORCH = pytest.mark.skipif("torch" not in INSTALLED, reason="torch is not installed")


@pytest.fixture(scope="module")
def runs(smoke_report):
    return [run for run in runs_of(smoke_report, "amp") if run.trial.framework in INSTALLED]


@pytest.fixture(scope="module")
def page(smoke_report):
    return read_page(smoke_report / "amp.html")


def test_every_framework_trained_in_the_default_precision(runs):
    trained = {run.trial.framework for run in runs if run.trial.part == "both" and run.status == Status.OK}

    assert trained == set(INSTALLED)
    assert {run.status for run in runs} <= {Status.OK, Status.UNSUPPORTED}


def test_a_precision_that_the_cpu_lacks_is_a_row_with_the_reason(runs):
    rows = {
        (run.trial.framework, run.trial.precision): run.reason
        for run in runs
        if run.trial.part == "both" and run.status == Status.UNSUPPORTED
    }

    assert rows == {(name, precision): reason for name in INSTALLED for precision, reason in LACKING.items()}


def test_accuracy_flops_and_dtype_were_looked_up(runs):
    whole = [run for run in runs if run.trial.part == "both" and run.status == Status.OK]

    assert all(0 <= run.test_accuracy <= 1 for run in whole)
    assert all(run.step_flops > 0 and run.step_bytes > 0 and run.parameters > 0 for run in whole)
    plain = [run for run in whole if run.trial.precision == "default"]
    assert {precision_text(run.effective_precision, run.tf32) for run in plain} == {"float32"}


@WITH_TORCH
def test_parts_and_ceilings_were_measured(runs):
    parts = {run.trial.part for run in runs if run.trial.framework == "torch" and run.status == Status.OK}

    assert parts == {"both", "input", "compute", "fit", *(phase.name for phase in CEILINGS)}


def test_the_page_tells_what_was_measured_and_what_was_not(page):
    text = re.sub(r"<[^>]+>", "", page)

    for precision, reason in LACKING.items():
        who = ", ".join(f"{NAMES[name]} {precision}" for name in INSTALLED)
        assert f"Not measured here: {who}. {reason[:1].upper()}{reason[1:]}." in text
    assert "Not to be had here: " in text and "no comparison has 6 blocks" not in text
    assert "Price not given: set usd_per_hour." in text
    assert "reading and enlarging the images of an epoch takes" in text
    assert "trained in 32 bits, with no TF32, as in strict fp32." in text


@WITH_TORCH
def test_the_page_tells_the_ceilings_and_names_no_model_of_theirs(page):
    text = re.sub(r"<[^>]+>", "", page)

    assert "fp32 multiplies matrices at" in text or "as fast as fp32" in text
    assert "memory moves" in text
    assert "cnn10" not in text
    assert "PyTorch, matrix products only, tf32" in text


def test_precisions_are_listed_in_their_order_and_those_that_the_cpu_lacks_below(page):
    (table,) = re.findall(r'<table[^>]*id="T_results.*?</table>', page, flags=re.DOTALL)
    found = re.findall(rf">\s*({'|'.join(PRECISIONS)})\s*<", table)

    assert found == ["default"] * len(INSTALLED) + [*LACKING] * len(INSTALLED)


def test_precisions_and_the_control_are_compared(smoke_report):
    assert {verdict.factor for verdict in verdicts_of(smoke_report, "amp")} <= {"precision", "control"}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("models: [vgg17]", "did you mean 'vgg16'?"),
        ("image_size: 16", "image_size (=16) is too small for mobilenet: 32 px or more"),
        ("folds: 1", "folds (=1) must be a whole number of at least 2"),
        ("folds: 2000", "folds (=2000) is more than the 1,000 images"),
        ("usd_per_hour: -1.0", "usd_per_hour (=-1.0) must be a positive number"),
        ("precisions: [bf16]", "must hold 'default' or 'fp32'"),
        ("weights: imagnet", "did you mean 'imagenet'?"),
        ("fit_frameworks: [tensorflw]", "did you mean 'tensorflow'?"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(parameters, words, tmp_path, monkeypatch):
    assert words in mistake_in("amp", parameters, tmp_path, monkeypatch)


def test_what_can_be_is_no_mistake(tmp_path, monkeypatch):
    """The check of bad input can fail."""
    assert mistake_in("amp", "folds: 3", tmp_path, monkeypatch).startswith("no mistake")
