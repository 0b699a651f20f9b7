"""What tables and charts of convolutions are made of, and the tables, on planted seconds."""

from __future__ import annotations

import pandas as pd
import pytest

from conv2d_data import (
    BLOCKS,
    CONTEXT_S,
    CPU_MACHINE,
    FIRST,
    GPU_MACHINE,
    IMPORT_S,
    SHARES,
    by_library,
    make_run,
    make_runs,
    make_trial,
)
from study_data import make_run as make_training
from trainspeed.conv2d_frames import (
    COLD_STAGES,
    WARM_STAGES,
    device_series,
    limit_sentences,
    result_rows,
    roofline_points,
    roofline_rows,
    stage_rows,
    sweep_rows,
)
from trainspeed.conv2d_guesses import first_call_s
from trainspeed.conv2d_study import core_trials, library_trial, sweep_trials
from trainspeed.conv2d_sweeps import crossovers, told
from trainspeed.errors import UserError
from trainspeed.published_conv2d import SERIES_COLUMNS, conv2d_claims
from trainspeed.roofline import Ceiling
from trainspeed.run import Status
from trainspeed.tables_conv2d import (
    answers_table,
    crossovers_table,
    failures_table,
    results_table,
    roofline_table,
)

SIZES = {"images": 840, "height": 100, "width": 100}
SMALL = {"images": 12, "height": 100, "width": 100, "filter_size": 3}
CORE = core_trials(["tensorflow", "torch", "scipy_signal"], ["tensorflow"], [1, 2], **SIZES)
SECONDS = by_library(tensorflow=2.0, torch=1.0, scipy_signal=0.5, opencv=0.25)
# 1 GFLOP/s and 1 GB/s: a convolution of 2.25 FLOP per byte is limited by arithmetic, or by memory at 0.1 GB/s.
ROOF = {"fp32": Ceiling(precision="fp32", conv_flop_per_s=1e9, bandwidth_bytes_per_s=1e8)}


# A row per trial.


def test_a_trial_is_a_row_of_medians_over_its_blocks():
    took = (1.0, 5.0, 2.0, 4.0, 3.0, 100.0)
    (row,) = result_rows(make_runs([make_trial("torch")], lambda t, b: took[b])).to_dict("records")

    assert (row["library"], row["framework"], row["devices"], row["on_device"]) == (
        "PyTorch",
        "torch",
        1,
        True,
    )
    assert row["case"] == "840 images of 100×100, 1 channel, 1 filter, 3×3"
    assert (row["call_s"], row["resident_s"], row["blocks"]) == (3.5, 1.75, 6)
    assert row["first_call_s"] == pytest.approx(CONTEXT_S + FIRST * 3.5)
    assert (row["low_s"], row["high_s"]) == (1.0, 100.0), "of six, the interval is the whole range"
    assert row["images_per_s"] == 840 / 3.5
    assert row["placement"] == "GPU:0"


def test_five_blocks_have_no_interval():
    (row,) = result_rows(make_runs([make_trial()], 1.0, blocks=5)).to_dict("records")

    assert pd.isna(row["low_s"])
    assert pd.isna(row["high_s"])


def test_what_failed_or_is_beside_the_data_is_in_no_row():
    runs = [
        *make_runs([make_trial()], 1.0),
        *make_runs([make_trial()], 99.0, label="A again"),
        make_run(make_trial("torch"), status=Status.OOM),
        make_training(),
    ]

    (row,) = result_rows(runs).to_dict("records")
    assert (row["library"], row["call_s"], row["blocks"]) == ("TensorFlow (graph)", 1.0, BLOCKS)


def test_a_library_of_the_cpu_has_nothing_that_stays():
    rows = result_rows(make_runs(CORE, SECONDS)).set_index(["library", "devices"])

    assert pd.isna(rows.loc[("scipy.signal.convolve2d", 1), "resident_s"])
    assert not rows.loc[("scipy.signal.convolve2d", 1), "on_device"]
    assert len(rows) == len(CORE)


