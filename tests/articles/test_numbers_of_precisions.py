"""The numbers of articles 003 and 004 are those that they print."""

import pandas as pd
import pytest

from trainspeed.articles.claims import FOLDER
from trainspeed.articles.numbers import (
    convolution_gpus,
    convolution_sentence,
    printed,
    published,
    why_unsupported,
)
from trainspeed.core.trial import PRECISIONS

# Article 003: mixed precision.


def test_the_table_of_matrix_units_is_as_printed():
    """Three rows of the article, as it spells them."""
    table = printed("matrix_unit_precisions")
    rows = table.groupby("printed_architecture", sort=False)["printed"].apply(", ".join).to_dict()
    assert rows == {
        "Volta": "FP16",
        "Tuning": "FP16, INT8, INT4, INT1",
        "Ampere": "FP64, TF32, BP16, FP16, INT8, INT4, INT1",
    }
    examples = dict(zip(table["architecture"], table["gpu"], strict=True))
    assert examples == {"Volta": "Tesla V100", "Turing": "Tesla T4", "Ampere": "A100"}


def test_names_are_put_right_and_what_is_not_the_articles_has_its_own_source():
    table = printed("matrix_unit_precisions")
    assert set(table["precision"]) == {"fp16", "int8", "int4", "int1", "fp64", "tf32", "bf16"}
    slips = table[table["printed"] != table["precision"].str.upper()]
    assert slips[["printed", "precision"]].values.tolist() == [["BP16", "bf16"]]
    capability = dict(zip(table["architecture"], table["compute_capability"], strict=True))
    assert capability == {"Volta": "7.0", "Turing": "7.5", "Ampere": "8.0"}
    assert set(table["capability_source"]) == {"NVIDIA CUDA C++ Programming Guide"}


def test_the_cited_accuracies_are_as_printed():
    table = printed("nvidia_mixed_accuracy")
    accuracies = {row["model"]: (f"{row['fp32']}%", f"{row['mixed']}%") for row in table.to_dict("records")}
    assert accuracies == {
        "AlexNet": ("56.77%", "56.93%"),
        "VGG-D": ("65.40%", "65.43%"),
        "GoogLeNet": ("68.33%", "68.43%"),
        "Inception v1": ("70.03%", "70.02%"),
        "Resnet50": ("71.61%", "73.75%"),
        "Faster R-CNN": ("69.1%", "69.7%"),
        "Multibox SSD": ("76.9%", "77.1%"),
    }
    assert "".join(table["table"]) == "1111122"
    assert set(table["cited"].str.contains("NVIDIA Developer Blog")) == {True}


def test_the_note_on_the_difference_that_stands_out_is_right():
    table = published("nvidia_mixed_accuracy").set_index("model")
    points = (table["mixed"] - table["fp32"]).round(2)
    assert points["Resnet50"] == 2.14
    assert points.drop("Resnet50").abs().max() == 0.6


def test_the_prices_are_as_printed():
    names = ["family", "size", "gpu", "fp32_tflops", "mixed_tflops", "usd_per_hour", "region", "as_of"]
    assert published("ec2_gpus")[names].values.tolist() == [
        ["P3", "2xlarge", "Tesla V100", 7.00, 112, 5.252, "Tokyo", "2022-02-28"],
        ["G4", "xlarge", "Tesla T4", 8.10, 65, 0.994, "Tokyo", "2022-02-28"],
    ]


def test_the_articles_arithmetic_holds():
    """21 and 65 TFLOPS for a dollar an hour; 16 times is the V100's, not the T4's that it measured."""
    table = published("ec2_gpus")
    per_usd = table["mixed_tflops"] / table["usd_per_hour"]
    assert per_usd.round().tolist() == table["printed_tflops_per_usd"].tolist() == [21, 65]
    assert (table["mixed_tflops"] / table["fp32_tflops"]).tolist() == pytest.approx([16, 65 / 8.1])


