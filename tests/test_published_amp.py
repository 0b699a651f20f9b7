"""Article 003's numbers and claims on mixed precision, against the text's own printed figures."""

import math

import pytest

from amp_data import accuracies, shares, speedups
from trainspeed.published import AGREES, CANNOT_TELL, DISAGREES
from trainspeed.published_amp import (
    BAND,
    SHARE_COLUMNS,
    amp_claims,
    check_amp,
    ec2_gpus,
    matrix_units,
    mixed_accuracy,
    shares_beside,
    tflops_per_dollar,
    why_unsupported,
)
from trainspeed.trial import PRECISIONS, ZOO

CLAIMS = {claim.id: claim for claim in amp_claims()}


# The transcribed numbers, against the article's text.


def test_the_table_of_matrix_units_is_as_printed():
    """Three rows of the article, as it spells them."""
    table = matrix_units()
    rows = table.groupby("printed_architecture", sort=False)["printed"].apply(", ".join).to_dict()
    assert rows == {
        "Volta": "FP16",
        "Tuning": "FP16, INT8, INT4, INT1",
        "Ampere": "FP64, TF32, BP16, FP16, INT8, INT4, INT1",
    }
    examples = dict(zip(table["architecture"], table["gpu"], strict=True))
    assert examples == {"Volta": "Tesla V100", "Turing": "Tesla T4", "Ampere": "A100"}


def test_names_are_put_right_and_what_is_not_the_articles_has_its_own_source():
    table = matrix_units()
    assert set(table["precision"]) == {"fp16", "int8", "int4", "int1", "fp64", "tf32", "bf16"}
    slips = table[table["printed"] != table["precision"].str.upper()]
    assert slips[["printed", "precision"]].values.tolist() == [["BP16", "bf16"]]
    capability = dict(zip(table["architecture"], table["compute_capability"], strict=True))
    assert capability == {"Volta": "7.0", "Turing": "7.5", "Ampere": "8.0"}
    assert set(table["capability_source"]) == {"NVIDIA CUDA C++ Programming Guide"}


def test_the_cited_accuracies_are_as_printed():
    table = mixed_accuracy()
    printed = {
        row["model"]: tuple(f"{row[name]:.{row['decimals']}f}%" for name in ("fp32", "mixed"))
        for row in table.to_dict("records")
    }
    assert printed == {
        "AlexNet": ("56.77%", "56.93%"),
        "VGG-D": ("65.40%", "65.43%"),
        "GoogLeNet": ("68.33%", "68.43%"),
        "Inception v1": ("70.03%", "70.02%"),
        "Resnet50": ("71.61%", "73.75%"),
        "Faster R-CNN": ("69.1%", "69.7%"),
        "Multibox SSD": ("76.9%", "77.1%"),
    }
    assert table["table"].tolist() == [1] * 5 + [2] * 2
    assert set(table["cited"].str.contains("NVIDIA Developer Blog")) == {True}


def test_the_note_on_the_difference_that_stands_out_is_right():
    table = mixed_accuracy().set_index("model")["points"]
    assert table["Resnet50"] == 2.14
    assert table.drop("Resnet50").abs().max() == 0.6


def test_the_prices_are_as_printed():
    names = ["family", "size", "gpu", "fp32_tflops", "mixed_tflops", "usd_per_hour", "region", "as_of"]
    assert ec2_gpus()[names].values.tolist() == [
        ["P3", "2xlarge", "Tesla V100", 7.00, 112, 5.252, "Tokyo", "2022-02-28"],
        ["G4", "xlarge", "Tesla T4", 8.10, 65, 0.994, "Tokyo", "2022-02-28"],
    ]


def test_the_articles_arithmetic_holds():
    """21 and 65 TFLOPS for a dollar an hour; 16 times is the V100's, not the T4's that it measured."""
    table = tflops_per_dollar(ec2_gpus())
    assert (
        table["mixed_tflops_per_usd"].round().tolist() == table["printed_tflops_per_usd"].tolist() == [21, 65]
    )
    assert table["mixed_over_fp32"].tolist() == pytest.approx([16, 65 / 8.1])
    assert table["fp32_tflops_per_usd"].tolist() == pytest.approx([7 / 5.252, 8.1 / 0.994])


@pytest.mark.parametrize("table", [matrix_units(), mixed_accuracy(), ec2_gpus()], ids=["units", "acc", "ec2"])
def test_every_row_says_where_it_is_from(table):
    assert set(table["source"]) == {"003"}
    assert table["place"].str.len().min() > 10


# Why a precision is not supported.


