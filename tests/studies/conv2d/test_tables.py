"""The tables of convolutions, on planted seconds."""

from __future__ import annotations

import pytest

from conv2d_data import (
    ARTICLE_SIZE,
    BLOCKS,
    CONTEXT_S,
    CPU_MACHINE,
    FIRST,
    GPU_MACHINE,
    ROOF,
    SWEEP_SIZE,
    by_library,
    grid,
    make_run,
    make_runs,
    make_trial,
)
from study_data import make_run as make_training
from trainspeed.core.run import Status
from trainspeed.studies.conv2d.frames import roofline_rows
from trainspeed.studies.conv2d.sweeps import crossovers
from trainspeed.studies.conv2d.tables import (
    call_roofline_table,
    calls_table,
    crossovers_table,
    failed_calls_table,
    transfers_table,
)
from trainspeed.studies.conv2d.trials import core_trials

CORE = core_trials(["tensorflow", "torch", "scipy_signal"], ["tensorflow"], [1, 2], **ARTICLE_SIZE)
SECONDS = by_library(tensorflow=2.0, torch=1.0, scipy_signal=0.5, opencv=0.25)


def cells(styler):
    return styler.data.to_dict("records")


def test_the_table_of_results_is_in_milliseconds():
    runs = make_runs([make_trial("torch"), make_trial("opencv")], SECONDS)
    torch, opencv = cells(calls_table(runs))

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
    assert opencv["images/s"] == "3,360", "as the milliseconds beside it"


def test_the_columns_that_answer_come_first():
    """On a phone the others are found by scrolling."""
    columns = [*calls_table(make_runs([make_trial("torch")], SECONDS)).data]

    assert columns[:4] == ["library", "devices", "warm call", "95 % interval"]


def test_a_row_is_the_medians_over_the_blocks():
    """Of six blocks, the interval is the whole range."""
    took = (1.0, 5.0, 2.0, 4.0, 3.0, 100.0)
    (row,) = cells(calls_table(make_runs([make_trial("torch")], lambda t, b: took[b])))

    assert (row["warm call"], row["95 % interval"], row["blocks"]) == ("3,500", "1,000 to 100,000", 6)
    assert row["first call"] == f"{1e3 * (CONTEXT_S + FIRST * 3.5):,.0f}"
    assert (row["data stay there"], row["images/s"]) == ("1,750", "240")


def test_what_failed_or_is_beside_the_data_is_in_no_row():
    runs = [
        *make_runs([make_trial()], 1.0),
        *make_runs([make_trial()], 99.0, label="A again"),
        make_run(make_trial("torch"), status=Status.OOM),
        make_training(),
    ]
    (row,) = cells(calls_table(runs))

    assert (row["library"], row["warm call"], row["blocks"]) == ("TensorFlow (graph)", "1,000", BLOCKS)


def test_sizes_are_told_where_there_are_several():
    runs = make_runs([make_trial(), make_trial(images=12)], 1.0)

    assert [row["size"] for row in cells(calls_table(runs))] == [
        "12 images of 100×100, 1 channel, 1 filter, 3×3",
        "840 images of 100×100, 1 channel, 1 filter, 3×3",
    ]


@pytest.mark.parametrize(("blocks", "interval"), [(1, "—"), (5, "—"), (BLOCKS, "2,000 to 2,000")])
def test_every_table_is_html_with_one_block_and_with_six(blocks, interval):
    runs = make_runs(CORE, SECONDS, blocks=blocks)
    html = calls_table(runs).to_html()

    assert interval in html
    assert "nan" not in html
    assert "None" not in html
    html = call_roofline_table(roofline_rows(runs, ROOF, CPU_MACHINE)).to_html()
    assert "2.25" in html


def test_the_table_of_the_roofline_has_a_dash_where_no_ceiling_was_measured():
    (row,) = cells(call_roofline_table(roofline_rows(make_runs([make_trial()], 1.0), {}, CPU_MACHINE)))

    assert (row["limited by"], row["share of the limit"]) == ("—", "—")


def test_the_table_of_the_roofline_tells_rates_and_the_share():
    runs = make_runs([make_trial("torch")], 2.0)
    (row,) = cells(call_roofline_table(roofline_rows(runs, ROOF, GPU_MACHINE)))

    assert row["FLOP per byte"] == "2.25"
    assert row["GFLOP/s"] == "0.151"
    assert row["GB/s"] == "0.0672"
    assert (row["limited by"], row["share of the limit"]) == ("memory", "67.2 %")


