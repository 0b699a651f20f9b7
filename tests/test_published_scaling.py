"""Article 001's and 002's numbers on several GPUs, against the texts' own printed figures."""

import math
from collections import Counter
from statistics import median

import pytest

from scaling_data import FED, make_verdict
from trainspeed.published import AGREES, CANNOT_TELL, DISAGREES, FOLDER
from trainspeed.published_scaling import (
    ARTICLE_WORKERS,
    GPUS,
    check_scaling,
    pipeline_ratios,
    published_speedups,
    scaling_claims,
)
from trainspeed.published_views import claims_table
from trainspeed.trial import FRAMEWORKS, LAYOUTS

CLAIMS = {claim.id: claim for claim in scaling_claims()}

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
    return pipeline_ratios().set_index("variant")


# The transcribed numbers.


def test_the_last_epochs_of_article_002_are_as_printed(variants):
    """The most frequent ms per step and its range, val_acc of epoch 100 and its median over the eleven."""
    assert list(variants.index) == list(LOGS)
    assert variants["epoch_s"].tolist() == [21, 18, 6, 7]
    assert variants["steps"].fillna(0).tolist() == [1563, 196, 0, 196]
    assert variants["us_per_sample"].fillna(0).tolist() == [0, 0, 113, 0]
    for name, (ms, accuracies) in LOGS.items():
        row, accuracy = variants.loc[name], [float(text) for text in accuracies.split()]
        printed = (Counter(ms).most_common(1)[0][0], min(ms), max(ms)) if ms else (math.nan,) * 3
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
    for file in ("keras_pipelines_p2_8xlarge.csv", "claims_multi_gpu.csv"):
        assert "K80" not in (FOLDER / file).read_text(), "the article names no GPU model"


