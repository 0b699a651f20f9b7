"""What runs say of the articles' statements on several devices, pipelines and precisions."""

from dataclasses import replace

import pytest

from amp_data import accuracies, speedups
from scaling_data import FED, make_verdict
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.evidence import ARTICLE_WORKERS, check_claim
from trainspeed.articles.numbers import pipelines, second_gpu

LAYOUT, SCALING, AMP = ({c.id: c for c in claims(study)} for study in ("layout", "multi_gpu", "amp"))
AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result


# Several devices.

FRAMEWORKS_COMPARED = {"factor": "framework", "values": ("tensorflow", "torch")}
PIPELINES_COMPARED = FED | {"factor": "pipeline", "values": ("threads", "processes")}


@pytest.mark.parametrize(
    ("name", "framework", "ratio", "expected"),
    [
        ("torch_cnn10", "torch", 1.5, AGREES),
        ("torch_cnn10", "torch", 0.8, DISAGREES),
        ("tensorflow_cnn10", "tensorflow", 0.8, AGREES),
        ("tensorflow_cnn10", "tensorflow", 1.5, DISAGREES),
    ],
)
def test_a_statement_about_a_second_device_is_checked_on_ours(name, framework, ratio, expected):
    verdict = make_verdict(ratio, framework=framework)
    found = check_claim(SCALING[name], [verdict])
    assert found.result == expected and found.evidence[0].verdict == verdict


@pytest.mark.parametrize(
    "other",
    [
        {"framework": "tensorflow"},
        {"model": "wrn28_10"},
        {"layout": "channels_last"},
        {"precision": "bf16"},
        {"compile": True},
        {"batch_size": (64, 128)},
        {"values": (2, 4)},
        {"quantity": "accuracy"},
        {"factor": "layout", "values": ("channels_first", "channels_last")},
        {"pipeline": "threads"},
        {"part": "compute"},
        {"nodes": (1, 2)},
    ],
)
def test_what_was_not_stated_is_not_measured(other):
    assert check_claim(SCALING["torch_cnn10"], [make_verdict(**other)]).result == UNMEASURED


def test_the_most_blocks_answer_and_then_the_nearest_number_of_devices():
    few, four, two = (
        make_verdict(0.5, blocks=1),
        make_verdict(0.5, values=(1, 4)),
        make_verdict(1.5, values=(1, 2)),
    )
    assert check_claim(SCALING["torch_cnn10"], [few, four, two]).evidence[0].verdict == two
    assert check_claim(SCALING["torch_cnn10"], [few, four]).evidence[0].verdict == four


def test_more_blocks_than_are_needed_answer_before_nearer_devices():
    near, sure = make_verdict(0.5, values=(1, 2), blocks=6), make_verdict(1.5, values=(1, 4), blocks=9)
    assert check_claim(SCALING["torch_cnn10"], [near, sure]).evidence[0].verdict == sure


def test_of_a_generators_gain_the_batch_may_grow_with_the_devices():
    grown = make_verdict(1.1, values=(1, 2), batch_size=(32, 64), pipeline="threads", **FED)
    assert check_claim(SCALING["generator"], [grown]).result == AGREES
    assert check_claim(SCALING["generator"], [make_verdict(1.1, **FED)]).result == UNMEASURED, "arrays"


@pytest.mark.parametrize(("ratio", "expected"), [(2.0, AGREES), (0.5, DISAGREES), (1.0, DISAGREES)])
@pytest.mark.parametrize(
    ("name", "setting"), [("framework_cnn10", FRAMEWORKS_COMPARED), ("processes", PIPELINES_COMPARED)]
)
def test_frameworks_and_pipelines_are_compared_on_several_devices(name, setting, ratio, expected):
    assert check_claim(SCALING[name], [make_verdict(ratio, **setting)]).result == expected
    assert check_claim(SCALING[name], [make_verdict(ratio, devices=1, **setting)]).result == UNMEASURED


def test_the_name_has_both_frameworks_and_how_each_spreads_the_batch():
    (item,) = check_claim(SCALING["framework_cnn10"], [make_verdict(2.0, **FRAMEWORKS_COMPARED)]).evidence
    assert item.name.startswith("PyTorch vs TensorFlow, cnn10") and item.name.endswith("(torch: ddp)")
    assert "2 devices (mirrored)" in item.name


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("framework_cnn10", FRAMEWORKS_COMPARED | {"layout": "channels_last"}),
        ("framework_cnn10", FRAMEWORKS_COMPARED | {"pipeline": "threads"}),
        ("framework_cnn10", FRAMEWORKS_COMPARED | {"batch_size": (64, 128)}),
        ("framework_cnn10", FRAMEWORKS_COMPARED | {"devices": (2, 4)}),
        ("framework_cnn10", FRAMEWORKS_COMPARED | {"precision": "bf16"}),
        ("processes", PIPELINES_COMPARED | {"values": ("generator", "processes")}),
        ("processes", PIPELINES_COMPARED | {"framework": "torch"}),
        ("processes", PIPELINES_COMPARED | {"part": "input"}),
    ],
)
def test_other_frameworks_and_pipelines_than_those_stated_are_no_evidence(name, setting):
    assert check_claim(SCALING[name], [make_verdict(2.0, **setting)]).result == UNMEASURED


