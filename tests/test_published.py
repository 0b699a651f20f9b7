import math
from datetime import timedelta

import pandas as pd
import pytest

from study_data import layout_pair, make_pair, make_run
from trainspeed import layout_study, published
from trainspeed.published import (
    AGREES,
    CANNOT_TELL,
    DISAGREES,
    FOLDER,
    batch_size_ratios,
    check,
    claims,
)
from trainspeed.run import Status
from trainspeed.schedule import DEFAULT_ALLOCATION
from trainspeed.trial import FRAMEWORKS, LAYOUTS, MODEL_NAMES

CLAIMS = {claim.id: claim for claim in claims()}


def answer(name, runs, verdicts=None):
    """Return the answer to a claim and the reason, with this project's own verdicts on the runs."""
    if verdicts is None:
        verdicts = [*layout_study.layout_verdicts(runs), *layout_study.framework_verdicts(runs)]
    return check(CLAIMS[name], verdicts, runs)


# The transcribed numbers.


def read(name):
    return pd.read_csv(FOLDER / name, dtype={"source": str}).to_dict("records")


def seconds(text):
    hours, minutes, rest = map(int, text.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=rest).total_seconds()


def test_every_file_of_published_numbers_is_checked_here_or_in_its_own_test():
    here = {"claims.csv", "pytorch_2080ti.csv"}
    in_test_published_scaling = {"claims_multi_gpu.csv", "keras_pipelines_p2_8xlarge.csv"}
    in_test_published_amp = {
        *("claims_amp.csv", "ec2_gpus.csv", "matrix_unit_precisions.csv", "nvidia_mixed_accuracy.csv")
    }
    in_test_published_conv2d = {"claims_conv2d.csv", "conv2d_cpu.csv", "conv2d_gpus.csv"}
    found = {path.name for path in FOLDER.glob("*.csv")}
    elsewhere = in_test_published_scaling | in_test_published_amp | in_test_published_conv2d
    assert found == here | elsewhere


@pytest.mark.parametrize("row", read("pytorch_2080ti.csv"), ids=lambda r: f"{r['table']}-{r['batch_size']}")
def test_the_articles_training_time_is_its_first_epoch_and_99_medians(row):
    """Three numbers of one row that were transcribed apart: a slip in any shows."""
    expected = row["first_epoch_s"] + 99 * row["median_epoch_s"]
    assert seconds(row["training_time"]) == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("row", read("pytorch_2080ti.csv"), ids=lambda r: f"{r['table']}-{r['batch_size']}")
def test_the_articles_rows_are_complete_and_plausible(row):
    assert (row["source"], row["gpu"], row["year"], row["framework"]) == ("001", "RTX 2080 Ti", 2019, "torch")
    assert row["model"] in MODEL_NAMES
    assert math.log2(row["batch_size"]).is_integer()
    assert f"{row['devices']}GPU" in row["table"]
    assert (row["images_per_epoch"], row["epochs"], row["precision"]) == (50000, 100, "fp32")
    assert 0.7 < row["test_accuracy"] < 0.95


def test_no_row_is_there_twice():
    rows = [(r["model"], r["devices"], r["batch_size"]) for r in read("pytorch_2080ti.csv")]
    assert len(set(rows)) == len(rows) == 15
    assert len(CLAIMS) == len(claims()) == 6


@pytest.mark.parametrize("claim", claims(), ids=lambda claim: claim.id)
def test_a_claim_is_about_something_that_can_be_measured(claim):
    known = {"layout": LAYOUTS, "framework": FRAMEWORKS}[claim.factor]
    assert {claim.baseline, claim.candidate} <= set(known)
    assert claim.baseline != claim.candidate
    assert claim.kind in ("faster", "same", "gap_closes", "larger_batch")
    assert claim.model in MODEL_NAMES
    assert claim.framework in ("", *FRAMEWORKS)
    assert claim.layout in ("", *LAYOUTS)
    assert all((claim.source, claim.place, claim.gpu, claim.claim, claim.size))
    assert claim.year == 2019


# "faster": TensorFlow trains the CNN faster with channels_first. Our verdicts go the other way round.


@pytest.mark.parametrize(
    ("ratio", "expected"),
    [(0.9, AGREES), (1.1, DISAGREES), (1.0, DISAGREES)],
)
def test_a_claim_of_faster_is_checked_in_its_own_direction(ratio, expected):
    """Ratio: channels_first time / channels_last time."""
    found, reason = answer("layout_cnn10", layout_pair([ratio] * 6, framework="tensorflow"))
    assert found == expected
    assert reason.startswith("Here channels_first against channels_last, batch 32: ")
    assert f"{1 / ratio:.2f}x (95 % interval" in reason


