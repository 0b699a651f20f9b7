"""Which verdicts and runs answer a statement, and which do not."""

from dataclasses import replace

import pytest

from amp_data import accuracies, speedups
from scaling_data import FED, make_verdict
from study_data import layout_pair, make_pair, make_run
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.evidence import ARTICLE_WORKERS, check_claim
from trainspeed.articles.numbers import pipelines, second_gpu
from trainspeed.core.run import Role, Status
from trainspeed.core.trial import LAYOUTS
from trainspeed.studies.layout import findings

LAYOUT, SCALING, AMP = ({c.id: c for c in claims(study)} for study in ("layout", "multi_gpu", "amp"))
AGREES, DISAGREES, UNDECIDED, UNMEASURED = Result


def answer(name, runs, verdicts=None):
    """Return the answer to a statement on layouts or frameworks, with this project's own verdicts on the runs."""
    if verdicts is None:
        verdicts = [*findings.layout_verdicts(runs), *findings.framework_verdicts(runs)]
    return check_claim(LAYOUT[name], verdicts, runs)


# Layouts and frameworks. Our verdicts go from channels_first to channels_last, the statement the other way.


@pytest.mark.parametrize(("ratio", "expected"), [(0.9, AGREES), (1.1, DISAGREES), (1.0, DISAGREES)])
def test_a_statement_is_checked_in_its_own_direction(ratio, expected):
    found = answer("layout_cnn10", layout_pair([ratio] * 6, framework="tensorflow"))
    assert found.result == expected
    (item,) = found.evidence
    assert item.name == "channels_first vs channels_last, TensorFlow, cnn10, batch 32"
    assert item.judgement.speedup == pytest.approx(1 / ratio)


def test_the_turned_interval_has_its_ends_turned():
    runs = layout_pair([0.8, 0.9, 0.9, 0.9, 0.9, 0.95], framework="tensorflow")
    judgement = answer("layout_cnn10", runs).evidence[0].judgement
    assert (judgement.low, judgement.high) == pytest.approx((1 / 0.95, 1 / 0.8))
    assert judgement.outcome == "faster"


@pytest.mark.parametrize(
    "other",
    [{"framework": "torch"}, {"model": "wrn28_10"}, {"compile": True}, {"precision": "bf16"}],
)
def test_another_framework_model_precision_or_xla_is_not_what_was_stated(other):
    found = answer("layout_cnn10", layout_pair([0.9] * 6, **{"framework": "tensorflow", **other}))
    assert (found.result, found.evidence) == (UNMEASURED, ())


def test_a_verdict_on_accuracy_says_nothing_of_time():
    runs = [
        make_run(block=block, framework="tensorflow", layout=layout, test_accuracy=0.5)
        for block in range(6)
        for layout in LAYOUTS
    ]
    verdicts = findings.layout_verdicts(runs, "accuracy")
    assert len(verdicts) == 1
    assert answer("layout_cnn10", runs, verdicts).result == UNMEASURED


def test_of_several_batch_sizes_the_one_with_the_most_blocks_answers():
    runs = layout_pair([1.5], framework="tensorflow", batch_size=8)
    runs += layout_pair([0.9] * 6, framework="tensorflow", batch_size=64)
    assert answer("layout_cnn10", runs).result == AGREES


@pytest.mark.parametrize(("ratio", "expected"), [(1.1, AGREES), (0.9, DISAGREES)])
def test_a_statement_between_frameworks_holds_at_its_layout_only(ratio, expected):
    pair = ("torch", "tensorflow")
    assert answer("framework_cnn10", make_pair("framework", pair, [ratio] * 6)).result == expected
    other = make_pair("framework", pair, [ratio] * 6, layout="channels_last")
    assert answer("framework_cnn10", other).result == UNMEASURED


# From the smallest to the largest batch size.


def gap_runs(small, large, blocks=6, **more):
    pair = ("torch", "tensorflow")
    return [
        *make_pair("framework", pair, [small] * blocks, batch_size=8, **more),
        *make_pair("framework", pair, [large] * blocks, batch_size=128, **more),
        *make_pair("framework", pair, [9.0], batch_size=32, **more),
    ]


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        (1.5, 1.1, AGREES),
        (0.5, 0.9, AGREES),
        (1.1, 1.5, DISAGREES),
        (1.1, 0.5, DISAGREES),
        (1.5, 1 / 1.1, AGREES),
        (1.5, 1.5, UNDECIDED),
    ],
)
def test_a_gap_closes_when_the_ratio_comes_nearer_to_1_from_either_side(small, large, expected):
    found = answer("framework_gap", gap_runs(small, large))
    assert found.result == expected
    assert found.evidence[0].name == "the gap at batch 8 over that at batch 128"
    assert found.evidence[0].judgement.speedup == pytest.approx(max(small, 1 / small) / max(large, 1 / large))


