"""A study of a model of the user's own, from its file to the ledger and back, on the fake backend."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from study_data import make_run
from trainspeed.conduct.context import Context
from trainspeed.conduct.forecast import read_plan
from trainspeed.conduct.plan import Plan, TrialSet
from trainspeed.conduct.study import measure
from trainspeed.core import user_model
from trainspeed.core.errors import PlanOnly, UserError
from trainspeed.core.frame import to_frame
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Status
from trainspeed.core.trial import Trial
from trainspeed.show import tables
from trainspeed.worker import backends
from trainspeed.worker.data.folds import data_set_of, images_of

BUILD = "def build(input_shape, classes, layout): ...\n"
DATA = """
import numpy as np
def data(image_size):
    return np.zeros((9, 8, 8), np.uint8), np.arange(9) % 3, np.zeros((3, 8, 8)), np.arange(3)
"""


def trial(model, **changed):
    fields = {
        "layout": "channels_first",
        "batch_size": 8,
        "images_per_epoch": 16,
        "epochs": 3,
        "image_size": 8,
    }
    return Trial(**{"framework": "torch", "model": model, **fields, **changed})


@pytest.fixture
def study(monkeypatch, tmp_path):
    """Return a function that measures trials on the fake backend into the folder `out`."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setenv("TRAINSPEED_PYTHON_TORCH", sys.executable)
    monkeypatch.setitem(backends.MODULES, "torch", "fake_backend")

    def run(*trials, **session):
        plan = Plan(others=(TrialSet(trials=trials, blocks=1),))
        about = {"id": "s1", "out": tmp_path / "out", **session}
        return measure("layout", plan, timeout_s=60, interval_s=0.2, context=Context(**about))

    return run


# Which data.


def test_auto_is_the_models_own_data_where_its_file_has_some(own):
    with_data = own(BUILD + DATA)

    assert data_set_of(trial(with_data)) == data_set_of(trial(with_data, dataset="own")) == "own"
    assert data_set_of(trial(with_data, dataset="digits")) == "digits"
    assert data_set_of(trial("cnn10")) != "own"


def test_data_of_its_own_that_a_model_does_not_have_are_refused(own):
    for model in (own(BUILD), "cnn10"):
        with pytest.raises(UserError, match=f"dataset 'own' is what the function `data`.*{model} has none"):
            data_set_of(trial(model, dataset="own"))


def test_what_trains_nothing_needs_no_data_of_its_own():
    assert data_set_of(trial("cnn10", dataset="own", part="matmul")) in ("digits", "cifar10")


def test_own_images_are_resized_to_the_experiments_shape_or_left_as_they_are(own):
    model = own(BUILD + DATA)

    whole = images_of(trial(model, dataset="own", image_size=12))
    small = images_of(trial(model, dataset="own", image_size=12, pipeline="resize", folds=3, fold=0))

    assert whole.train_x.shape == (9, 12, 12, 3) and whole.test_x.shape == (3, 12, 12, 3)
    assert small.train_x.shape == (6, 8, 8, 1) and small.test_x.shape == (3, 8, 8, 1)
    assert whole.classes == small.classes == 3


def test_own_images_are_read_anew_when_the_file_has_changed(own):
    model = own(BUILD + DATA)
    before = images_of(trial(model, dataset="own"))
    own(BUILD + DATA.replace("zeros((9, 8, 8)", "ones((9, 8, 8)"))

    assert images_of(trial(model, dataset="own")).train_x.max() > before.train_x.max()


# In the ledger.


def test_a_line_has_the_files_version_its_data_and_no_folder_of_this_machine(own, study, tmp_path):
    model = own(BUILD + DATA, "nets/my.py")

    (run,) = study(trial(model)).runs
    text = (tmp_path / "out/runs.jsonl").read_text() + (tmp_path / "out/runs.csv").read_text()

    assert (run.status, run.trial.model, run.trial.dataset) == (Status.OK, "nets/my.py:build", "own")
    assert run.versions == {"fake": "1.0", **user_model.version_of(model)}
    assert run.classes == 3
    assert str(tmp_path) not in text


def test_data_that_are_wrong_are_a_row_and_the_worker_goes_on(own, study):
    bad = own(BUILD + "def data(image_size):\n    raise OSError('no such disk')", "bad.py")
    lacking = own(BUILD + "def data(image_size):\n    import no_such_package", "lacking.py")

    runs = {run.trial.model: run for run in study(trial(bad), trial(lacking), trial("cnn10")).runs}

    assert (runs[bad].status, runs[lacking].status) == (Status.INVALID, Status.UNSUPPORTED)
    assert runs[bad].reason == "bad.py:data raised OSError in line 3: no such disk"
    assert runs["cnn10"].status == Status.OK


@pytest.mark.parametrize(
    ("source", "message"),
    [(None, "no file my.py"), ("x = 1", "has no function"), ("def build(", "not Python")],
)
def test_a_wrong_file_is_one_line_before_anything_is_measured(own, study, tmp_path, source, message):
    if source:
        own(source)
    else:
        own(BUILD, "other.py")

    for more in ({}, {"plan_to": tmp_path / "plan.json"}):
        with pytest.raises(UserError, match=message):
            study(trial("my.py:build"), **more)

    assert not (tmp_path / "out/runs.jsonl").exists()


def test_a_plan_names_the_model_without_its_folder(own, study, tmp_path):
    file = tmp_path / "plan.json"
    with pytest.raises(PlanOnly):
        study(trial(own(BUILD, "nets/my.py")), plan_to=file)

    (group,) = read_plan(file).groups
    assert group.arms[0].startswith("PyTorch, my.py:build, channels_first")


def test_a_resumed_session_measures_a_model_anew_when_its_file_has_changed(own, study, tmp_path):
    model = own(BUILD)
    study(trial(model))
    same = study(trial(model), resume=True)
    own(BUILD + "# changed")
    changed = study(trial(model), resume=True)

    versions = [run.versions["my.py"] for run in Ledger(tmp_path / "out").read()[0]]
    assert len(versions) == 2, "once for each version of the file"
    assert [run.versions["my.py"] for run in (*same.runs, *changed.runs)] == versions


def test_rendering_needs_the_file_no_more(own, study, tmp_path):
    model = own(BUILD)
    whole = study(trial(model))
    (tmp_path / "my.py").unlink()

    assert study(trial(model), render_from=tmp_path / "out").runs == whole.runs


# In the report.


def test_a_table_says_whose_data_they_are():
    own = make_run(model="nets/my.py:build", dataset="own", test_accuracy=0.5)
    alone = tables.results_table(to_frame([own])).data
    beside = tables.results_table(to_frame([own, make_run(dataset="digits")])).data

    assert "accuracy % after 4 epochs on your own data" in alone
    assert set(beside["dataset"]) == {"your own data", "digits"}
    assert list(alone["model"]) == ["nets/my.py:build"]


def test_a_report_runs_no_model_that_it_was_not_asked_for(own, study, tmp_path):
    """A verdict in the folder may name any file, and its largest gains are measured again."""
    proof = tmp_path / "ran"
    model = own(f"open({str(proof)!r}, 'w')\n{BUILD}")

    assert not study(trial("cnn10"), trial(model), in_report=True).runs, "a set of trials stays whole"
    assert not proof.exists()

    runs = study(trial("cnn10"), trial(model), in_report=True, user_models=(model,), id="s2")
    assert {run.trial.model for run in runs} == {"cnn10", model}
