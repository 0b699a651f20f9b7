"""Article 001's and 002's numbers on several GPUs, against the texts' own printed figures."""

import math
from collections import Counter
from statistics import median
from types import SimpleNamespace

import matplotlib as mpl
import pandas as pd
import pytest

from showing_data import found
from study_data import make_run
from trainspeed.comparison import Verdict
from trainspeed.published import AGREES, CANNOT_TELL, DISAGREES, FOLDER
from trainspeed.published_beside import pipelines_beside, speedups_beside
from trainspeed.published_scaling import (
    check_scaling,
    pipeline_ratios,
    published_speedups,
    scaling_claims,
)
from trainspeed.published_scaling_views import (
    FAIR,
    pipelines_table,
    plot_pipelines,
    plot_speedups,
    speedups_table,
)
from trainspeed.published_views import claims_table
from trainspeed.run import Status
from trainspeed.trial import FRAMEWORKS, LAYOUTS
from trainspeed.verdict import judge

mpl.use("Agg")

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


def make_verdict(ratio=1.5, *, factor="devices", values=(1, 2), blocks=6, quantity="time", **more):
    """Return a verdict between two stand-ins for trials; "strategy" follows from the devices."""
    usual = {
        "framework": "torch",
        "model": "cnn10",
        "layout": "channels_first",
        "precision": "fp32",
        "compile": False,
        "pipeline": "arrays",
        "devices": 2,
        "batch_size": 64,
    }
    trials = []
    for end, value in enumerate(values):
        fields = {**usual, **more, factor: value}
        fields = {name: f[end] if isinstance(f, tuple) else f for name, f in fields.items()}
        trials.append(SimpleNamespace(strategy="single" if fields["devices"] == 1 else "ddp", **fields))
    return Verdict(
        session="",
        study="",
        question="",
        quantity=quantity,
        factor=factor,
        baseline=trials[0],
        candidate=trials[1],
        judgement=judge([ratio] * blocks, [1.0] * blocks),
        sentence="",
    )


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
    assert reason.startswith(f"Here 2 devices (ddp) against 1, batch 64: {ratio:.2f}x (95 % interval")


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
        {"factor": "workers"},
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
    setting = {"framework": "tensorflow", "model": "cnn_keras", "pipeline": "threads"}
    verdict = make_verdict(ratio, values=(1, devices), batch_size=(32, 32 * devices), **setting)
    found_here, reason = check_scaling(CLAIMS["generator"], [verdict])
    assert found_here == expected
    assert f"{devices} devices (ddp) against 1, batch 32 and {32 * devices}: {ratio:.2f}x" in reason
    assert f"Little is less than {1 + (devices - 1) / 2:.2f}x: 50 % of the ideal gain." in reason


def test_a_little_gain_is_claimed_of_the_generator_only_and_needs_an_interval():
    setting = {"framework": "tensorflow", "model": "cnn_keras"}
    assert check_scaling(CLAIMS["generator"], [make_verdict(1.1, **setting)])[0] == CANNOT_TELL
    one_block = make_verdict(1.1, blocks=1, pipeline="threads", **setting)
    assert check_scaling(CLAIMS["generator"], [one_block])[0] == CANNOT_TELL


@pytest.mark.parametrize(("ratio", "expected"), [(2.0, AGREES), (0.5, DISAGREES), (1.0, DISAGREES)])
def test_a_claim_about_several_devices_of_frameworks_or_pipelines_is_checked_on_several(ratio, expected):
    frameworks = {"factor": "framework", "values": ("tensorflow", "torch")}
    pipelines = {"factor": "pipeline", "values": ("threads", "processes")}
    pipelines |= {"framework": "tensorflow", "model": "cnn_keras"}
    for name, setting in (("framework_cnn10", frameworks), ("processes", pipelines)):
        assert check_scaling(CLAIMS[name], [make_verdict(ratio, **setting)])[0] == expected
        on_one = make_verdict(ratio, devices=1, **setting)
        assert check_scaling(CLAIMS[name], [on_one])[0] == CANNOT_TELL


# Beside this machine's numbers.