@pytest.mark.parametrize("name", ["matrix_unit_precisions", "nvidia_mixed_accuracy", "ec2_gpus"])
def test_every_row_says_where_it_is_from(name):
    table = published(name)
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
        (
            "tf32",
            "Tesla V100",
            "7.0",
            "Volta (as the Tesla V100) has no tf32 in its matrix units (article 003).",
        ),
        ("bf16", "Xavier", "7.2", "Volta (as the Xavier) has no bf16 in its matrix units (article 003)."),
        ("fp16", "GTX 1080", "6.1", "Matrix units came with Volta; GTX 1080 is older (article 003)."),
    ],
)
def test_a_missing_precision_is_explained_by_the_table(precision, gpu, capability, expected):
    assert why_unsupported(precision, gpu, capability) == expected


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("capability", ["8.0", "8.6", "9.0", "10.0", None])
def test_what_the_table_does_not_deny_is_not_explained(precision, capability):
    assert why_unsupported(precision, "NVIDIA H200", capability) is None


def test_fp32_and_a_precision_that_is_there_have_nothing_to_explain():
    assert why_unsupported("fp32", "K80", "3.7") is None
    assert why_unsupported("fp16", "Tesla T4", "7.5") is None


# Article 004: one convolution.

# Copied from section 6 of the article once more: number of GPUs and time.
PRINTED = {
    "V100": "14897.803307 4328.074455 5645.370483 684.230804 744.736195 731.468678 726.519346 721.646070",
    "K80": "3248.390198 3380.734682 3837.318182 690.669060 691.730976 588.120937 581.115961 647.247314",
}


def test_the_times_are_as_printed():
    text = pd.read_csv(FOLDER / "conv2d_gpus.csv", dtype=str)
    data = published("conv2d_gpus")
    assert len(data) == 16
    for gpu, times in PRINTED.items():
        assert text.loc[text["gpu"] == gpu, "ms"].tolist() == times.split()
        assert data.loc[data["gpu"] == gpu, "devices"].tolist() == list(range(1, 9))
        assert data.loc[data["gpu"] == gpu, "place"].str.endswith(f"GPU {gpu}").all()


def test_the_settings_are_those_of_the_articles_code():
    for data in (published("conv2d_gpus"), published("conv2d_cpu")):
        setting = data[["images", "width", "height", "channels", "filter_px"]]
        assert setting.drop_duplicates().values.tolist() == [[840, 100, 100, 1, 3]]
        assert set(data["source"]) == {"004"}
    assert set(published("conv2d_gpus")["timed"]) == {"the first sess.run of a fresh process, once"}


def test_the_cpus_time_is_as_printed():
    (row,) = published("conv2d_cpu").to_dict("records")
    assert (row["ms"], row["std_ms"], row["runs"], row["loops_per_run"]) == (222, 4, 7, 1)
    assert row["call"] == "[scipy.signal.convolve2d(a, fltr, 'same') for _ in range(N_images)]"
    assert "222 ms ± 4 ms per loop" in row["place"] and row["cpu"] == "virtual 12 core"


def test_each_time_is_relative_to_one_device_of_its_type():
    data = convolution_gpus().set_index(["gpu", "devices"])
    assert data.loc[("V100", 8), "relative_time"] == pytest.approx(721.646070 / 14897.803307)
    assert 1 / data.loc[("K80", 8), "relative_time"] == pytest.approx(3248.390198 / 647.247314)
    assert (data.xs(1, level="devices")["relative_time"] == 1).all()


def test_the_cpu_is_about_three_times_as_fast_as_8_gpus_as_the_article_says():
    data = convolution_gpus().query("devices == 8").set_index("gpu")
    assert (1 / data["cpu_ratio"]).to_dict() == pytest.approx(
        {"V100": 721.646070 / 222, "K80": 647.247314 / 222}
    )
    assert (1 / data["cpu_ratio"]).round().tolist() == [3, 3]


def test_the_sentence_has_the_numbers_and_says_what_the_times_are_of():
    assert convolution_sentence() == (
        "Article 004: 840 images of 100×100 took 222 ms with scipy on a CPU (mean of 7 warm runs); 8 V100 took 3.3 "
        "times as long, 4 (the fastest) 3.1 times; 8 K80 took 2.9 times as long, 7 (the fastest) 2.6 times. "
        "Each GPU time is of the first sess.run of a fresh process, once."
    )


def test_the_finding_on_few_gpus_holds_in_the_articles_own_table():
    data = convolution_gpus()
    few, more = data[data["devices"] <= 3]["ms"], data[data["devices"] >= 4]["ms"]
    assert few.min() > 1000
    assert (round(more.min()), round(more.max())) == (581, 745)
