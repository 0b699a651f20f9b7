"""What only the multi-GPU notebook has, in the report that all tests of notebooks share."""

from __future__ import annotations

import re

import pytest

from notebook_mistakes import mistake_in
from page_text import read_page
from smoke_report import runs_of, verdicts_of
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.run import Status
from trainspeed.core.trial import STRATEGIES
from trainspeed.sensors.machine import logical_cores

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]

# Of those that the smoke preset trains with; JAX on two devices trains in `test_strategies`.
INSTALLED = [name for name in ("tensorflow", "torch") if find_interpreter(name)]


@pytest.fixture(scope="module")
def runs(smoke_report):
    return runs_of(smoke_report, "multi_gpu")


def test_every_framework_trained_on_one_device_and_on_two(runs):
    ok = {(r.trial.framework, r.trial.strategy) for r in runs if r.status == Status.OK}
    assert ok == {(name, strategy) for name in INSTALLED for strategy in STRATEGIES[name][:2]}
    unsupported = [r for r in runs if r.status != Status.OK]
    assert {(r.trial.strategy, r.status) for r in unsupported} <= {("data_parallel", Status.UNSUPPORTED)}


def test_the_input_the_computing_and_the_exchange_were_measured_alone(runs):
    parts = {(r.trial.part, r.trial.pipeline) for r in runs if r.status == Status.OK and r.epoch_s}
    assert parts >= {
        ("input", "generator"),
        ("input", "processes"),
        ("compute", "arrays"),
        ("exchange", "arrays"),
    }


def test_the_page_says_what_a_device_was_and_names_the_bottleneck(smoke_report):
    text = re.sub(r"<[^>]+>", "", read_page(smoke_report / "multi_gpu.html"))

    assert "A device is one CPU core with one thread, not a GPU." in text
    assert "is the bottleneck" in text
    assert "One device alone takes" in text
    assert "summing the gradients of" in text
    assert "hides behind computing" in text
    assert "No forecast" in text


def test_devices_pipelines_and_the_control_are_compared(smoke_report):
    assert {v.factor for v in verdicts_of(smoke_report, "multi_gpu")} == {"devices", "pipeline", "control"}


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("devices: [64]", "devices (=64) is more than there are"),
        ("devices: [0]", "devices (=0) must be a whole number"),
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
