"""What the notebook measures with a preset, on GPUs that are made up."""

from inspect import signature

import pytest

from study_data import make_run
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.evidence import check_claim
from trainspeed.core.paths import ROOT
from trainspeed.report.parameters import resolve_parameters
from trainspeed.studies.multi_gpu import plan as module
from trainspeed.studies.multi_gpu.claims import claim_verdicts
from trainspeed.studies.multi_gpu.plan import plan_multi_gpu


@pytest.fixture
def standard(monkeypatch):
    """The plan of the standard preset on two GPUs, and its parameters."""
    monkeypatch.setattr(module, "devices_here", lambda _study: (2, "GPU"))
    given = resolve_parameters(["multi_gpu"], ROOT / "notebooks", preset="standard")["multi_gpu"]
    wanted = signature(plan_multi_gpu).parameters
    return plan_multi_gpu(**{name: value for name, value in given.items() if name in wanted}), given


def test_the_standard_preset_can_decide_what_the_articles_state_of_several_devices(standard):
    """Their PyTorch trained channels_first; what it gains from a second device is no matter of luck here."""
    plan, given = standard
    runs = [
        make_run(4.0 / trial.devices, trial=trial.in_block(block), block=block, machine={"device": "gpu"})
        for trial in (*plan.core, *plan.articles)
        for block in range(6)
    ]
    stated = [claim for claim in claims("multi_gpu", set(given["models"])) if claim.pipeline != "threads"]

    results = {
        claim.id: check_claim(claim, claim_verdicts(runs), runs).result for claim in stated if claim.model
    }
    assert set(results) == {"tensorflow_cnn10", "torch_cnn10", "framework_cnn10"}
    assert Result.UNMEASURED not in results.values()


def test_the_articles_layout_is_measured_in_the_plain_precision_alone(standard):
    plan, given = standard

    assert {(t.framework, t.layout, t.precision, t.compile) for t in plan.articles} == {
        ("tensorflow", "channels_first", "default", False),
        ("torch", "channels_first", "default", False),
    }
    assert {t.batch_size for t in plan.articles} == set(given["batch_sizes"]), "strong scaling alone"
    assert {t.layout for t in plan.core} == {"channels_last"}
    assert {t.precision for t in plan.fed} == {"default"}


def test_the_links_are_measured_around_all_others_and_what_hides_often_enough_for_an_interval(standard):
    plan, _ = standard
    assert [(t.part, t.devices, t.nodes) for t in plan.sums] == [("link", 2, 1)]
    assert (plan.sums.around, plan.sums.blocks) == (True, 2)
    assert {t.part for t in plan.hidden} == {"both", "exchange"}
    assert plan.hidden.blocks == 6 and plan.alone.blocks == 1


@pytest.mark.parametrize(
    "changed", [{"forecast_devices": []}, {"link_alpha_s": 1e-6, "link_bytes_per_s": 1e9}]
)
def test_a_link_that_nobody_asks_for_is_not_measured(standard, changed):
    plan, _ = standard
    assert plan.change(**changed).sums.trials == ()


def test_cores_have_no_link(standard, monkeypatch):
    plan, _ = standard
    monkeypatch.setattr(module, "devices_here", lambda _study: (2, "CPU core"))
    assert plan.change(seed=1).sums.trials == ()


def test_one_device_compares_its_input_pipelines_often_enough_for_an_interval(standard, monkeypatch):
    plan, _ = standard
    monkeypatch.setattr(module, "devices_here", lambda _study: (1, "GPU"))
    alone = plan.change(seed=1)

    assert (plan.core_name, plan.core.blocks, plan.fed.blocks, plan.fed.controls) == ("core", 12, 1, ())
    assert (alone.core_name, alone.core.blocks, alone.fed.blocks) == ("fed", 1, 6)
    assert alone.change(pipeline_blocks=7).fed.blocks == 7 and alone.change(blocks=2).fed.blocks == 2
    assert alone.core.controls == ()
    assert [(t.framework, t.pipeline, t.part) for t in alone.fed.controls] == [("torch", "generator", "both")]


@pytest.mark.parametrize("changed", [{"pipelines": []}, {"pipeline_blocks": 0}])
def test_one_device_without_pipelines_has_the_usual_core(standard, monkeypatch, changed):
    plan, _ = standard
    monkeypatch.setattr(module, "devices_here", lambda _study: (1, "GPU"))
    assert plan.change(**changed).core_name == "core"


def test_without_a_generator_another_pipeline_is_measured_twice(standard, monkeypatch):
    plan, _ = standard
    monkeypatch.setattr(module, "devices_here", lambda _study: (1, "GPU"))
    alone = plan.change(pipelines=["arrays", "threads"])
    assert [t.pipeline for t in alone.fed.controls] == ["arrays"]
