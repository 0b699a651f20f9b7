"""What a plan of switches is asked for: lists without anything, levers of which none is here, seeds, pipelines."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from study_data import make_run
from switches_plan import on_one_core, planned
from trainspeed.core.errors import UserError
from trainspeed.studies.switches import plan as plan_module


@pytest.fixture(autouse=True)
def one_core(monkeypatch):
    on_one_core(monkeypatch)


def test_a_list_without_anything_is_an_error():
    for name in ("frameworks", "models"):
        with pytest.raises(UserError, match=f"{name} .*name at least one, or leave the parameter out"):
            planned(**{name: []})


def test_levers_of_which_none_can_be_tried_are_an_error_that_says_why():
    """It measured the plain setting, and ended well."""
    with pytest.raises(UserError) as caught:
        planned(frameworks=["torch"], levers=["steps_per_call", "cudnn_benchmark"])
    assert str(caught.value) == (
        "levers (='steps_per_call, cudnn_benchmark') names nothing that can be tried here (cudnn_benchmark: it does "
        "nothing on a CPU; steps_per_call: a loop in Python is all that PyTorch has; CUDA graphs are a compile_mode): "
        "name others, or none for all."
    )
    assert planned(levers=["steps_per_call"]), "TensorFlow has it"
    assert planned(frameworks=["torch"], levers=["sync_every_step"]), "a brake is measured, too"
    assert planned(frameworks=["torch"], levers=["batch_size"]), "of which there is a ladder"
    for name, already_on, why in (
        ("sync_every_step", 0, "sync_every_step: it is measured with already_on"),
        ("strategy", 1, "strategy: it comes with devices: name that"),
    ):
        with pytest.raises(UserError, match=why):
            planned(frameworks=["torch"], levers=[name], already_on=already_on)


def test_an_older_report_is_drawn_whatever_its_session_asked_for(monkeypatch):
    """What is an error today was a row once: without its own parameters a page would be drawn without its runs."""
    monkeypatch.setattr(plan_module, "current", lambda: SimpleNamespace(render_from=Path("old")))
    own = SimpleNamespace(runs=(make_run(study="switches"),))
    monkeypatch.setattr(plan_module, "recorded", lambda *_, **__: own)
    monkeypatch.setattr(plan_module, "cores_here", lambda study: 2)

    assert planned(frameworks=["torch"], levers=["precision=bf17"]).searches
    assert planned(frameworks=["torch"], levers=["steps_per_call"]).searches


@pytest.mark.parametrize(
    ("pipeline", "fields"),
    [
        ("arrays", ("arrays", 0, False)),
        ("resize", ("resize", 0, False)),
        ("generator", ("generator", 0, True)),
        ("processes", ("processes", 7, True)),
        ("threads", ("threads", 7, True)),
    ],
)
def test_a_plain_pipeline_with_workers_has_as_many_as_are_tried_first(monkeypatch, pipeline, fields):
    monkeypatch.setattr(plan_module, "cores_here", lambda study: 8)
    (search,) = planned(frameworks=["torch"], pipeline=pipeline).searches

    start = search.start
    assert (start.pipeline, start.workers, start.augment) == fields


@pytest.mark.parametrize("seed", [-1, 2**30 + 1, 99999999999999999999])
def test_a_seed_leaves_room_for_what_blocks_add_to_it(seed):
    """With a larger one, no group of a search could be made; a trial of an older ledger may have it."""
    with pytest.raises(UserError, match=r"seed .* must be a whole number from 0 to 1073741824"):
        planned(seed=seed)
    most = planned(seed=2**30, frameworks=["torch"])
    assert all(trial.seed >= 2**30 for part in most.others for trial in part.trials)


def test_a_pipeline_that_there_is_not_is_an_error():
    with pytest.raises(UserError, match="pipeline 'proceses': did you mean 'processes'"):
        planned(pipeline="proceses")
