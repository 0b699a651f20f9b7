from __future__ import annotations

import os
import sys
from pathlib import Path

import nbformat
import pytest

from study_data import make_run, make_trial
from trainspeed import backends, explore
from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.ledger import Ledger
from trainspeed.run import Status
from trainspeed.study import Measured
from trainspeed.trial import FRAMEWORKS

SMALL = {"batch_size": 8, "images_per_epoch": 16, "epochs": 3, "image_size": 8, "dataset": "digits"}


@pytest.fixture
def out(monkeypatch, tmp_path):
    """A folder that a notebook measures to, with every framework played by the fake backend."""
    monkeypatch.setenv("TRAINSPEED_OUT", str(tmp_path))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    )
    for name in FRAMEWORKS:
        monkeypatch.setitem(backends.MODULES, name, "fake_backend")
        monkeypatch.setenv(f"TRAINSPEED_PYTHON_{name.upper()}", sys.executable)
    return tmp_path


@pytest.fixture
def said(monkeypatch):
    """What is displayed as Markdown."""
    texts = []
    monkeypatch.setattr(explore.notebook, "display", lambda shown: texts.append(shown.data))
    monkeypatch.setattr(explore, "show", lambda drawing, alt: texts.append("chart"))
    return texts


def measured(*runs):
    return Measured("layout", "s", Path(), Path(), tuple(runs))


def test_a_trial_is_found_by_its_fields():
    runs = [make_run(framework="jax"), make_run(layout="channels_last", seed=3)]

    found = explore.trial_like(measured(*runs), framework="torch")

    assert found == make_trial(layout="channels_last", seed=0)


def test_a_failed_trial_is_not_found():
    failed = make_run(status=Status.OOM)

    with pytest.raises(UserError, match="no run of this notebook gave a result"):
        explore.trial_like(measured(failed))
    with pytest.raises(UserError, match="no trial of this notebook with framework='jax'"):
        explore.trial_like(measured(make_run()), framework="jax")


def test_an_unknown_field_is_named():
    with pytest.raises(UserError, match="did you mean 'batch_size'"):
        explore.trial_like(measured(make_run()), batchsize=8)
    with pytest.raises(UserError, match="did you mean 'batch_size'"):
        explore.change(make_trial(), batchsize=8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "nothing to change"),
        ({"batch_size": 32}, "has batch_size already"),
        ({"batch_size": 4096}, "larger than the epoch"),
        ({"batch_size": 64, "blocks": 0}, "blocks"),
    ],
)
def test_a_change_that_cannot_be_is_one_line_and_measures_nothing(out, changes, words):
    with pytest.raises(UserError, match=words):
        explore.change(make_trial(), **changes)
    assert not (out / "runs.jsonl").exists()


def test_both_trials_are_measured_in_the_same_blocks_in_a_study_of_their_own(out, said):
    changed = explore.change(make_trial(**SMALL), blocks=2, batch_size=16, interval_s=0.2)

    runs = Ledger(out).read()[0]
    assert {run.study for run in runs} == {"explore"}
    assert sorted((run.block, run.trial.batch_size) for run in runs) == [(0, 8), (0, 16), (1, 8), (1, 16)]
    assert changed.verdict.factor == "batch_size" and changed.verdict.blocks == 2
    explore.tell(changed)
    assert "batch 16 vs batch 8" in said[0] and "on each" not in said[0] and said[1] == "chart"


def test_devices_and_their_strategy_are_one_change():
    assert explore._factor({"strategy": "ddp", "devices": 2}) == "devices"
    assert explore._factor({"layout": "channels_last"}) == "layout"


def test_a_failed_run_is_told_with_its_reason(said):
    explore.tell(explore.Changed(None, (make_run(status=Status.OOM),)))

    assert said == ["- oom: for a test"]


def test_in_a_report_nothing_is_measured(monkeypatch, out, said):
    monkeypatch.setenv("TRAINSPEED_REPORT", "1")

    trial = explore.trial_like(measured(make_run(status=Status.OOM)), framework="jax")
    explore.tell(explore.change(trial, batch_size=4096))

    assert "Not measured in a report" in said[0] and not (out / "runs.jsonl").exists()


@pytest.mark.parametrize("name", ["layout", "multi_gpu", "amp", "conv2d"])
def test_every_study_ends_with_cells_to_explore_that_its_page_leaves_out(name):
    cells = nbformat.read(ROOT / f"notebooks/{name}.ipynb", 4).cells
    explored = [cell for cell in cells if "remove_cell" in cell.metadata.get("tags", [])]

    assert cells[-len(explored) :] == explored and len(explored) >= 3
    assert "explore.change(" in explored[1].source and ".query(" in explored[2].source
