"""A verdict in a sentence: what was compared, what came of it, and where it holds."""

import pytest

from study_data import MACHINE, layout_pair, make_pair, make_run, make_trial
from trainspeed.judge.comparison import compare
from trainspeed.judge.text import measured
from trainspeed.judge.verdict import judge, judge_difference

FIRST, LAST = "channels_first", "channels_last"
SIX = (1.31, 1.34, 1.34, 1.34, 1.34, 1.37)


def by_layout(runs, **more):
    return compare(runs, "layout", FIRST, LAST, question="Does it?", **more)


def one(verdicts):
    (verdict,) = verdicts
    return verdict


# The sentences.


def test_the_sentence_says_what_was_found_and_where_it_holds():
    assert one(by_layout(layout_pair(SIX))).sentence == (
        "channels_last vs channels_first: 1.34x (95 % interval 1.31 to 1.37): faster. "
        "Test CPU (1 core), PyTorch 2.15.0, cnn10, batch 32, 16 px, default precision, not compiled, 6 "
        "blocks."
    )


def test_the_sentence_names_the_gpu_it_holds_on():
    machine = {"device": "gpu", "cpu": "Test CPU", "gpus": [{"name": "NVIDIA H200"}]}
    assert "faster. NVIDIA H200, PyTorch" in one(by_layout(layout_pair(SIX, machine=machine))).sentence
    left_alone = {**machine, "device": "cpu"}
    assert "faster. Test CPU (1 core)," in one(by_layout(layout_pair(SIX, machine=left_alone))).sentence


def test_a_machine_without_a_name_is_a_cpu():
    assert ". CPU (1 core)," in one(by_layout(layout_pair(SIX, machine={**MACHINE, "cpu": None}))).sentence


def test_the_sentence_of_two_frameworks_names_both_versions():
    runs = make_pair("framework", ("torch", "tensorflow"), SIX)
    verdict = one(compare(runs, "framework", "torch", "tensorflow", question=""))
    assert verdict.sentence.startswith("TensorFlow vs PyTorch: 1.34x")
    assert "PyTorch 2.15.0, TensorFlow 2.21.0, cnn10, channels_first, batch 32" in verdict.sentence
    assert verdict.label == "TensorFlow vs PyTorch, cnn10, channels_first, batch 32"


def test_the_sentence_does_not_say_that_jax_was_not_compiled():
    runs = make_pair("framework", ("torch", "jax"), SIX, compile=False)
    runs = [r if r.trial.framework == "torch" else make_run(block=r.block, framework="jax") for r in runs]
    sentence = one(compare(runs, "framework", "torch", "jax", question="")).sentence
    assert "PyTorch 2.15.0 (not compiled), JAX 0.10.2 (compiled), cnn10" in sentence
    assert sentence.count("compiled") == 2


def test_the_sentence_of_compiling_says_so_once():
    sentence = one(
        compare(make_pair("compile", (False, True), SIX), "compile", False, True, question="")
    ).sentence
    assert sentence.startswith("compiled vs not compiled: 1.34x")
    assert sentence.count("compiled") == 2


def test_a_label_tells_compiled_and_reduced_precision_apart():
    labels = [
        one(by_layout(layout_pair(SIX, **variant))).label
        for variant in ({}, {"compile": True}, {"precision": "bf16"})
    ]
    assert labels == [
        "PyTorch, cnn10, batch 32",
        "PyTorch, cnn10, batch 32, compiled",
        "PyTorch, cnn10, batch 32, bf16",
    ]


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([1.5], "1.50x, no interval: undecided, measure 6 blocks or more"),
        ([1.5] * 5, "1.50x, no interval: undecided, measure 6 blocks or more"),
        ([1.5] * 6, "1.50x (95 % interval 1.50 to 1.50): faster"),
        ([0.5] * 6, "0.50x (95 % interval 0.50 to 0.50): slower"),
        ([1.0] * 6, "1.00x (95 % interval 1.00 to 1.00): the same within the margin"),
        (
            [0.9, 1.0, 1.0, 1.0, 1.0, 1.1],
            "1.00x (95 % interval 0.90 to 1.10): undecided",  # it would take hundreds
        ),
        (
            [1.0, 1.08, 1.10, 1.10, 1.12, 1.2],
            "1.10x (95 % interval 1.00 to 1.20): undecided, but not slower; measure more blocks",
        ),
        (
            [0.8, 0.88, 0.9, 0.9, 0.92, 0.99],
            "0.90x (95 % interval 0.80 to 0.99): undecided, but not faster; measure more blocks",
        ),
        (
            [0.99, 1.08, 1.10, 1.10, 1.12, 1.2],
            "1.10x (95 % interval 0.99 to 1.20): undecided, measure more blocks",
        ),
        ([], "not measured"),
    ],
)
def test_a_judgement_in_words(ratios, expected):
    assert measured(judge(ratios, [1.0] * len(ratios))) == expected


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([-2.2, -1.4, -1.4, -1.4, -1.4, 0.0], "undecided, but not higher; measure more blocks"),
        ([0.0, 0.2, 0.4, 0.4, 0.6, 0.9], "not lower"),
        ([-0.2, 0.2, 0.4, 0.4, 0.6, 0.9], "at most 0.5 points lower"),
        ([-0.9, 0.2, 0.4, 0.4, 0.6, 0.9], "undecided, measure more blocks"),
    ],
)
def test_an_undecided_accuracy_says_what_its_interval_rules_out(points, expected):
    judged = judge_difference([80.0] * 6, [80.0 + point for point in points])
    assert measured(judged, "accuracy").endswith(f"): {expected}")


def test_one_block_is_no_blocks():
    assert one(by_layout(layout_pair([1.5]))).sentence.endswith(", 1 block.")


def test_describe_leaves_out_what_is_told_elsewhere():
    trial = make_trial(framework="jax", precision="bf16")
    assert trial.describe() == ["JAX", "cnn10", "channels_first", "batch 32", "16 px", "bf16", "compiled"]
    assert trial.describe(without=("framework", "precision", "compile", "image_size")) == [
        "cnn10",
        "channels_first",
        "batch 32",
    ]