# Stages.


def test_cold_stages_begin_with_the_import_and_warm_ones_do_not():
    rows = stage_rows(make_runs(CORE, SECONDS), CORE)

    for (_, temperature), group in rows[rows["devices"] == 1].groupby(["library", "temperature"]):
        assert tuple(group["stage"]) == (COLD_STAGES if temperature == "cold" else WARM_STAGES)
    assert "import" not in WARM_STAGES
    assert set(rows["library"]) == {"TensorFlow (graph)", "PyTorch"}, "a CPU's library has no stages"
    assert set(rows.loc[rows["stage"] == "import", "seconds"]) == {IMPORT_S}


def test_the_stages_of_a_first_call_add_up_to_it_and_the_warm_ones_to_a_call():
    runs = make_runs(CORE, SECONDS)
    rows = stage_rows(runs, CORE)

    for run in runs[: len(CORE)]:
        library = {"tensorflow": "TensorFlow (graph)", "torch": "PyTorch"}.get(run.trial.library)
        mine = rows[(rows["library"] == library) & (rows["devices"] == run.trial.devices)]
        sums = mine[mine["stage"] != "import"].groupby("temperature")["seconds"].sum()
        if library:
            assert sums["cold"] == pytest.approx(first_call_s(run))
            assert sums["warm"] == pytest.approx(run.median_s)


def test_a_stage_is_the_median_over_blocks():
    took = (1.0, 9.0, 2.0)
    runs = make_runs([make_trial("torch")], lambda t, b: took[b], blocks=3)
    rows = stage_rows(runs, [make_trial("torch", seed=4)]).set_index(["temperature", "stage"])["seconds"]

    assert rows["warm", "kernel"] == 2.0 * SHARES["kernel"]
    assert rows["cold", "kernel"] == FIRST * 2.0 * SHARES["kernel"]


def test_stages_of_trials_that_were_not_asked_for_are_left_out():
    rows = stage_rows(make_runs(CORE, SECONDS), [make_trial("torch")])

    assert set(rows["library"]) == {"PyTorch"}


def test_an_import_that_is_not_known_is_no_stage():
    rows = stage_rows(make_runs([make_trial()], 1.0, import_s=None), [make_trial()])

    assert "import" not in set(rows["stage"])


def test_without_runs_there_are_columns_and_no_stage():
    assert [*stage_rows([], CORE)] == ["library", "devices", "temperature", "stage", "seconds"]


# Sweeps.


def sweep_of(factor, values, *, filters=0):
    """Return the trials of a sweep, and the sweep itself as it is looked at."""
    pair, sizes = (["torch"], ["opencv"]), {factor: values}
    trials = sweep_trials(*pair, sizes, filters=filters, longest_call_s=1e9, **SMALL)
    return trials, crossovers([], *pair, sizes, filters=filters, **SMALL)


@pytest.mark.parametrize(
    ("factor", "values"), [("images", [1, 84]), ("channels", [1, 64]), ("filter_size", [3, 10])]
)
def test_a_sweep_is_a_row_per_run(factor, values):
    trials, sweeps = sweep_of(factor, values)
    rows = sweep_rows(make_runs(trials, SECONDS), factor, sweeps)

    assert len(rows) == len(trials) * BLOCKS
    assert rows.groupby("library")["size"].unique().map(sorted).to_dict() == {
        "OpenCV filter2D": values,
        "PyTorch": values,
    }
    assert rows.groupby("library")["call_s"].first().to_dict() == {"OpenCV filter2D": 0.25, "PyTorch": 1.0}
    assert rows.groupby("library")["on_device"].first().to_dict() == {
        "OpenCV filter2D": False,
        "PyTorch": True,
    }


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


