"""Which verdicts and runs answer a statement, and which do not."""

from dataclasses import replace

import pytest

from study_data import layout_pair, make_pair, make_run
from trainspeed.articles.claims import Result, claims
from trainspeed.articles.evidence import check_claim
from trainspeed.core.result import Failure
from trainspeed.core.run import Role, Status
from trainspeed.core.trial import LAYOUTS, STRATEGIES
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
    assert found.evidence[0].name == "the gap at batch 8 over that at batch 128, channels_first"
    assert found.evidence[0].judgement.speedup == pytest.approx(max(small, 1 / small) / max(large, 1 / large))


def test_noise_around_no_difference_is_no_gap_that_closes():
    """Turned block by block, each of the small batches would have a gap of 1.25x or more."""
    pair = ("torch", "tensorflow")
    runs = make_pair("framework", pair, [0.7, 1.4, 0.8, 1.3, 0.75, 1.25], batch_size=8)
    runs += make_pair("framework", pair, [1.01, 0.99] * 3, batch_size=128)
    assert answer("framework_gap", runs).result == UNDECIDED


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


def ended(framework, statuses, **more):
    """Return one run per batch size: {"b64": "ok", "b128": "oom"}."""
    if more.get("devices") == 2:
        more = more | {"strategy": STRATEGIES[framework][1]}
    return [
        make_run(framework=framework, batch_size=int(name[1:]), status=Status(status), **more)
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
    found = answer("memory", [*ended("tensorflow", tensorflow), *ended("torch", torch)])
    assert found.result == expected
    told = f"The largest batch that ran here: torch {128 if torch.get('b128') == 'ok' else 64}, tensorflow "
    assert found.note.startswith(told) == (expected != UNMEASURED)


ONE_FITS = {"b64": "ok", "b128": "oom"}, {"b64": "ok", "b128": "ok"}  # of two, the second


@pytest.mark.parametrize(
    "other",
    [
        {"layout": "channels_last"},
        {"precision": "bf16"},
        {"compile": True},
        {"devices": 2},
        {"image_size": 64},
        {"part": "compute"},
        {"pipeline": "generator"},
    ],
)
def test_only_trials_that_are_equal_but_for_framework_and_batch_are_held_against_each_other(other):
    def both(tensorflow, torch, **more):
        return [*ended("tensorflow", tensorflow, **more), *ended("torch", torch, **more)]

    unlike = [*ended("tensorflow", ONE_FITS[0]), *ended("torch", ONE_FITS[1], **other)]
    assert answer("memory", unlike).result == UNMEASURED
    found = answer("memory", [*both(*ONE_FITS), *both(*ONE_FITS[::-1], **other)])
    assert found.result == UNDECIDED and found.note.startswith("That depends on layout, precision")
    found = answer("memory", [*both(*ONE_FITS), *ended("tensorflow", {"b128": "ok"}, **other)])
    assert found.result == AGREES
    assert found.note == (
        "The largest batch that ran here: torch 128, tensorflow 64 (channels_first, default precision, not "
        "compiled, 1 device)."
    )


def test_a_batch_that_was_not_tried_for_lack_of_memory_is_no_evidence():
    runs = [*ended("tensorflow", ONE_FITS[0]), *ended("torch", ONE_FITS[1])]
    runs = [replace(run, failure=Failure()) if run.status is Status.OOM else run for run in runs]
    found = answer("memory", runs)
    assert (found.result, found.note) == (UNMEASURED, "No run here ran out of memory.")


def test_a_run_that_shows_the_default_allocation_is_no_evidence():
    runs = [*ended("tensorflow", {"b64": "ok"}), *ended("torch", {"b64": "ok", "b128": "ok"})]
    runs.append(make_run(framework="tensorflow", batch_size=128, status=Status.OOM, label=Role.ALLOCATION))
    found = answer("memory", runs)
    assert (found.result, found.note) == (UNMEASURED, "No run here ran out of memory.")
