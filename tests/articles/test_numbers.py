"""The articles' numbers as they were transcribed, against the texts' own printed figures."""

import math
from collections import Counter
from datetime import timedelta
from statistics import median

import pandas as pd
import pytest

from trainspeed.articles.claims import FOLDER
from trainspeed.articles.numbers import (
    convolution_gpus,
    convolution_sentence,
    pipelines,
    printed,
    published,
    second_gpu,
    why_unsupported,
)
from trainspeed.core.trial import MODEL_NAMES, PRECISIONS

EPOCHS = published("pytorch_2080ti").to_dict("records")


def test_every_file_of_published_numbers_is_checked_here_or_with_the_statements():
    here = {"pytorch_2080ti", "keras_pipelines_p2_8xlarge", "ec2_gpus", "matrix_unit_precisions"}
    here |= {"nvidia_mixed_accuracy", "conv2d_cpu", "conv2d_gpus"}
    assert {path.stem for path in FOLDER.glob("*.csv")} == here | {"claims"}


# Article 001: PyTorch's epochs.


def seconds(text):
    hours, minutes, rest = map(int, text.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=rest).total_seconds()


@pytest.mark.parametrize("row", EPOCHS, ids=lambda r: f"{r['table']}-{r['batch_size']}")
def test_the_articles_training_time_is_its_first_epoch_and_99_medians(row):
    """Three numbers of one row that were transcribed apart: a slip in any shows."""
    expected = row["first_epoch_s"] + 99 * row["median_epoch_s"]
    assert seconds(row["training_time"]) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("row", EPOCHS, ids=lambda r: f"{r['table']}-{r['batch_size']}")
def test_the_articles_rows_are_complete_and_plausible(row):
    assert (row["source"], row["gpu"], row["year"], row["framework"]) == ("001", "RTX 2080 Ti", 2019, "torch")
    assert row["model"] in MODEL_NAMES
    assert math.log2(row["batch_size"]).is_integer()
    assert f"{row['devices']}GPU" in row["table"]
    assert (row["images_per_epoch"], row["epochs"], row["precision"]) == (50000, 100, "fp32")
    assert 0.7 < row["test_accuracy"] < 0.95


def test_no_epoch_is_there_twice():
    rows = [(r["model"], r["devices"], r["batch_size"]) for r in EPOCHS]
    assert len(set(rows)) == len(rows) == 15


def test_the_speedup_of_a_second_gpu_is_the_ratio_of_the_printed_medians():
    data = second_gpu().set_index(["model", "batch_size"])["speedup"]
    expected = {
        ("cnn10", 128): 13.90 / 11.92,
        ("cnn10", 256): 12.29 / 9.00,
        ("cnn10", 512): 11.33 / 7.80,
        ("cnn10", 1024): 10.93 / 7.24,
        ("cnn10", 2048): 10.80 / 7.05,
        ("wrn28_10", 128): 110.42 / 70.58,
        ("wrn28_10", 256): 105.47 / 60.83,
    }
    assert data.to_dict() == pytest.approx(expected)


def test_a_batch_that_only_2_gpus_trained_has_no_speedup():
    assert ("wrn28_10", 512) not in set(second_gpu().set_index(["model", "batch_size"]).index)


# Article 002: input pipelines.

# Epochs 90 to 100 of article 002, copied from its text: the milliseconds and val_acc.
LOGS = {
    "1 GPU, generator": (
        [13] * 11,
        "0.7838 0.7803 0.7680 0.7862 0.7811 0.7725 0.7909 0.7949 0.7699 0.7859 0.8005",
    ),
    "8 GPUs, generator": (
        [90, 90, 89, 91, 90, 89, 89, 90, 90, 90, 89],
        "0.7831 0.7817 0.7870 0.7822 0.7879 0.7860 0.7798 0.7912 0.7894 0.7887 0.7932",
    ),
    "8 GPUs, no generator": (
        [],
        "0.7786 0.7859 0.7860 0.7849 0.7839 0.7832 0.7820 0.7878 0.7902 0.7794 0.7840",
    ),
    "8 GPUs, generator in 32 processes": (
        [37, 36, 36, 36, 36, 36, 36, 36, 36, 37, 37],
        "0.7893 0.7953 0.7908 0.7905 0.7882 0.7923 0.7925 0.7910 0.7967 0.8007 0.7966",
    ),
}


@pytest.fixture(scope="module")
def variants():
    return pipelines().set_index("variant")


def test_the_last_epochs_of_article_002_are_as_printed(variants):
    """The most frequent ms per step and its range, val_acc of epoch 100 and its median over the eleven."""
    assert list(variants.index) == list(LOGS)
    assert variants["epoch_s"].tolist() == [21, 18, 6, 7]
    assert variants["steps"].fillna(0).tolist() == [1563, 196, 0, 196]
    assert variants["us_per_sample"].fillna(0).tolist() == [0, 0, 113, 0]
    for name, (ms, accuracies) in LOGS.items():
        row, accuracy = variants.loc[name], [float(text) for text in accuracies.split()]
        printed = (
            (Counter(ms).most_common(1)[0][0], min(ms), max(ms)) if ms else (0.113 * 256, *[math.nan] * 2)
        )
        given = row[["ms_per_step", "ms_per_step_min", "ms_per_step_max"]].astype(float).tolist()
        assert given == pytest.approx(printed, nan_ok=True)
        assert (row["val_accuracy"], row["val_accuracy_median"]) == (accuracy[-1], median(accuracy))


def test_the_settings_of_article_002_are_as_printed(variants):
    assert variants["devices"].tolist() == [1, 8, 8, 8]
    assert variants["batch_size"].tolist() == [32, 256, 256, 256]
    assert (variants["batch_size"] / variants["devices"] == variants["batch_size_per_device"]).all()
    assert variants["pipeline"].tolist() == ["threads", "threads", "arrays", "processes"]
    assert variants["workers"].fillna(-1).tolist() == [4, 4, -1, 32]
    assert variants["queue"].fillna(-1).tolist() == [-1, -1, -1, 64]
    assert variants["augment"].tolist() == [True, True, False, True]
    assert set(variants["instance"]) == {"p2.8xlarge"} and variants["year"].isna().all()
    assert "K80" not in (FOLDER / "keras_pipelines_p2_8xlarge.csv").read_text(), (
        "the article names no GPU model"
    )


def test_the_printed_steps_and_milliseconds_make_the_printed_seconds(variants):
    """Numbers that were transcribed apart; they also show that the seconds are rounded, not cut."""
    stepped = variants[variants["steps"].notna()]
    assert (stepped["steps"] == -(-50000 // stepped["batch_size"])).all()
    shortest = stepped["steps"] * (stepped["ms_per_step"] - 0.5) / 1000
    longest = stepped["steps"] * (stepped["ms_per_step"] + 0.5) / 1000
    assert ((shortest <= stepped["epoch_s"] + 0.5) & (longest >= stepped["epoch_s"] - 0.5)).all()
    assert longest["8 GPUs, generator"] < 18
    assert 50000 * 113e-6 < 6


def test_the_epochs_of_article_002_are_relative_to_its_first_variant(variants):
    assert variants["relative_time"].tolist() == pytest.approx([1, 18 / 21, 6 / 21, 7 / 21])
    assert variants["low"].tolist() == pytest.approx([1, 17.5 / 21.5, 5.5 / 21.5, 6.5 / 21.5])
    assert variants["high"].tolist() == pytest.approx([1, 18.5 / 20.5, 6.5 / 20.5, 7.5 / 20.5])
    assert variants["accuracy_points"].tolist() == pytest.approx([0, -0.73, -1.65, -0.39])


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
