"""What charts of convolutions are made of, on planted seconds."""

from __future__ import annotations

import math

import pytest

from conv2d_data import (
    ARTICLE_SIZE,
    BLOCKS,
    CONTEXT_S,
    CPU_MACHINE,
    FIRST,
    GPU_MACHINE,
    IMPORT_S,
    ROOF,
    SHARES,
    SWEEP_SIZE,
    by_library,
    grid,
    make_runs,
    make_trial,
)
from trainspeed.articles.ratios import convolution_times
from trainspeed.core.convolution import FIRST_STAGES
from trainspeed.judge.roofline import Ceiling
from trainspeed.studies.conv2d.calls import first_call_s
from trainspeed.studies.conv2d.frames import (
    STAGE_COLUMNS,
    SWEEP_COLUMNS,
    device_series,
    limit_sentences,
    one_device_points,
    roofline_rows,
    stage_rows,
    sweep_rows,
)
from trainspeed.studies.conv2d.sweeps import crossovers
from trainspeed.studies.conv2d.trials import core_trials, library_trial

CORE = core_trials(["tensorflow", "torch", "scipy_signal"], ["tensorflow"], [1, 2], **ARTICLE_SIZE)
SECONDS = by_library(tensorflow=2.0, torch=1.0, scipy_signal=0.5, opencv=0.25)


# Stages.


def test_a_framework_has_a_row_for_its_first_call_and_one_for_its_warm_calls():
    rows = stage_rows(make_runs(CORE, SECONDS), CORE).set_index(["library", "devices", "temperature"])

    libraries = [("TensorFlow (graph)", 1), ("PyTorch", 1), ("TensorFlow (graph)", 2)]
    assert [*rows.index] == [(*names, kind) for names in libraries for kind in ("cold", "warm")]
    assert set(rows.xs("cold", level="temperature")["import"]) == {IMPORT_S}
    assert rows.xs("warm", level="temperature")[["import", "context"]].isna().all(axis=None)


def test_rows_have_the_time_of_whole_calls_as_tables_do():
    cold, warm = stage_rows(make_runs([make_trial()], 1.0), [make_trial()])["whole"]

    assert warm == 1.0 and cold == first_call_s(make_runs([make_trial()], 1.0)[0])


def test_the_stages_of_a_first_call_add_up_to_it_and_the_warm_ones_to_a_call():
    runs = make_runs([make_trial("torch")], 2.0)
    cold, warm = stage_rows(runs, [make_trial("torch")])[[*FIRST_STAGES]].sum(axis=1)

    assert (cold, warm) == pytest.approx((first_call_s(runs[0]), runs[0].median_s))


def test_a_stage_is_the_median_over_blocks():
    took = (1.0, 9.0, 2.0)
    runs = make_runs([make_trial("torch")], lambda t, b: took[b], blocks=3)
    cold, warm = stage_rows(runs, [make_trial("torch", seed=4)])["kernel"]

    assert (cold, warm) == (FIRST * 2.0 * SHARES["kernel"], 2.0 * SHARES["kernel"])


def test_only_trials_that_were_asked_for_and_ran_have_stages():
    rows = stage_rows(make_runs(CORE, SECONDS), [make_trial("torch"), make_trial("jax")])

    assert set(rows["library"]) == {"PyTorch"}
    assert [*stage_rows([], CORE)] == STAGE_COLUMNS


def test_an_import_that_is_not_known_is_missing():
    assert stage_rows(make_runs([make_trial()], 1.0, import_s=None), [make_trial()])["import"].isna().all()


# Sweeps.


def sweep_of(factor, values, *, filters=0):
    """Return the trials of a sweep, and the sweep itself as it is looked at."""
    pair, sizes = (["torch"], ["opencv"]), {factor: values}
    trials = grid(*pair, sizes, filters=filters, **SWEEP_SIZE).trials()
    return trials, crossovers([], grid(*pair, sizes, filters=filters, **SWEEP_SIZE))


@pytest.mark.parametrize(
    ("factor", "values"), [("images", [1, 84]), ("channels", [1, 64]), ("filter_size", [3, 10])]
)
def test_a_sweep_is_a_row_per_run(factor, values):
    trials, sweeps = sweep_of(factor, values)
    rows = sweep_rows(make_runs(trials, SECONDS), factor, sweeps)

    assert len(rows) == len(trials) * BLOCKS
    for library, on_device, seconds in (("OpenCV filter2D", False, 0.25), ("PyTorch", True, 1.0)):
        mine = rows[rows["library"] == library]
        assert sorted(mine["size"].unique()) == values
        assert (set(mine["on_device"]), set(mine["call_s"])) == ({on_device}, {seconds})


