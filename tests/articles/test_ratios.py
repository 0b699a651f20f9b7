"""The articles' ratios beside this machine's: one kind of frame."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from amp_data import shares, speedups
from scaling_data import FED, fields_of, make_verdict
from study_data import make_run
from trainspeed.articles.ratios import (
    COLUMNS,
    batch_sizes,
    convolution_times,
    input_pipelines,
    precision_shares,
    second_device,
)
from trainspeed.core.run import Role, Status


def ours_of(data):
    return data[data["kind"] == "measured"]


@pytest.mark.parametrize(
    "data", [batch_sizes([]), second_device([]), input_pipelines([]), convolution_times(pd.DataFrame())]
)
def test_the_articles_ratios_are_there_without_a_run_of_ours(data):
    assert tuple(data)[: len(COLUMNS)] == COLUMNS
    assert set(data["kind"]) == {"published"} and (data["value"] > 0).all() and (data["blocks"] == 1).all()


# Batch sizes.


def test_epoch_times_are_relative_to_the_smallest_batch_of_their_series():
    runs = [
        make_run(time, block=b, batch_size=size) for b in range(2) for size, time in ((8, 4.0), (32, 1.0))
    ]
    data = batch_sizes(runs)
    assert ours_of(data)[["x", "value", "blocks"]].values.tolist() == [[8, 1.0, 2], [32, 0.25, 2]]
    theirs = data[(data["kind"] == "published") & (data["label"] == "cnn10")]
    assert theirs["x"].tolist() == [128, 256, 512, 1024, 2048]
    assert theirs["value"].tolist()[::4] == pytest.approx([1, 10.80 / 13.90])
    assert set(theirs["series"]) == {"RTX 2080 Ti, 2019 (article 001)"}


def test_a_batch_size_that_took_turns_with_the_others_stands_beside_the_article_with_these_turns():
    """Its comparison was measured at another time, when the machine was busy."""
    core = [make_run(9.0, block=b, batch_size=8) for b in range(6)]
    line = [make_run(4.0, batch_size=8, label=Role.ANCHOR), make_run(1.0, batch_size=32)]
    ours = ours_of(batch_sizes([*core, *line]))
    assert ours[["x", "value", "blocks"]].values.tolist() == [[8, 1.0, 1], [32, 0.25, 1]]


def test_one_batch_size_has_nothing_to_be_relative_to():
    assert ours_of(batch_sizes([make_run()])).empty


@pytest.mark.parametrize(
    "other",
    [{"framework": "tensorflow"}, {"layout": "channels_last"}, {"precision": "bf16"}, {"compile": True}],
)
def test_only_runs_as_in_the_article_stand_beside_it(other):
    runs = [make_run(batch_size=size, **other) for size in (8, 32)]
    assert ours_of(batch_sizes([*runs, make_run(status=Status.OOM)])).empty


# Several devices.


def test_only_a_second_device_as_in_the_article_stands_beside_it():
    verdicts = [
        make_verdict(1.25),
        make_verdict(3, values=(1, 4)),
        make_verdict(3, layout="channels_last"),
        make_verdict(3, pipeline="threads"),
        make_verdict(3, part="compute"),
        make_verdict(3, batch_size=(64, 128)),
    ]
    data = second_device(verdicts)
    ours = data[data["kind"] == "measured"]
    assert ours[["series", "x", "value", "low", "blocks"]].values.tolist() == [
        ["this machine, ddp", 64, 1.25, 1.25, 6]
    ]
    assert set(data[data["kind"] == "published"]["series"]) == {"RTX 2080 Ti, 2019 (article 001)"}
    assert len(second_device([])) == 7


def test_images_of_another_size_than_the_articles_are_named():
    data = second_device([make_verdict(1.25), make_verdict(1.5, image_size=16)])
    assert data[data["kind"] == "measured"]["series"].tolist() == [
        "this machine, ddp",
        "this machine, ddp, 16 px images",
    ]
    runs = [pipeline_run(2.0, image_size=32), pipeline_run(1.0, devices=2, image_size=32)]
    runs += [pipeline_run(3.0, image_size=16)]
    ours = input_pipelines(runs).query("kind == 'measured'")
    assert ours[["series", "devices", "value"]].values.tolist() == [
        ["this machine, 16 px images", 1, 1.0],
        ["this machine", 1, 1.0],
        ["this machine", 2, 0.5],
    ]


def pipeline_run(seconds, *, block=0, devices=1, pipeline="threads", status=Status.OK, **more):
    """Return a run of cnn_keras, as article 002 trained it."""
    fields = {"image_size": 32, "workers": 2, "label": ""} | FED | more
    fields = fields_of(devices=devices, pipeline=pipeline, **fields)
    accuracy = 0.5 if block == 0 else None
    return make_run(seconds, block=block, status=status, test_accuracy=accuracy, **fields)


def test_our_pipelines_are_relative_to_one_device_fed_by_threads():
    runs = [pipeline_run(seconds, block=block) for block, seconds in enumerate((4.0, 6.0, 5.0))]
    runs += [pipeline_run(1.0, devices=2, pipeline="arrays")]
    runs += [pipeline_run(9.0, label="A again"), pipeline_run(9.0, framework="torch")]
    runs += [pipeline_run(9.0, status=Status.OOM, pipeline="processes"), pipeline_run(9.0, part="input")]
    data = input_pipelines(runs)
    ours = data[data["kind"] == "measured"]
    columns = ["devices", "pipeline", "value", "ms_per_step", "accuracy_points", "blocks"]
    assert ours[columns].values.tolist() == [
        [1, "threads", 1.0, 500.0, 0.0, 3],
        [2, "arrays", 0.2, 100.0, 0.0, 1],
    ]
    theirs = data[data["kind"] == "published"]
    assert theirs["ms_per_step"].tolist() == pytest.approx([13, 90, 0.113 * 256, 36])


def test_accuracies_of_models_that_trained_for_other_numbers_of_epochs_are_not_compared():
    longer = replace(pipeline_run(1.0, pipeline="arrays"), epoch_s=(3.0, *[1.0] * 9))
    ours = input_pipelines([pipeline_run(4.0), longer]).query("kind == 'measured'").set_index("pipeline")
    assert ours["accuracy"].to_dict() == {"threads": 0.5, "arrays": 0.5}
    assert ours["accuracy_points"].fillna(-1).to_dict() == {"threads": 0.0, "arrays": -1}


def test_a_step_takes_the_time_of_the_steps_that_were_made():
    """Of 100 images at batch 32 an epoch makes 3 steps of 96: 3 s of them are 1 s a step."""
    run = pipeline_run(3.0, batch_size=32, images_per_epoch=100)
    run = replace(run, images_per_epoch=96)
    assert run.median_epoch_s == pytest.approx(3.125), "scaled to all 100"
    ours = input_pipelines([run]).query("kind == 'measured'")
    assert ours["ms_per_step"].tolist() == [1000.0]


def test_of_several_numbers_of_threads_the_nearest_to_the_articles_is_the_first():
    runs = [pipeline_run(float(workers), workers=workers) for workers in (1, 3, 16)]
    ours = input_pipelines(runs).query("kind == 'measured'").set_index("workers")
    assert ours["value"].to_dict() == pytest.approx({1: 1 / 3, 3: 1, 16: 16 / 3})


def test_without_one_device_fed_by_threads_nothing_of_ours_can_be_relative():
    for runs in ([], [make_run()], [pipeline_run(1.0, pipeline="arrays")]):
        assert set(input_pipelines(runs)["kind"]) == {"published"}


# Precisions.


def test_a_share_is_one_over_the_speedup_and_its_interval_is_turned():
    data = shares()
    assert data[["framework", "model", "precision"]].agg(" ".join, axis=1).tolist() == [
        "tensorflow vgg16 fp16",
        "tensorflow vgg16 bf16",
        "torch vgg16 fp16",
        "jax mobilenet fp16",
    ]
    assert data["value"].tolist() == pytest.approx([0.5, 0.8, 1.0, 0.25])
    assert data["low"].tolist() == pytest.approx([0.4, math.nan, 1.0, math.nan], nan_ok=True)
    assert data["high"].tolist() == pytest.approx([0.625, math.nan, 1.0, math.nan], nan_ok=True)
    assert data["blocks"].tolist() == [6, 2, 6, 1]


def test_a_model_has_one_row_for_each_precision_and_compiled_ones_stand_apart():
    verdicts = [
        *speedups([2.0] * 6, batch_size=8),
        *speedups([3.0] * 6, batch_size=64),
        *speedups([2.5] * 6, batch_size=8, compile=True),
    ]
    data = precision_shares(verdicts)
    assert data[["compile", "value"]].values.tolist() == [[False, 0.5], [True, 0.4]]


def test_another_precision_than_the_statements_has_a_row_all_the_same():
    data = precision_shares(
        [*speedups([1.0] * 6), *speedups([2.0] * 6, "tf32"), *speedups([4.0] * 6, "bf16")]
    )
    assert data["precision"].tolist() == ["tf32", "fp16", "bf16"]
    assert data["label"].tolist()[0] == "TensorFlow, vgg16, tf32"


def test_nothing_compared_is_a_frame_without_rows():
    assert tuple(precision_shares([]))[: len(COLUMNS)] == COLUMNS and precision_shares([]).empty


# Convolutions.


def test_a_cpus_time_has_no_number_of_devices():
    row = {"series": "PyTorch, warm", "framework": "torch", "x": 2, "value": 4.0, "low": 3.0, "high": 5.0}
    data = convolution_times(pd.DataFrame([row]))
    assert ours_of(data)[["x", "value", "low"]].values.tolist() == [[2, 4.0, 3.0]]
    theirs = data[data["kind"] == "published"].groupby("series")["x"].agg(list)
    assert theirs["V100 (article 004)"] == theirs["K80 (article 004)"] == list(range(1, 9))
    assert theirs[["CPU, scipy (article 004)"]].explode().isna().all()


def test_a_second_machine_is_no_second_device():
    rows = second_device([make_verdict(1.25), make_verdict(0.5, nodes=(1, 2))])
    assert ours_of(rows)["value"].tolist() == [pytest.approx(1.25)]