@pytest.mark.xfail(
    strict=True, reason="bug: channels and filters are both dropped before trials are compared"
)
@pytest.mark.parametrize(("filters", "stranger"), [(16, (1, 1)), (0, (1, 16))])
def test_another_number_of_filters_is_not_in_the_sweep_over_channels(filters, stranger):
    """One channel and one filter belong to the other sweeps, where this one has 16 filters."""
    trials, sweeps = sweep_of("channels", [1, 64], filters=filters)
    channels, count = stranger
    other = library_trial("torch", **{**SMALL, "channels": channels, "filters": count})
    runs = [*make_runs(trials, SECONDS), *make_runs([other], 77.0)]

    assert 77.0 not in set(sweep_rows(runs, "channels", sweeps)["call_s"])


def test_the_sweeps_of_other_factors_mix_no_sizes_into_one():
    """64 channels and a filter of 10 px are runs of 12 images, too."""
    values = {"images": [1, 12, 84], "channels": [1, 64], "filter_size": [3, 10]}
    pair = (["torch"], ["opencv"])
    trials = sweep_trials(*pair, values, filters=0, longest_call_s=1e9, **SMALL)
    runs = make_runs(trials, lambda t, b: float(t.channels * t.filter_size))
    rows = sweep_rows(runs, "images", crossovers(runs, *pair, values, filters=0, **SMALL))

    assert set(rows["call_s"]) == {3.0}


def test_without_runs_there_are_columns_and_no_size():
    rows = sweep_rows([], "images", sweep_of("images", [1])[1])

    assert [*rows] == ["library", "framework", "on_device", "size", "block", "call_s"]


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

    assert (row["limit"], row["share"]) == (None, None)
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


@pytest.mark.xfail(strict=True, reason="bug: 'share' of a frame without columns raises KeyError")
def test_without_runs_nothing_is_said_to_be_near_a_limit():
    """As where every run failed, or a GPU machine ran libraries of the CPU alone."""
    assert limit_sentences(roofline_rows([], ROOF, CPU_MACHINE)) == []


@pytest.mark.xfail(strict=True, reason="bug: small images fit into a cache: '400.0 % of what memory allows'")
def test_nothing_is_said_to_do_more_than_the_memory_allows():
    runs = make_runs([make_trial("torch", images=12)], 0.0024, resident=None)
    said = limit_sentences(roofline_rows(runs, ROOF, CPU_MACHINE))

    assert all("400.0 % of what memory allows" not in text for text in said)


def test_points_under_the_roof_are_of_one_device():
    points = roofline_points(roofline_rows(make_runs(CORE, SECONDS), ROOF, CPU_MACHINE))

    assert sorted(points["model"]) == ["PyTorch", "TensorFlow (graph)", "scipy.signal.convolve2d"]
    assert set(points["precision"]) == {"fp32"}


# Against devices.


def test_what_was_spread_has_first_and_warm_calls_and_a_baseline_has_warm_ones():
    series = device_series(make_runs(CORE, SECONDS), CORE)

    assert {*SERIES_COLUMNS} <= {*series}
    assert series.groupby("series")["devices"].apply(list).to_dict() == {
        "TensorFlow (graph), first call": [1, 2],
        "TensorFlow (graph), warm": [1, 2],
        "scipy.signal.convolve2d, warm": [pytest.approx(float("nan"), nan_ok=True)],
    }


def test_series_are_in_milliseconds_with_intervals():
    took = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)
    series = device_series(make_runs(CORE, lambda t, b: took[b]), CORE)
    warm = series[(series["series"] == "TensorFlow (graph), warm") & (series["devices"] == 1)].iloc[0]
    cold = series[series["series"] == "TensorFlow (graph), first call"].iloc[0]

    assert (warm["ms"], warm["low_ms"], warm["high_ms"]) == (3500, 1000, 6000)
    assert cold["ms"] == pytest.approx(1e3 * (CONTEXT_S + FIRST * 3.5))