def test_the_articles_size_and_what_was_bisected_are_in_the_sweep_over_images():
    trials, sweeps = sweep_of("images", [1, 84])
    more = [make_trial("torch"), make_trial("opencv", images=9)]
    rows = sweep_rows(make_runs([*trials, *more], SECONDS), "images", sweeps)

    assert sorted(rows["size"].unique()) == [1, 9, 84, 840]


@pytest.mark.parametrize("other", [{"filter_size": 5}, {"channels": 2}, {"height": 9}, {"devices": 2}])
def test_another_size_is_not_in_the_sweep_over_images(other):
    trials, sweeps = sweep_of("images", [1, 84])
    rows = sweep_rows(make_runs([*trials, make_trial("torch", **other)], SECONDS), "images", sweeps)

    assert sorted(rows["size"].unique()) == [1, 84]


@pytest.mark.parametrize(("filters", "stranger"), [(16, (1, 1)), (0, (1, 16))])
def test_another_number_of_filters_is_not_in_the_sweep_over_channels(filters, stranger):
    """One channel and one filter belong to the other sweeps, where this one has 16 filters."""
    trials, sweeps = sweep_of("channels", [1, 64], filters=filters)
    channels, count = stranger
    other = library_trial("torch", **{**SWEEP_SIZE, "channels": channels, "filters": count})
    runs = [*make_runs(trials, SECONDS), *make_runs([other], 77.0)]

    assert 77.0 not in set(sweep_rows(runs, "channels", sweeps)["call_s"])


def test_the_sweeps_of_other_factors_mix_no_sizes_into_one():
    """64 channels and a filter of 10 px are runs of 12 images, too."""
    values = {"images": [1, 12, 84], "channels": [1, 64], "filter_size": [3, 10]}
    pair = (["torch"], ["opencv"])
    trials = grid(*pair, values, **SWEEP_SIZE).trials()
    runs = make_runs(trials, lambda t, b: float(t.channels * t.filter_size))
    rows = sweep_rows(runs, "images", crossovers(runs, grid(*pair, values, **SWEEP_SIZE)))

    assert set(rows["call_s"]) == {3.0}


def test_without_runs_there_are_columns_and_no_size():
    rows = sweep_rows([], "images", sweep_of("images", [1])[1])

    assert [*rows] == SWEEP_COLUMNS


# The roofline.


def test_the_articles_convolution_computes_nine_operations_for_four_bytes():
    """2 * 9 FLOP per pixel, which is read once and written once: 18 / 8."""
    (row,) = roofline_rows(make_runs([make_trial("torch")], 1.0), ROOF, GPU_MACHINE).to_dict("records")

    assert row["intensity"] == pytest.approx(2.25, rel=1e-5)
    assert row["limit"] == "memory"
    assert row["flop_per_s"] == pytest.approx(840 * 100 * 100 * 18 / 0.5), "of the calls that stay: 0.5 s"
    assert row["bytes_per_s"] == pytest.approx(67_200_036 / 0.5)
    assert row["share"] == pytest.approx(row["bytes_per_s"] / 1e8), "the roof is the memory's"


def test_many_channels_are_limited_by_arithmetic():
    trial = make_trial("torch", channels=64, filters=64)
    (row,) = roofline_rows(make_runs([trial], 1.0, resident=None), ROOF, GPU_MACHINE).to_dict("records")

    assert row["limit"] == "arithmetic"
    assert row["share"] == pytest.approx(trial.flops / 1e9), "of whole calls: 1 s"


def test_several_gpus_have_a_roof_each():
    one, two = roofline_rows(
        make_runs([make_trial(), make_trial(devices=2)], lambda t, _: 1.0 / t.devices), ROOF, GPU_MACHINE
    ).to_dict("records")

    assert one["share"] == pytest.approx(two["share"])
    assert two["flop_per_s"] == pytest.approx(2 * one["flop_per_s"])


@pytest.mark.parametrize(("machine", "there"), [(CPU_MACHINE, True), (GPU_MACHINE, False)])
def test_a_gpus_roof_says_nothing_of_the_cpu(machine, there):
    trials = [make_trial("torch"), make_trial("torch cpu"), make_trial("opencv")]
    rows = roofline_rows(make_runs(trials, SECONDS), ROOF, machine)

    assert ("OpenCV filter2D" in set(rows["library"])) is there
    assert ("PyTorch on the CPU" in set(rows["library"])) is there
    assert "PyTorch" in set(rows["library"])