def test_a_gap_of_five_blocks_or_of_blocks_that_disagree_is_undecided():
    assert answer("framework_gap", gap_runs(1.5, 1.1, blocks=5)).result == UNDECIDED
    runs = make_pair("framework", ("torch", "tensorflow"), [1.5] * 6, batch_size=8)
    runs += make_pair("framework", ("torch", "tensorflow"), [1.1] * 5 + [1.9], batch_size=128)
    assert answer("framework_gap", runs).result == UNDECIDED


def test_a_gap_needs_two_batch_sizes_in_both_frameworks():
    one_size = make_pair("framework", ("torch", "tensorflow"), [1.5] * 6)
    only_torch = [run for run in gap_runs(1.5, 1.1) if run.trial.framework == "torch"]
    for runs in (one_size, only_torch):
        found = answer("framework_gap", runs)
        assert found.result == UNMEASURED and "two batch sizes" in found.note


@pytest.mark.parametrize("other", [{"compile": True}, {"precision": "bf16"}, {"layout": "channels_last"}])
def test_a_gap_is_that_of_the_published_setting(other):
    assert answer("framework_gap", gap_runs(1.5, 1.1, **other)).result == UNMEASURED
    both = [*gap_runs(1.5, 1.1), *gap_runs(1.1, 1.5, **other)]
    assert answer("framework_gap", both).result == AGREES


# PyTorch fits a larger batch than TensorFlow.


def ended(framework, **statuses):
    """Return one run per batch size: b64="ok", b128="oom"."""
    return [
        make_run(framework=framework, batch_size=int(name[1:]), status=Status(status))
        for name, status in statuses.items()
    ]


@pytest.mark.parametrize(
    ("tensorflow", "torch", "expected"),
    [
        ({"b64": "ok", "b128": "oom"}, {"b64": "ok", "b128": "ok"}, AGREES),
        ({"b64": "ok", "b128": "ok"}, {"b64": "ok", "b128": "oom"}, DISAGREES),
        ({"b64": "ok", "b128": "oom"}, {"b64": "ok", "b128": "oom"}, DISAGREES),
        ({"b64": "ok", "b128": "oom"}, {"b64": "ok", "b128": "timeout"}, UNDECIDED),
        ({"b64": "ok"}, {"b64": "ok", "b128": "oom"}, UNDECIDED),
        ({"b64": "ok", "b128": "timeout"}, {"b64": "ok", "b128": "oom"}, UNDECIDED),
        ({"b64": "oom"}, {"b64": "ok", "b128": "ok"}, UNMEASURED),
        ({}, {"b64": "ok", "b128": "oom"}, UNMEASURED),
        ({"b64": "ok", "b128": "oom"}, {}, UNMEASURED),
        ({"b64": "ok"}, {"b64": "ok", "b128": "ok"}, UNMEASURED),
    ],
)
def test_a_larger_batch_fits_where_the_other_was_tried_and_ran_out_of_memory(tensorflow, torch, expected):
    found = answer("memory", [*ended("tensorflow", **tensorflow), *ended("torch", **torch)])
    assert found.result == expected
    told = f"The largest batch that ran here: torch {128 if torch.get('b128') == 'ok' else 64}, tensorflow "
    assert found.note.startswith(told) == (expected != UNMEASURED)


def test_a_batch_that_fits_in_one_layout_fits():
    runs = [
        *ended("tensorflow", b64="ok"),
        make_run(framework="tensorflow", batch_size=128, layout="channels_first", status=Status.OOM),
        make_run(framework="tensorflow", batch_size=128, layout="channels_last"),
        *ended("torch", b64="ok", b128="ok"),
    ]
    assert answer("memory", runs).result == UNDECIDED


def test_a_run_that_shows_the_default_allocation_is_no_evidence():
    runs = [*ended("tensorflow", b64="ok"), *ended("torch", b64="ok", b128="ok")]
    runs.append(make_run(framework="tensorflow", batch_size=128, status=Status.OOM, label=Role.ALLOCATION))
    found = answer("memory", runs)
    assert (found.result, found.note) == (UNMEASURED, "No run here ran out of memory.")


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