def test_one_block_has_no_interval_in_a_series():
    series = device_series(make_runs(CORE, SECONDS, blocks=1), CORE)

    assert series[["low_ms", "high_ms"]].isna().all(axis=None)
    assert series["low_ms"].dtype.kind == "f"


def test_without_runs_there_is_a_series_without_rows():
    series = device_series([], CORE)

    assert series.empty
    assert {*SERIES_COLUMNS} <= {*series}


@pytest.mark.xfail(strict=True, reason="bug: with one device nothing is spread, and no framework is drawn")
def test_on_a_machine_with_one_device_the_framework_is_shown_on_it():
    core = core_trials(["tensorflow", "scipy_signal"], ["tensorflow"], [1], **SIZES)
    series = device_series(make_runs(core, SECONDS), core)

    assert any("TensorFlow" in name for name in series["series"])


# Tables.


def cells(styler):
    return styler.data.to_dict("records")


def test_the_table_of_results_is_in_milliseconds():
    rows = result_rows(make_runs([make_trial("torch"), make_trial("opencv")], SECONDS))
    torch, opencv = cells(results_table(rows))

    assert torch == {
        "library": "PyTorch",
        "devices": 1,
        "first call": "5,000",
        "warm call": "1,000",
        "95 % interval": "1,000 to 1,000",
        "data stay there": "500",
        "images/s": "840",
        "ran on": "GPU:0",
        "blocks": 6,
    }
    assert (opencv["data stay there"], opencv["ran on"]) == ("—", "cpu")


def test_sizes_are_told_where_there_are_several():
    rows = result_rows(make_runs([make_trial(), make_trial(images=12)], 1.0))

    assert [row["size"] for row in cells(results_table(rows))] == [
        "12 images of 100×100, 1 channel, 1 filter, 3×3",
        "840 images of 100×100, 1 channel, 1 filter, 3×3",
    ]


@pytest.mark.parametrize(("blocks", "interval"), [(1, "—"), (BLOCKS, "2,000 to 2,000")])
def test_every_table_is_html_with_one_block_and_with_six(blocks, interval):
    runs = make_runs(CORE, SECONDS, blocks=blocks)
    html = results_table(result_rows(runs)).to_html()

    assert interval in html
    assert "nan" not in html
    assert "None" not in html
    html = roofline_table(roofline_rows(runs, ROOF, CPU_MACHINE)).to_html()
    assert "2.25" in html


def test_the_table_of_the_roofline_has_a_dash_where_no_ceiling_was_measured():
    (row,) = cells(roofline_table(roofline_rows(make_runs([make_trial()], 1.0), {}, CPU_MACHINE)))

    assert (row["limited by"], row["share of the limit"]) == ("—", "—")


def test_the_table_of_the_roofline_tells_rates_and_the_share():
    runs = make_runs([make_trial("torch")], 2.0)
    (row,) = cells(roofline_table(roofline_rows(runs, ROOF, GPU_MACHINE)))

    assert row["FLOP per byte"] == "2.25"
    assert row["GFLOP/s"] == "0.151"
    assert row["GB/s"] == "0.0672"
    assert (row["limited by"], row["share of the limit"]) == ("memory", "67.2 %")


@pytest.mark.xfail(
    strict=True, raises=UserError, reason="bug: no rows have no columns, and the table refuses them"
)
@pytest.mark.parametrize("failed", [[], [make_run(make_trial(), status=Status.CRASHED)]])
def test_where_every_run_failed_the_tables_are_empty(failed):
    results_table(result_rows(failed)).to_html()
    roofline_table(roofline_rows(failed, {}, CPU_MACHINE)).to_html()


def test_on_a_gpu_machine_with_cpu_libraries_alone_no_roof_is_left():
    rows = roofline_rows(make_runs([make_trial("opencv")], 1.0), ROOF, GPU_MACHINE)

    assert rows.empty


CURVES = {
    "found": (0.25, 0.01, 0.035, "from about 10.1"),
    "always": (0.001, 0.01, 0.1, "at every size tried"),
    "never": (9, 0.1, 0.1, "at no size tried"),
}