@pytest.mark.parametrize("ceilings", [{}, {"fp32": Ceiling(precision="fp32", matmul_flop_per_s=1e9)}])
def test_without_ceilings_there_is_a_rate_and_no_share(ceilings):
    (row,) = roofline_rows(make_runs([make_trial()], 1.0), ceilings, CPU_MACHINE).to_dict("records")

    assert row["limit"] is None and math.isnan(row["share"])
    assert row["flop_per_s"] > 0


def test_the_library_nearest_to_the_limit_is_named_with_its_share_and_rates():
    """Small images come nearer in one library; at the size that most were measured at it is another one."""
    trials = [make_trial("torch"), make_trial("tensorflow"), make_trial("torch", images=12)]
    seconds = {("torch", 840): 2.0, ("tensorflow", 840): 4.0, ("torch", 12): 0.02}
    runs = make_runs(trials, lambda t, _: seconds[t.library, t.images], resident=None)
    best, here = limit_sentences(roofline_rows(runs, ROOF, GPU_MACHINE))

    assert best == (
        "PyTorch on 1 device is nearest to its limit of all, at 12 images of 100×100, 1 channel, 1 filter, 3×3: "
        "48.0 % of what memory allows (0.048 GB/s, 0.108 GFLOP/s)."
    )
    assert here == (
        "PyTorch on 1 device is nearest among libraries at 840 images of 100×100, 1 channel, 1 filter, 3×3: "
        "33.6 % of what memory allows (0.0336 GB/s, 0.0756 GFLOP/s)."
    )


def test_without_ceilings_nothing_is_said_to_be_near_a_limit():
    assert limit_sentences(roofline_rows(make_runs(CORE, SECONDS), {}, CPU_MACHINE)) == []


def test_without_runs_nothing_is_said_to_be_near_a_limit():
    """As where every run failed, or a GPU machine ran libraries of the CPU alone."""
    assert limit_sentences(roofline_rows([], ROOF, CPU_MACHINE)) == []


def test_nothing_is_said_to_do_more_than_the_memory_allows():
    runs = make_runs([make_trial("torch", images=12)], 0.0024, resident=None)
    said = limit_sentences(roofline_rows(runs, ROOF, CPU_MACHINE))

    assert all("400.0 % of what memory allows" not in text for text in said)


def test_points_under_the_roof_are_of_one_device():
    points = one_device_points(roofline_rows(make_runs(CORE, SECONDS), ROOF, CPU_MACHINE))

    assert sorted(points["model"]) == ["PyTorch", "TensorFlow (graph)", "scipy.signal.convolve2d"]
    assert set(points["precision"]) == {"fp32"}


# Against devices.


def test_what_was_spread_has_first_and_warm_calls_and_a_baseline_has_warm_ones():
    series = device_series(make_runs(CORE, SECONDS), CORE)

    assert set(series["series"]) < set(convolution_times(series)["series"])
    assert series.groupby("series")["x"].apply(list).to_dict() == {
        "TensorFlow (graph), first call": [1, 2],
        "TensorFlow (graph), warm": [1, 2],
        "scipy.signal.convolve2d, warm": [pytest.approx(float("nan"), nan_ok=True)],
    }


def test_series_are_in_milliseconds_with_intervals():
    took = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    series = device_series(make_runs(CORE, lambda t, b: took[b]), CORE)
    warm = series[(series["series"] == "TensorFlow (graph), warm") & (series["x"] == 1)].iloc[0]
    cold = series[series["series"] == "TensorFlow (graph), first call"].iloc[0]

    assert (warm["value"], warm["low"], warm["high"]) == (3500, 1000, 6000)
    assert cold["value"] == pytest.approx(1e3 * (CONTEXT_S + FIRST * 3.5))


def test_one_block_has_no_interval_in_a_series():
    series = device_series(make_runs(CORE, SECONDS, blocks=1), CORE)

    assert series[["low", "high"]].isna().all(axis=None)


def test_without_runs_there_is_a_series_without_rows():
    series = device_series([], CORE)

    assert series.empty
    assert set(convolution_times(series)["kind"]) == {"published"}


def test_on_a_machine_with_one_device_the_framework_is_shown_on_it():
    core = core_trials(["tensorflow", "scipy_signal"], ["tensorflow"], [1], **ARTICLE_SIZE)
    series = device_series(make_runs(core, SECONDS), core)

    assert any("TensorFlow" in name for name in series["series"])