def test_what_is_undecided_cannot_tell():
    for ratios in ([0.9] * 5, [0.8, 0.9, 0.9, 0.9, 0.9, 1.2]):
        found, reason = answer("layout_cnn10", layout_pair(ratios, framework="tensorflow"))
        assert found == CANNOT_TELL
        assert "undecided" in reason


def test_the_turned_interval_has_its_ends_turned():
    runs = layout_pair([0.8, 0.9, 0.9, 0.9, 0.9, 0.95], framework="tensorflow")
    _, reason = answer("layout_cnn10", runs)
    assert "1.11x (95 % interval 1.05 to 1.25): faster" in reason


@pytest.mark.parametrize(
    "other",
    [
        {"framework": "torch"},
        {"framework": "tensorflow", "model": "wrn28_10"},
        {"framework": "tensorflow", "compile": True},
        {"framework": "tensorflow", "precision": "bf16"},
    ],
)
def test_another_framework_model_precision_or_xla_is_not_what_was_claimed(other):
    found, reason = answer("layout_cnn10", layout_pair([0.9] * 6, **other))
    assert (found, reason) == (CANNOT_TELL, "cnn10 was not measured here in both arms.")


def test_a_verdict_on_accuracy_says_nothing_of_time():
    runs = [
        make_run(block=block, framework="tensorflow", layout=layout, test_accuracy=0.5)
        for block in range(6)
        for layout in LAYOUTS
    ]
    verdicts = layout_study.layout_verdicts(runs, "accuracy")
    assert len(verdicts) == 1
    assert answer("layout_cnn10", runs, verdicts)[0] == CANNOT_TELL


def test_of_several_batch_sizes_the_one_with_the_most_blocks_is_asked():
    runs = layout_pair([1.5], framework="tensorflow", batch_size=8)
    runs += layout_pair([0.9] * 6, framework="tensorflow", batch_size=64)
    assert answer("layout_cnn10", runs)[0] == AGREES


# Framework against framework.


@pytest.mark.parametrize(("ratio", "expected"), [(1.1, AGREES), (0.9, DISAGREES)])
def test_a_claim_between_frameworks_holds_at_its_layout_only(ratio, expected):
    pair = ("torch", "tensorflow")
    assert answer("framework_cnn10", make_pair("framework", pair, [ratio] * 6))[0] == expected
    other = make_pair("framework", pair, [ratio] * 6, layout="channels_last")
    assert answer("framework_cnn10", other)[0] == CANNOT_TELL


@pytest.mark.parametrize(("ratio", "expected"), [(1.0, AGREES), (1.1, DISAGREES), (0.9, DISAGREES)])
def test_a_claim_of_the_same_disagrees_with_any_decided_difference(ratio, expected):
    runs = make_pair("framework", ("torch", "tensorflow"), [ratio] * 6, model="wrn28_10")
    assert answer("framework_wrn", runs)[0] == expected


# "gap_closes": from the smallest to the largest batch size.


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
        (1.5, 1 / 1.5, CANNOT_TELL),
    ],
)
def test_a_gap_closes_when_the_ratio_comes_nearer_to_1_from_either_side(small, large, expected):
    found, reason = answer("framework_gap", gap_runs(small, large))
    assert found == expected
    assert "from batch 8 to 128" in reason


def test_how_much_a_gap_shrinks_is_told_with_its_interval():
    assert answer("framework_gap", gap_runs(1.5, 1.2))[1] == (
        "Here the gap shrinks 1.25 to 1.25 times from batch 8 to 128 (above 1: it closes)."
    )


def test_a_gap_of_five_blocks_cannot_tell():
    found, reason = answer("framework_gap", gap_runs(1.5, 1.1, blocks=5))
    assert found == CANNOT_TELL
    assert reason == "No interval for the change from batch 8 to 128: it has 5 of the 6 blocks it needs."


def test_a_gap_that_grows_in_some_blocks_cannot_tell():
    pair = ("torch", "tensorflow")
    runs = make_pair("framework", pair, [1.5] * 6, batch_size=8)
    runs += make_pair("framework", pair, [1.1, 1.1, 1.1, 1.1, 1.1, 1.9], batch_size=128)
    assert answer("framework_gap", runs)[0] == CANNOT_TELL


