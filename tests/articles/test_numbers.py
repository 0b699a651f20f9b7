"""The articles' numbers as they were transcribed, against the texts' own printed figures."""

import math
from collections import Counter
from datetime import timedelta
from statistics import median

import pytest

from trainspeed.articles.claims import FOLDER
from trainspeed.articles.numbers import (
    pipelines,
    published,
    second_gpu,
)
from trainspeed.core.trial import MODEL_NAMES

EPOCHS = published("pytorch_2080ti").to_dict("records")


def test_every_file_of_published_numbers_is_checked_here_or_with_the_statements():
    here = {"pytorch_2080ti", "keras_pipelines_p2_8xlarge", "ec2_gpus", "matrix_unit_precisions"}
    here |= {"nvidia_mixed_accuracy", "conv2d_cpu", "conv2d_gpus"}
    assert {path.stem for path in FOLDER.glob("*.csv")} == here | {"claims", "articles"}


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