@pytest.mark.parametrize(("a", "b", "c", "said"), CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("blocks", [1, BLOCKS])
def test_a_crossover_is_a_row_of_its_table(a, b, c, said, blocks):
    sizes, pair = {"images": [1, 8, 12, 64]}, (["torch"], ["opencv"])
    trials = sweep_trials(*pair, sizes, filters=0, longest_call_s=1e9, **SMALL)
    runs = make_runs(
        trials, lambda t, _: a + b * t.images if t.library == "torch" else c * t.images, blocks=blocks
    )
    sweeps = crossovers(runs, *pair, sizes, filters=0, **SMALL)
    (row,) = cells(crossovers_table(sweeps))

    assert (row["what grows"], row["device"], row["against"]) == ("images", "PyTorch", "OpenCV filter2D")
    assert row["device is faster"] == said
    assert (row["uncertainty"] == "—") is (blocks == 1 or said != "from about 10.1")
    crossovers_table(sweeps).to_html()


def test_a_crossover_that_was_not_measured_is_undecided_in_its_table():
    (row,) = cells(crossovers_table(sweep_of("images", [1, 8])[1]))

    assert (row["device is faster"], row["uncertainty"], row["sizes tried"]) == ("undecided", "—", "—")


@pytest.mark.xfail(strict=True, reason="bug: a number of images is told as 1.00")
def test_sizes_are_whole_numbers_in_the_table_of_crossovers():
    trials, _ = sweep_of("images", [1, 64])
    runs = make_runs(trials, SECONDS)
    sweeps = crossovers(runs, ["torch"], ["opencv"], {"images": [1, 64]}, filters=0, **SMALL)

    assert cells(crossovers_table(sweeps))[0]["sizes tried"] == "1 to 64"


def test_of_the_other_pairs_only_those_with_a_crossover_are_told():
    sizes, pairs = {"images": [1, 64]}, (["torch", "jax"], ["opencv", "scipy_fft"])
    trials = sweep_trials(*pairs, sizes, filters=0, longest_call_s=1e9, **SMALL)
    seconds = {
        "torch": lambda n: 1.0,
        "jax": lambda n: 10.0,
        "opencv": lambda n: 2.0,
        "scipy_fft": lambda n: n / 2,
    }
    runs = make_runs(trials, lambda t, _: seconds[t.library](t.images))
    sweeps = crossovers(runs, *pairs, sizes, filters=0, **SMALL)

    assert [(s.device.library, s.cpu.library, str(s.found.kind)) for s in told(sweeps)] == [
        ("torch", "opencv", "always"),
        ("torch", "scipy_fft", "found"),
        ("jax", "scipy_fft", "found"),
    ]
    assert told([]) == []


def test_answers_are_a_row_each_and_none_is_no_crash():
    answered = [(claim, "supported", "1 < 2 & so on") for claim in conv2d_claims()]
    html = answers_table(answered).to_html()

    assert len(answers_table(answered).data) == 9
    assert "1 &lt; 2 &amp; so on" in html
    assert answers_table([]).data.empty
    answers_table([]).to_html()


def test_failures_are_counted_by_trial_status_and_reason():
    runs = [
        *make_runs([make_trial("torch")], 1.0),
        *make_runs([make_trial("opencv")], 1.0, blocks=3, status=Status.CRASHED),
        make_run(make_trial("jax"), status=Status.UNSUPPORTED, reason=None, versions={}),
    ]
    crashed, unsupported = cells(failures_table(runs))

    assert crashed["what"].startswith("OpenCV filter2D, 840 images of 100×100")
    assert (crashed["reason"], crashed["count"]) == ("for a test", 3)
    assert (unsupported["reason"], unsupported["count"]) == ("—", 1)


def test_without_failures_there_is_no_table():
    assert failures_table(make_runs([make_trial()], 1.0)) is None
    assert failures_table([]) is None