def test_the_printed_steps_and_milliseconds_make_the_printed_seconds(variants):
    """Numbers that were transcribed apart; they also show that the seconds are rounded, not cut."""
    stepped = variants[variants["steps"].notna()]
    assert (stepped["steps"] == -(-50000 // stepped["batch_size"])).all()
    shortest = stepped["steps"] * (stepped["ms_per_step"] - 0.5) / 1000
    longest = stepped["steps"] * (stepped["ms_per_step"] + 0.5) / 1000
    assert ((shortest <= stepped["epoch_s"] + 0.5) & (longest >= stepped["epoch_s"] - 0.5)).all()
    assert longest["8 GPUs, generator"] < 18
    assert 50000 * 113e-6 < 6


# Ratios.


def test_the_speedup_of_a_second_gpu_is_the_ratio_of_the_printed_medians():
    data = published_speedups().set_index(["model", "batch_size"])["speedup"]
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
    assert ("wrn28_10", 512) not in set(
        zip(*published_speedups()[["model", "batch_size"]].values.T, strict=True)
    )


def test_the_epochs_of_article_002_are_relative_to_its_first_variant(variants):
    assert variants["relative_time"].tolist() == pytest.approx([1, 18 / 21, 6 / 21, 7 / 21])
    assert variants["low"].tolist() == pytest.approx([1, 17.5 / 21.5, 5.5 / 21.5, 6.5 / 21.5])
    assert variants["high"].tolist() == pytest.approx([1, 18.5 / 20.5, 6.5 / 20.5, 7.5 / 20.5])
    assert variants["accuracy_points"].tolist() == pytest.approx([0, -0.73, -1.65, -0.39])


# Claims.


@pytest.mark.parametrize("claim", scaling_claims(), ids=lambda claim: claim.id)
def test_a_claim_is_about_something_that_can_be_measured(claim):
    assert claim.framework in ("", *FRAMEWORKS) and claim.layout in ("", *LAYOUTS)
    assert claim.model in ("cnn10", "wrn28_10", "cnn_keras")
    assert claim.kind in ("faster", "slower", "little_gain")
    assert claim.year == (None if claim.source == "002" else 2019)
    assert claim.baseline != claim.candidate
    assert all((claim.source, claim.place, claim.gpu, claim.claim, claim.size))
    if claim.factor == "devices":
        assert int(claim.candidate) > int(claim.baseline) == 1


def test_claims_are_told_apart_and_one_without_a_year_shows_none():
    assert len(CLAIMS) == len(scaling_claims()) == 9
    html = claims_table([(CLAIMS["generator"], CANNOT_TELL, "")]).to_html()
    assert "002, 8 GPUs of a p2.8xlarge<" in html


@pytest.mark.parametrize(
    ("name", "framework", "ratio", "expected"),
    [
        ("torch_cnn10", "torch", 1.5, AGREES),
        ("torch_cnn10", "torch", 1.0, DISAGREES),
        ("torch_cnn10", "torch", 0.8, DISAGREES),
        ("tensorflow_cnn10", "tensorflow", 0.8, AGREES),
        ("tensorflow_cnn10", "tensorflow", 1.0, DISAGREES),
        ("tensorflow_cnn10", "tensorflow", 1.5, DISAGREES),
    ],
)
def test_a_claim_about_a_second_device_is_checked_on_ours(name, framework, ratio, expected):
    found_here, reason = check_scaling(CLAIMS[name], [make_verdict(ratio, framework=framework)])
    assert found_here == expected
    how = {"torch": "ddp", "tensorflow": "mirrored"}[framework]
    assert reason.startswith(f"Here 2 devices ({how}) against 1, batch 64: {ratio:.2f}x (95 % interval")


def test_too_few_blocks_cannot_tell():
    found_here, reason = check_scaling(CLAIMS["torch_cnn10"], [make_verdict(1.5, blocks=5)])
    assert found_here == CANNOT_TELL and "undecided" in reason


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
def test_what_was_not_claimed_cannot_tell(other):
    assert check_scaling(CLAIMS["torch_cnn10"], [make_verdict(**other)]) == (
        CANNOT_TELL,
        "cnn10 as in the article was not measured here on one device and on more.",
    )


def test_the_most_blocks_answer_and_then_the_nearest_number_of_devices():
    claim = CLAIMS["torch_cnn10"]
    few, four, two = (
        make_verdict(0.5, blocks=1),
        make_verdict(0.5, values=(1, 4)),
        make_verdict(1.5, values=(1, 2)),
    )
    assert check_scaling(claim, [few, four, two])[0] == AGREES
    assert check_scaling(claim, [few, four])[1].startswith("Here 4 devices")


@pytest.mark.parametrize(
    ("ratio", "devices", "expected"),
    [
        (1.1, 2, AGREES),
        (0.9, 2, AGREES),
        (1.5, 2, CANNOT_TELL),
        (1.9, 2, DISAGREES),
        (21 / 18, 8, AGREES),
        (4.4, 8, AGREES),
        (4.6, 8, DISAGREES),
    ],
)
def test_a_gain_is_little_below_half_of_the_ideal_one(ratio, devices, expected):
    """The batch may grow with the devices: the generator's work in an epoch is the same."""
    batches = (32, 32 * devices)
    verdict = make_verdict(ratio, values=(1, devices), batch_size=batches, pipeline="threads", **FED)
    found_here, reason = check_scaling(CLAIMS["generator"], [verdict])
    assert found_here == expected
    where = f"{devices} devices (mirrored) against 1, threads (4 workers), batch 32 and {32 * devices}"
    assert f"{where}: {ratio:.2f}x" in reason
    assert f"Little is less than {1 + (devices - 1) / 2:.2f}x: 50 % of the ideal gain." in reason


def test_a_little_gain_is_claimed_of_the_generator_only_and_needs_an_interval():
    assert check_scaling(CLAIMS["generator"], [make_verdict(1.1, **FED)])[0] == CANNOT_TELL
    one_block = make_verdict(1.1, blocks=1, pipeline="threads", **FED)
    assert check_scaling(CLAIMS["generator"], [one_block])[0] == CANNOT_TELL


FRAMEWORKS_COMPARED = {"factor": "framework", "values": ("tensorflow", "torch")}
PIPELINES_COMPARED = FED | {"factor": "pipeline", "values": ("threads", "processes")}


@pytest.mark.parametrize(("ratio", "expected"), [(2.0, AGREES), (0.5, DISAGREES), (1.0, DISAGREES)])
@pytest.mark.parametrize(
    ("name", "setting"), [("framework_cnn10", FRAMEWORKS_COMPARED), ("processes", PIPELINES_COMPARED)]
)
def test_frameworks_and_pipelines_are_compared_on_several_devices(name, setting, ratio, expected):
    assert check_scaling(CLAIMS[name], [make_verdict(ratio, **setting)])[0] == expected
    on_one = make_verdict(ratio, devices=1, **setting)
    assert check_scaling(CLAIMS[name], [on_one])[0] == CANNOT_TELL


def test_the_reason_names_both_arms_and_the_devices():
    _, frameworks = check_scaling(CLAIMS["framework_cnn10"], [make_verdict(2.0, **FRAMEWORKS_COMPARED)])
    _, pipelines = check_scaling(CLAIMS["processes"], [make_verdict(2.0, **PIPELINES_COMPARED)])
    assert frameworks.startswith(
        "Here PyTorch (ddp) against TensorFlow (mirrored), 2 devices, batch 64: 2.00x"
    )
    arms = "processes (16 workers) against threads (4 workers), 2 devices (mirrored), batch 64"
    assert pipelines.startswith(f"Here {arms}: 2.00x")


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
def test_other_frameworks_and_pipelines_than_those_claimed_cannot_tell(name, setting):
    found_here, reason = check_scaling(CLAIMS[name], [make_verdict(2.0, **setting)])
    assert found_here == CANNOT_TELL
    assert " as in the article was not measured here with " in reason
    assert reason.endswith(", on more than one device.")


def test_of_equally_many_blocks_the_nearest_to_the_articles_gpus_and_workers_answers():
    eight = make_verdict(1.5, devices=8, workers=(1, 1), **PIPELINES_COMPARED)
    near = make_verdict(1.5, devices=8, workers=(4, 16), **PIPELINES_COMPARED)
    two = make_verdict(0.5, devices=2, workers=(4, 32), **PIPELINES_COMPARED)
    _, reason = check_scaling(CLAIMS["processes"], [eight, two, near])
    assert reason.startswith("Here processes (16 workers) against threads (4 workers), 8 devices")


def test_the_articles_gpus_and_workers_are_those_of_its_numbers(variants):
    assert variants.set_index("pipeline")["workers"].dropna().to_dict() == ARTICLE_WORKERS
    assert GPUS["002"] == variants["devices"].max()
    assert GPUS["001"] == published_speedups()["devices"].max()
    for claim in CLAIMS.values():
        assert claim.factor != "devices" or int(claim.candidate) == GPUS[claim.source]