def test_only_a_second_device_as_in_the_article_stands_beside_it():
    verdicts = [
        make_verdict(1.25),
        make_verdict(3, values=(1, 4)),
        make_verdict(3, layout="channels_last"),
        make_verdict(3, pipeline="threads"),
        make_verdict(3, batch_size=(64, 128)),
    ]
    data = speedups_beside(verdicts)
    ours = data[data["kind"] == "measured"]
    assert ours[["series", "batch_size", "speedup", "low", "blocks"]].values.tolist() == [
        ["this machine, ddp", 64, 1.25, 1.25, 6]
    ]
    assert set(data[data["kind"] == "published"]["series"]) == {"RTX 2080 Ti, 2019 (article 001)"}
    assert len(speedups_beside([])) == 7


def pipeline_run(seconds, *, block=0, devices=1, pipeline="threads", status=Status.OK, **more):
    """Return a run of cnn_keras with a stand-in for its trial."""
    trial = {"framework": "tensorflow", "model": "cnn_keras", "layout": "channels_last"}
    trial |= {"precision": "fp32", "compile": False, "workers": 2, "batch_size": 64, "images_per_epoch": 640}
    label = more.pop("label", "")
    return SimpleNamespace(
        trial=SimpleNamespace(**trial | {"devices": devices, "pipeline": pipeline} | more),
        median_epoch_s=seconds,
        test_accuracy=0.5 if block == 0 else None,
        label=label,
        status=status,
        block=block,
    )


def test_our_pipelines_are_relative_to_one_device_fed_by_threads():
    runs = [pipeline_run(seconds, block=block) for block, seconds in enumerate((4.0, 6.0, 5.0))]
    runs += [pipeline_run(1.0, devices=2, pipeline="arrays")]
    runs += [pipeline_run(9.0, label="A again"), pipeline_run(9.0, framework="torch")]
    runs += [pipeline_run(None, status=Status.OOM, pipeline="processes")]
    data = pipelines_beside(runs)
    ours = data[data["kind"] == "measured"]
    columns = ["devices", "pipeline", "relative_time", "ms_per_step", "accuracy_points", "blocks"]
    assert ours[columns].values.tolist() == [
        [1, "threads", 1.0, 500.0, 0.0, 3],
        [2, "arrays", 0.2, 100.0, 0.0, 1],
    ]
    theirs = data[data["kind"] == "published"]
    assert theirs["ms_per_step"].tolist() == pytest.approx([13, 90, 0.113 * 256, 36])


def test_without_one_device_fed_by_threads_nothing_of_ours_can_be_relative():
    for runs in ([], [make_run()], [pipeline_run(1.0, pipeline="arrays")]):
        assert set(pipelines_beside(runs)["kind"]) == {"published"}


# Tables and charts.


def test_the_articles_markers_are_hollow_and_ours_are_filled():
    ax = plot_speedups(speedups_beside([make_verdict(1.25)]))
    assert {line.get_markerfacecolor() for line in found(ax, "published")} == {"none"}
    (ours,) = found(ax, "measured")
    assert ours.get_ydata().tolist() == [1.25] and ours.get_markerfacecolor() != "none"
    assert FAIR in ax.get_xlabel() and "more is better" in ax.get_ylabel()


def test_pipelines_are_drawn_with_what_rounding_leaves_open():
    ax = plot_pipelines(pipelines_beside([pipeline_run(2.0), pipeline_run(1.0, devices=2)]))
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "1 device, 4 threads",
        "8 devices, 4 threads",
        "8 devices, arrays",
        "8 devices, 32 processes",
        "1 device, 2 threads",
        "2 devices, 2 threads",
    ]
    assert len(found(ax, "published")) == 4 and len(found(ax, "measured")) == 2
    assert ax.get_xlim()[0] == 0 and FAIR in ax.get_xlabel().replace("\n", " ")
    spans = [segment for lines in ax.collections for segment in lines.get_segments()]
    assert spans[1][:, 0].tolist() == pytest.approx([17.5 / 21.5, 18.5 / 20.5])


def test_the_tables_say_that_only_ratios_compare():
    speedups = speedups_table(speedups_beside([make_verdict(1.25)])).to_html()
    pipelines = pipelines_table(pipelines_beside([])).to_html()
    assert FAIR in speedups and FAIR in pipelines
    assert "1.17x" in speedups and "1.25 to 1.25" in speedups
    assert "0.81 to 0.90" in pipelines and "-1.65" in pipelines and "0.7966" in pipelines


def test_the_views_need_no_run_of_ours():
    assert isinstance(speedups_beside([]), pd.DataFrame)
    assert plot_speedups(speedups_beside([])).get_title()
    assert plot_pipelines(pipelines_beside([])).get_title()