@pytest.mark.parametrize(
    ("precision", "gpu", "capability", "expected"),
    [
        (
            "bf16",
            "Tesla T4",
            "7.5",
            "Turing (as the Tesla T4) has no bf16 in its matrix units (article 003).",
        ),
        ("tf32", None, (7, 0), "Volta (as the Tesla V100) has no tf32 in its matrix units (article 003)."),
        ("bf16", "Xavier", "7.2", "Volta (as the Xavier) has no bf16 in its matrix units (article 003)."),
        ("fp16", "GTX 1080", "6.1", "Matrix units came with Volta; GTX 1080 is older (article 003)."),
    ],
)
def test_a_missing_precision_is_explained_by_the_table(precision, gpu, capability, expected):
    assert why_unsupported(precision, gpu, capability) == expected


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("capability", ["8.0", (8, 6), "9.0", (10, 0), None])
def test_what_the_table_does_not_deny_is_not_explained(precision, capability):
    assert why_unsupported(precision, "NVIDIA H200", capability) is None


def test_fp32_and_a_precision_that_is_there_have_nothing_to_explain():
    assert why_unsupported("fp32", "K80", "3.7") is None
    assert why_unsupported("fp16", "Tesla T4", "7.5") is None


# Claims.


@pytest.mark.parametrize("claim", amp_claims(), ids=lambda claim: claim.id)
def test_a_claim_is_about_something_that_can_be_measured(claim):
    assert claim.model in ("", *ZOO) and claim.framework in ("", "tensorflow")
    assert (claim.factor, claim.baseline, claim.candidate) == ("precision", "fp32", "fp16")
    assert claim.source == "003" and all((claim.place, claim.claim, claim.size))


def test_there_is_a_claim_for_each_of_the_articles_models_and_two_for_all():
    shares = [claim for claim in CLAIMS.values() if claim.kind == "share"]
    assert [claim.model for claim in shares] == list(ZOO)
    assert {(claim.low, claim.high) for claim in shares} == {BAND}
    assert CLAIMS["sixteenth"].low == 1 / 16
    assert [claim.id for claim in amp_claims(["vgg16"])] == ["time_vgg16", "sixteenth", "accuracy"]
    assert len(amp_claims()) == len(CLAIMS) == 11


@pytest.mark.parametrize(
    ("ratios", "expected", "words"),
    [
        ([2.0] * 6, AGREES, "50.0 % of FP32's time (95 % interval 50.0 to 50.0 %), within 45 to 60 %."),
        ([1.0] * 6, DISAGREES, "more than 45 to 60 %."),
        ([3.0] * 6, DISAGREES, "33.3 % of FP32's time (95 % interval 33.3 to 33.3 %), less than 45 to 60 %."),
        ([1.6, *[2.0] * 4, 2.1], CANNOT_TELL, "interval 47.6 to 62.5 %), partly within 45 to 60 %."),
        ([1.2, *[2.0] * 4, 4.0], CANNOT_TELL, "interval 25.0 to 83.3 %), partly within 45 to 60 %."),
        ([2.0] * 5, CANNOT_TELL, "50.0 % of FP32's time, no interval: measure 6 blocks or more."),
    ],
)
def test_a_share_of_fp32s_time_is_held_against_the_band(ratios, expected, words):
    answer, reason = check_amp(CLAIMS["time_vgg16"], speedups(ratios))
    assert answer == expected
    assert reason.startswith("Here TensorFlow, vgg16, batch 32, fp16: ") and reason.endswith(words)


@pytest.mark.parametrize(
    "other",
    [{"framework": "torch"}, {"model": "mobilenet"}, {"compile": True}, {"part": "compute"}],
)
def test_another_framework_model_or_compiling_is_not_what_was_claimed(other):
    answer = check_amp(CLAIMS["time_vgg16"], speedups([2.0] * 6, **other))
    assert answer == (CANNOT_TELL, "vgg16 was not measured here in both precisions with TensorFlow.")


def test_tf32_is_no_mixed_precision():
    assert check_amp(CLAIMS["time_vgg16"], speedups([2.0] * 6, "tf32"))[0] == CANNOT_TELL


def test_bf16_answers_only_where_there_is_no_fp16_and_says_so():
    claim, halves = CLAIMS["time_vgg16"], speedups([2.0] * 6, "bf16")
    answer, reason = check_amp(claim, halves)
    assert answer == AGREES
    assert reason.endswith("within 45 to 60 %. This is bf16: fp16 was not compared here.")
    answer, reason = check_amp(claim, [*halves, *speedups([1.0])])
    assert answer == CANNOT_TELL and "bf16" not in reason