@pytest.mark.parametrize("failed", [[], [make_run(make_trial(), status=Status.CRASHED)]])
def test_where_every_run_failed_the_tables_are_empty(failed):
    assert cells(calls_table(failed)) == []
    assert cells(call_roofline_table(roofline_rows(failed, {}, CPU_MACHINE))) == []


def test_on_a_gpu_machine_with_cpu_libraries_alone_no_roof_is_left():
    rows = roofline_rows(make_runs([make_trial("opencv")], 1.0), ROOF, GPU_MACHINE)

    assert rows.empty


def test_the_table_of_transfers_has_a_row_per_size_on_one_device():
    """Other libraries, modes and numbers of devices are left out."""
    mine = [make_trial("torch", images=12), make_trial("torch")]
    others = [make_trial("torch", devices=2), make_trial("torch cpu"), make_trial("tensorflow")]
    table = transfers_table(make_runs([*others, *mine], 2.0), mine[0])
    small, large = cells(table)

    assert table.caption == "Transfers alone, PyTorch on one device"
    assert (small["size"][:9], large["size"][:10]) == ("12 images", "840 images")
    assert large["to the device"] == "250 ms for 33.6 MB"
    assert (large["GB/s to"], large["GB/s from"]) == ("0.134", "0.0672")
    assert (large["from the device"], large["back, of a call"]) == ("500 ms for 33.6 MB", "25.0 %")


@pytest.mark.parametrize("runs", [[], make_runs([make_trial("opencv")], 1.0)])
def test_without_transfers_their_table_is_empty(runs):
    assert cells(transfers_table(runs, make_trial("opencv"))) == []


CURVES = {
    "found": (0.25, 0.01, 0.035, "from about 11"),
    "always": (0.001, 0.01, 0.1, "at every size tried"),
    "never": (9, 0.1, 0.1, "at no size tried"),
}


@pytest.mark.parametrize(("a", "b", "c", "said"), CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("blocks", [1, BLOCKS])
def test_a_crossover_is_a_row_of_its_table(a, b, c, said, blocks):
    sizes, pair = {"images": [1, 8, 12, 64]}, (["torch"], ["opencv"])
    trials = grid(*pair, sizes, **SWEEP_SIZE).trials()
    runs = make_runs(
        trials, lambda t, _: a + b * t.images if t.library == "torch" else c * t.images, blocks=blocks
    )
    sweeps = crossovers(runs, grid(*pair, sizes, **SWEEP_SIZE))
    (row,) = cells(crossovers_table(sweeps))

    assert (row["what grows"], row["device"], row["against"]) == ("images", "PyTorch", "OpenCV filter2D")
    assert row["device is faster"] == said
    assert (row["interval of that size"] == "—") is (blocks == 1 or said != "from about 11")


def test_a_crossover_that_was_not_measured_is_undecided_in_its_table():
    sweeps = crossovers([], grid(["torch"], ["opencv"], {"images": [1, 8]}, **SWEEP_SIZE))
    (row,) = cells(crossovers_table(sweeps))

    assert (row["device is faster"], row["interval of that size"], row["sizes tried"]) == (
        "undecided",
        "—",
        "—",
    )


def test_sizes_are_whole_numbers_in_the_table_of_crossovers():
    pair, sizes = (["torch"], ["opencv"]), {"images": [1, 64]}
    runs = make_runs(grid(*pair, sizes, **SWEEP_SIZE).trials(), SECONDS)
    sweeps = crossovers(runs, grid(*pair, sizes, **SWEEP_SIZE))

    assert cells(crossovers_table(sweeps))[0]["sizes tried"] == "1 to 64"
    assert crossovers_table([]) is None


def test_failures_are_counted_by_trial_status_and_reason():
    runs = [
        *make_runs([make_trial("torch")], 1.0),
        *make_runs([make_trial("opencv")], 1.0, blocks=3, status=Status.CRASHED),
        make_run(make_trial("jax"), status=Status.UNSUPPORTED, reason=None, versions={}),
    ]
    crashed, unsupported = cells(failed_calls_table(runs))

    assert crashed["what"].startswith("OpenCV filter2D, 840 images of 100×100")
    assert (crashed["reason"], crashed["count"]) == ("for a test", 3)
    assert (unsupported["reason"], unsupported["count"]) == ("—", 1)


def test_without_failures_there_is_no_table():
    assert failed_calls_table(make_runs([make_trial()], 1.0)) is None
    assert failed_calls_table([]) is None