def test_a_gap_needs_two_batch_sizes_in_both_frameworks():
    pair = ("torch", "tensorflow")
    found, reason = answer("framework_gap", make_pair("framework", pair, [1.5] * 6))
    assert (found, reason[:23]) == (CANNOT_TELL, "Only one batch size was")
    only_torch = [run for run in gap_runs(1.5, 1.1) if run.trial.framework == "torch"]
    assert answer("framework_gap", only_torch) == (CANNOT_TELL, "cnn10 was not measured here in both arms.")


@pytest.mark.parametrize("other", [{"compile": True}, {"precision": "bf16"}, {"layout": "channels_last"}])
def test_a_gap_is_that_of_the_published_setting(other):
    assert answer("framework_gap", gap_runs(1.5, 1.1, **other))[0] == CANNOT_TELL
    both = [*gap_runs(1.5, 1.1), *gap_runs(1.1, 1.5, **other)]
    assert answer("framework_gap", both)[0] == AGREES


# "larger_batch": PyTorch fits a larger batch than TensorFlow.


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
        ({"b64": "ok", "b128": "oom"}, {"b64": "ok", "b128": "timeout"}, CANNOT_TELL),
        ({"b64": "ok"}, {"b64": "ok", "b128": "oom"}, CANNOT_TELL),
        ({"b64": "ok", "b128": "timeout"}, {"b64": "ok", "b128": "oom"}, CANNOT_TELL),
        ({"b64": "oom"}, {"b64": "ok", "b128": "ok"}, CANNOT_TELL),
        ({}, {"b64": "ok", "b128": "oom"}, CANNOT_TELL),
        ({"b64": "ok", "b128": "oom"}, {}, CANNOT_TELL),
        ({"b64": "unsupported"}, {"b64": "ok", "b128": "oom"}, CANNOT_TELL),
    ],
)
def test_a_larger_batch_fits_where_the_other_was_tried_and_ran_out_of_memory(tensorflow, torch, expected):
    found, reason = answer("memory", [*ended("tensorflow", **tensorflow), *ended("torch", **torch)])
    assert found == expected
    if expected != CANNOT_TELL:
        assert reason.startswith("The largest batch that ran here: torch ")


def test_a_batch_that_fits_in_one_layout_fits():
    runs = [
        *ended("tensorflow", b64="ok"),
        make_run(framework="tensorflow", batch_size=128, layout="channels_first", status=Status.OOM),
        make_run(framework="tensorflow", batch_size=128, layout="channels_last"),
        *ended("torch", b64="ok", b128="ok"),
    ]
    assert answer("memory", runs)[0] == CANNOT_TELL


def test_where_nothing_ran_out_of_memory_the_largest_batch_is_not_known():
    runs = [*ended("tensorflow", b64="ok"), *ended("torch", b64="ok", b128="ok")]
    assert answer("memory", runs) == (CANNOT_TELL, "No run here ran out of memory.")


def test_a_run_that_shows_the_default_allocation_is_no_evidence():
    runs = [*ended("tensorflow", b64="ok"), *ended("torch", b64="ok", b128="ok")]
    runs.append(make_run(framework="tensorflow", batch_size=128, status=Status.OOM, label=DEFAULT_ALLOCATION))
    assert answer("memory", runs)[0] == CANNOT_TELL


# Beside this machine's numbers.


def test_epoch_times_are_relative_to_the_smallest_batch_of_their_series():
    runs = [
        make_run(time, block=b, batch_size=size) for b in range(2) for size, time in ((8, 4.0), (32, 1.0))
    ]
    data = batch_size_ratios(runs)
    ours = data[data["kind"] == "measured"]
    assert ours[["batch_size", "relative_time", "blocks"]].values.tolist() == [[8, 1.0, 2], [32, 0.25, 2]]
    theirs = data[(data["kind"] == "published") & (data["model"] == "cnn10")]
    assert theirs["batch_size"].tolist() == [128, 256, 512, 1024, 2048]
    assert theirs["relative_time"].iloc[0] == 1.0
    assert theirs["relative_time"].iloc[-1] == pytest.approx(10.80 / 13.90)


@pytest.mark.parametrize(
    "other",
    [{"framework": "tensorflow"}, {"layout": "channels_last"}, {"precision": "bf16"}, {"compile": True}],
)
def test_only_runs_as_in_the_article_stand_beside_it(other):
    data = batch_size_ratios([make_run(**other), make_run(status=Status.OOM)])
    assert set(data["kind"]) == {"published"}


def test_published_numbers_are_shown_without_a_single_run():
    assert set(batch_size_ratios([])["series"]) == {"RTX 2080 Ti, 2019 (article 001)"}
    assert published.check(CLAIMS["memory"], [], []) == (CANNOT_TELL, "No run here ran out of memory.")