def test_of_several_batch_sizes_the_one_with_the_most_blocks_or_nearest_to_the_articles_answers():
    """The article's VGG16 had batches of 8."""
    verdicts = [
        *speedups([1.0] * 6, batch_size=32),
        *speedups([2.0] * 6, batch_size=16),
        *speedups([3.0], batch_size=8),
    ]
    answer, reason = check_amp(CLAIMS["time_vgg16"], verdicts)
    assert answer == AGREES and "batch 16" in reason


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (speedups([2.0] * 6), AGREES),
        (speedups([1.1] * 6) + speedups([15.9] * 6, model="mobilenet"), AGREES),
        (speedups([2.0] * 6) + speedups([16.0] * 6, model="mobilenet"), DISAGREES),
        (speedups([2.0] * 6) + speedups([10.0, *[15.0] * 4, 17.0], model="mobilenet"), CANNOT_TELL),
        (speedups([2.0]), CANNOT_TELL),
        (speedups([2.0] * 6) + speedups([17.0], model="mobilenet"), CANNOT_TELL),
        (speedups([2.0] * 6) + speedups([3.0], model="mobilenet"), AGREES),
        ([], CANNOT_TELL),
    ],
)
def test_whether_the_time_falls_to_a_sixteenth_is_decided_by_the_best(verdicts, expected):
    assert check_amp(CLAIMS["sixteenth"], verdicts)[0] == expected


def test_the_best_is_named_beside_what_a_sixteenth_would_be():
    verdicts = speedups([1.1] * 6) + speedups([1.9] * 6, model="mobilenet")
    assert check_amp(CLAIMS["sixteenth"], verdicts)[1] == (
        "Here at most TensorFlow, mobilenet, batch 32, fp16: 1.90x (95 % interval 1.90 to 1.90): faster; "
        "1/16 would be 16x."
    )


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (accuracies([0.1] * 6), AGREES),
        (accuracies([2.0] * 6), AGREES),
        (accuracies([-2.0] * 6), DISAGREES),
        (accuracies([0.1] * 6) + accuracies([-2.0] * 6, framework="jax"), DISAGREES),
        (accuracies([-2.0, *[0.0] * 4, 2.0]), CANNOT_TELL),
        (accuracies([0.1] * 6) + accuracies([0.1] * 2, framework="jax"), CANNOT_TELL),
        (speedups([2.0] * 6), CANNOT_TELL),
        ([], CANNOT_TELL),
    ],
)
def test_accuracy_holds_where_none_is_worse_and_all_are_decided(verdicts, expected):
    assert check_amp(CLAIMS["accuracy"], verdicts)[0] == expected


def test_the_comparisons_of_accuracy_are_counted_and_the_lowest_is_named():
    verdicts = accuracies([0.1] * 6) + accuracies([-2.0] * 6, model="mobilenet")
    assert check_amp(CLAIMS["accuracy"], verdicts)[1] == (
        "Here, of 2 comparisons with fp32: 1 the same within the margin, 1 worse. The lowest: PyTorch, "
        "mobilenet, batch 32, fp16: -2.0 points in test accuracy (95 % interval -2.0 to -2.0): worse."
    )


def test_one_worse_of_very_many_may_be_chance():
    many = [v for size in range(1, 30) for v in accuracies([0.0] * 6, batch_size=size)]
    answer, reason = check_amp(CLAIMS["accuracy"], [*many, *accuracies([-1.0] * 6, batch_size=64)])
    assert answer == CANNOT_TELL
    assert reason.endswith("Of so many, up to 1.5 are wrong by chance.")


def test_nothing_measured_is_said():
    expected = "No model was measured here in both precisions."
    assert check_amp(CLAIMS["accuracy"], []) == (CANNOT_TELL, expected)


# Shares beside the article's band.


def test_a_share_is_one_over_the_speedup_and_its_interval_is_turned():
    data = shares()
    assert tuple(data) == SHARE_COLUMNS
    assert data[["framework", "model", "precision"]].agg(" ".join, axis=1).tolist() == [
        "tensorflow vgg16 fp16",
        "tensorflow vgg16 bf16",
        "torch vgg16 fp16",
        "jax mobilenet fp16",
    ]
    assert data["share"].tolist() == pytest.approx([0.5, 0.8, 1.0, 0.25])
    assert data["low"].tolist() == pytest.approx([0.4, math.nan, 1.0, math.nan], nan_ok=True)
    assert data["high"].tolist() == pytest.approx([0.625, math.nan, 1.0, math.nan], nan_ok=True)
    assert data["blocks"].tolist() == [6, 2, 6, 1]


def test_a_model_has_one_row_for_each_precision_and_compiled_ones_stand_apart():
    verdicts = [
        *speedups([2.0] * 6, batch_size=8),
        *speedups([3.0] * 6, batch_size=64),
        *speedups([2.5] * 6, batch_size=8, compile=True),
    ]
    data = shares_beside(verdicts)
    assert data[["compile", "share"]].values.tolist() == [[False, 0.5], [True, 0.4]]


def test_nothing_compared_is_a_frame_without_rows():
    assert tuple(shares_beside([])) == SHARE_COLUMNS and shares_beside([]).empty
