"""The multi-GPU notebook, executed by the report's own command with the smoke preset, and its page."""

from __future__ import annotations

import json
import re

import pytest

from command_line import trainspeed
from notebook_mistakes import mistake_in
from trainspeed import interpreters
from trainspeed.detect import logical_cores
from trainspeed.environments import ROOT
from trainspeed.ledger import Ledger
from trainspeed.run import Status
from trainspeed.trial import FRAMEWORKS, STRATEGIES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]

INSTALLED = [name for name in FRAMEWORKS if interpreters.find(name)]


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    result = trainspeed("report", "--preset", "smoke", "--notebooks", "multi_gpu", "--out", str(folder))
    assert result.returncode == 0, result.stdout + result.stderr
    return folder


def test_every_framework_trained_on_one_device_and_on_two(out):
    runs, doubts = Ledger(out).read()

    assert doubts == ()
    ok = {(r.trial.framework, r.trial.strategy) for r in runs if r.status == Status.OK}
    assert ok == {(name, strategy) for name in INSTALLED for strategy in STRATEGIES[name][:2]}
    unsupported = [r for r in runs if r.status != Status.OK]
    assert {(r.trial.strategy, r.status) for r in unsupported} <= {("data_parallel", Status.UNSUPPORTED)}


def test_the_input_the_computing_and_the_exchange_were_measured_alone(out):
    runs, _ = Ledger(out).read()

    parts = {(r.trial.part, r.trial.pipeline) for r in runs if r.status == Status.OK and r.epoch_s}
    assert parts >= {
        ("input", "generator"),
        ("input", "processes"),
        ("compute", "arrays"),
        ("exchange", "arrays"),
        ("latency", "arrays"),
    }


def test_the_page_says_what_a_device_was_and_names_the_bottleneck(out):
    page = (out / "multi_gpu.html").read_text()
    text = re.sub(r"<[^>]+>", "", page)

    assert "A device is one CPU core with one thread, not a GPU." in text
    assert "is the bottleneck" in text
    assert "One device alone takes" in text
    assert "summing the gradients of" in text
    assert "No forecast" in text
    assert "Traceback" not in text
    assert not re.search(r'(src|href)="https?://[^"]+\.(js|css|png)"', page)
    assert len(page) < 3_000_000


def test_one_block_decides_nothing(out):
    verdicts = json.loads((out / "verdicts.json").read_text())

    assert {v["factor"] for v in verdicts} == {"devices", "pipeline", "control"}
    assert {v["outcome"] for v in verdicts} == {"undecided"}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("devices: [64]", "devices (=64) is more than there are"),
        ("devices: [0]", "devices: 0 must be a whole number"),
        ("pipeline_devices: [64]", "pipeline_devices (=64) is more"),
        ("compared: []", "compared is an empty list"),
        ("strategies: []", "has none for"),
        ("blocks: 0", "blocks (=0)"),
        ("link_alpha_s: 1.0e-6", "go together"),
        ("forecast_overlap: 7.0", "overlap"),
        ("pipeline_batch_size: 2000", "pipeline_batch_size (=2000) is larger"),
        ("compared: [wek]", "did you mean 'weak'?"),
        ("strategies: [mirored]", "did you mean 'mirrored'?"),
        ("workers: [-1]", "workers (=-1) must be a whole number"),
        ("pipelines: [genrator]", "did you mean 'generator'"),
    ],
)
def test_bad_input_is_told_before_anything_is_measured(parameters, words, tmp_path, monkeypatch):
    assert words in mistake_in("multi_gpu", parameters, tmp_path, monkeypatch)


def test_what_can_be_is_no_mistake(tmp_path, monkeypatch):
    """The check of bad input can fail."""
    assert mistake_in("multi_gpu", "devices: [1]", tmp_path, monkeypatch).startswith("no mistake")


def test_bad_input_is_one_line_of_the_command(tmp_path):
    (tmp_path / "mine.yaml").write_text("multi_gpu: {devices: [64]}")
    made = ("--notebooks", "multi_gpu", "--out", str(tmp_path / "out"))
    result = trainspeed("report", "--preset", "smoke", *made, "--params", str(tmp_path / "mine.yaml"))

    assert result.returncode == 2
    assert "devices (=64) is more than there are" in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    assert not (tmp_path / "out/runs.jsonl").exists()


def test_the_notebook_is_committed_without_outputs():
    cells = json.loads((ROOT / "notebooks/multi_gpu.ipynb").read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells)