def test_of_equally_many_blocks_the_nearest_to_the_articles_gpus_and_workers_answers():
    eight = make_verdict(1.5, devices=8, workers=(1, 1), **PIPELINES_COMPARED)
    near = make_verdict(1.5, devices=8, workers=(4, 16), **PIPELINES_COMPARED)
    two = make_verdict(0.5, devices=2, workers=(4, 32), **PIPELINES_COMPARED)
    assert check_claim(SCALING["processes"], [eight, two, near]).evidence[0].verdict == near


def test_the_articles_gpus_and_workers_are_those_of_its_numbers():
    table = pipelines()
    assert table.set_index("pipeline")["workers"].dropna().to_dict() == ARTICLE_WORKERS
    assert {c.devices for c in SCALING.values() if c.source == "002"} == {table["devices"].max()}
    assert len(second_gpu()) and {c.devices for c in SCALING.values() if c.source == "001"} == {2}
    assert all(int(c.candidate) == c.devices for c in SCALING.values() if c.factor == "devices")


# Precisions.


@pytest.mark.parametrize(
    "other",
    [{"framework": "torch"}, {"model": "mobilenet"}, {"compile": True}, {"part": "compute"}],
)
def test_a_share_of_another_framework_model_or_compiler_is_not_what_was_stated(other):
    assert check_claim(AMP["time_vgg16"], speedups([2.0] * 6, **other)).result == UNMEASURED


def test_tf32_is_no_mixed_precision():
    assert check_claim(AMP["time_vgg16"], speedups([2.0] * 6, "tf32")).result == UNMEASURED


def test_bf16_answers_only_where_there_is_no_fp16():
    halves = speedups([2.0] * 6, "bf16")
    found = check_claim(AMP["time_vgg16"], halves)
    assert found.result == AGREES and found.evidence[0].name.startswith("bf16 vs fp32, ")
    found = check_claim(AMP["time_vgg16"], [*halves, *speedups([1.0])])
    assert found.result == UNDECIDED and found.evidence[0].name.startswith("fp16 vs fp32, ")
    assert (
        check_claim(AMP["sixteenth"], [*speedups([17.0] * 6, "bf16"), *speedups([2.0] * 6)]).result == AGREES
    )


def test_of_several_batch_sizes_the_most_blocks_and_the_nearest_to_the_articles_answer():
    """The article's VGG16 had batches of 8."""
    verdicts = [speedups([r] * n, batch_size=size)[0] for r, n, size in ((1, 6, 32), (2, 6, 16), (3, 1, 8))]
    assert check_claim(AMP["time_vgg16"], verdicts).evidence[0].verdict.baseline.batch_size == 16


def test_training_with_validation_is_what_the_article_timed():
    verdicts = [*speedups([1.0] * 7), *speedups([2.0] * 6, part="fit")]
    assert check_claim(AMP["time_vgg16"], verdicts).result == AGREES


def test_of_all_models_those_that_tell_most_come_first():
    verdicts = speedups([1.1] * 6) + speedups([1.9] * 6, model="mobilenet")
    found = check_claim(AMP["sixteenth"], verdicts).evidence
    assert [item.judgement.speedup for item in found] == [1.9, 1.1]
    found = check_claim(
        AMP["accuracy"], accuracies([0.1] * 6) + accuracies([-2.0] * 6, model="mobilenet")
    ).evidence
    assert [round(item.judgement.speedup, 1) for item in found] == [-2.0, 0.1]


def test_times_say_nothing_of_accuracy_and_compiled_models_do():
    assert check_claim(AMP["accuracy"], speedups([2.0] * 6)).result == UNMEASURED
    assert check_claim(AMP["accuracy"], accuracies([0.1] * 6, framework="jax")).result == AGREES


def test_a_verdict_without_a_block_is_no_evidence():
    verdict = make_verdict()
    nothing = replace(verdict, judgement=replace(verdict.judgement, speedup=None, low=None, high=None))
    assert check_claim(SCALING["torch_cnn10"], [nothing]).result == UNMEASURED
