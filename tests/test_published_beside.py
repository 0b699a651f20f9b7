"""The articles' ratios on several GPUs beside this machine's: frames, tables, charts."""

from dataclasses import replace

import matplotlib as mpl
import pandas as pd
import pytest

from scaling_data import FED, fields_of, make_verdict
from showing_data import found
from study_data import make_run
from trainspeed.published_beside import pipelines_beside, speedups_beside
from trainspeed.published_scaling_views import (
    FAIR,
    pipelines_table,
    plot_pipelines,
    plot_speedups,
    speedups_table,
)
from trainspeed.run import Status

mpl.use("Agg")


def test_only_a_second_device_as_in_the_article_stands_beside_it():
    verdicts = [
        make_verdict(1.25),
        make_verdict(3, values=(1, 4)),
        make_verdict(3, layout="channels_last"),
        make_verdict(3, pipeline="threads"),
        make_verdict(3, part="compute"),
        make_verdict(3, batch_size=(64, 128)),
    ]
    data = speedups_beside(verdicts)
    ours = data[data["kind"] == "measured"]
    assert ours[["series", "batch_size", "speedup", "low", "blocks"]].values.tolist() == [
        ["this machine, ddp", 64, 1.25, 1.25, 6]
    ]
    assert set(data[data["kind"] == "published"]["series"]) == {"RTX 2080 Ti, 2019 (article 001)"}
    assert len(speedups_beside([])) == 7


def test_images_of_another_size_than_the_articles_are_named():
    data = speedups_beside([make_verdict(1.25), make_verdict(1.5, image_size=16)])
    assert data[data["kind"] == "measured"]["series"].tolist() == [
        "this machine, ddp",
        "this machine, ddp, 16 px images",
    ]
    runs = [pipeline_run(2.0, image_size=32), pipeline_run(1.0, devices=2, image_size=32)]
    runs += [pipeline_run(3.0, image_size=16)]
    ours = pipelines_beside(runs).query("kind == 'measured'")
    assert ours[["series", "devices", "relative_time"]].values.tolist() == [
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
    data = pipelines_beside(runs)
    ours = data[data["kind"] == "measured"]
    columns = ["devices", "pipeline", "relative_time", "ms_per_step", "accuracy_points", "blocks"]
    assert ours[columns].values.tolist() == [
        [1, "threads", 1.0, 500.0, 0.0, 3],
        [2, "arrays", 0.2, 100.0, 0.0, 1],
    ]
    theirs = data[data["kind"] == "published"]
    assert theirs["ms_per_step"].tolist() == pytest.approx([13, 90, 0.113 * 256, 36])


def test_a_step_takes_the_time_of_the_steps_that_were_made():
    """Of 100 images at batch 32 an epoch makes 3 steps of 96: 3 s of them are 1 s a step."""
    run = pipeline_run(3.0, batch_size=32, images_per_epoch=100)
    run = replace(run, images_per_epoch=96)
    assert run.median_epoch_s == pytest.approx(3.125), "scaled to all 100"
    ours = pipelines_beside([run]).query("kind == 'measured'")
    assert ours["ms_per_step"].tolist() == [1000.0]


def test_of_several_numbers_of_threads_the_nearest_to_the_articles_is_the_first():
    runs = [pipeline_run(float(workers), workers=workers) for workers in (1, 3, 16)]
    ours = pipelines_beside(runs).query("kind == 'measured'").set_index("workers")
    assert ours["relative_time"].to_dict() == pytest.approx({1: 1 / 3, 3: 1, 16: 16 / 3})


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
