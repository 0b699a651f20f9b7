"""The tables of convolutions, on planted seconds."""

from __future__ import annotations

import pytest

from conv2d_data import BLOCKS, CPU_MACHINE, GPU_MACHINE, by_library, grid, make_run, make_runs, make_trial
from trainspeed.core.run import Status
from trainspeed.judge.roofline import Ceiling
from trainspeed.studies.conv2d.frames import result_rows, roofline_rows, transfer_rows
from trainspeed.studies.conv2d.sweeps import crossovers, worth_telling
from trainspeed.studies.conv2d.tables import (
    call_roofline_table,
    calls_table,
    crossovers_table,
    failed_calls_table,
    transfers_table,
)
from trainspeed.studies.conv2d.trials import core_trials

SIZES = {"images": 840, "height": 100, "width": 100}
SMALL = {"images": 12, "height": 100, "width": 100, "filter_size": 3}
CORE = core_trials(["tensorflow", "torch", "scipy_signal"], ["tensorflow"], [1, 2], **SIZES)
SECONDS = by_library(tensorflow=2.0, torch=1.0, scipy_signal=0.5, opencv=0.25)
# 1 GFLOP/s and 1 GB/s: a convolution of 2.25 FLOP per byte is limited by arithmetic, or by memory at 0.1 GB/s.
ROOF = {"fp32": Ceiling(precision="fp32", conv_flop_per_s=1e9, bandwidth_bytes_per_s=1e8)}


def cells(styler):
    return styler.data.to_dict("records")


def test_the_table_of_results_is_in_milliseconds():
    rows = result_rows(make_runs([make_trial("torch"), make_trial("opencv")], SECONDS))
    torch, opencv = cells(calls_table(rows))

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

    assert [row["size"] for row in cells(calls_table(rows))] == [
        "12 images of 100×100, 1 channel, 1 filter, 3×3",
        "840 images of 100×100, 1 channel, 1 filter, 3×3",
    ]


@pytest.mark.parametrize(("blocks", "interval"), [(1, "—"), (BLOCKS, "2,000 to 2,000")])
def test_every_table_is_html_with_one_block_and_with_six(blocks, interval):
    runs = make_runs(CORE, SECONDS, blocks=blocks)
    html = calls_table(result_rows(runs)).to_html()

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
    assert cells(calls_table(result_rows(failed))) == []
    assert cells(call_roofline_table(roofline_rows(failed, {}, CPU_MACHINE))) == []


def test_on_a_gpu_machine_with_cpu_libraries_alone_no_roof_is_left():
    rows = roofline_rows(make_runs([make_trial("opencv")], 1.0), ROOF, GPU_MACHINE)

    assert rows.empty


def test_the_table_of_transfers_tells_times_rates_and_the_share():
    rows = transfer_rows(make_runs([make_trial("torch")], 2.0), make_trial("torch"))
    (row,) = cells(transfers_table(rows, caption="Transfers"))

    assert row["to the device"] == "250 ms for 33.6 MB"
    assert (row["GB/s to"], row["GB/s from"]) == ("0.134", "0.0672")
    assert (row["from the device"], row["back, of a call"]) == ("500 ms for 33.6 MB", "25.0 %")


def test_without_transfers_their_table_is_empty():
    assert cells(transfers_table(transfer_rows([], make_trial("torch")), caption="Transfers")) == []


CURVES = {
    "found": (0.25, 0.01, 0.035, "from about 10.1"),
    "always": (0.001, 0.01, 0.1, "at every size tried"),
    "never": (9, 0.1, 0.1, "at no size tried"),
}


@pytest.mark.parametrize(("a", "b", "c", "said"), CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("blocks", [1, BLOCKS])
def test_a_crossover_is_a_row_of_its_table(a, b, c, said, blocks):
    sizes, pair = {"images": [1, 8, 12, 64]}, (["torch"], ["opencv"])
    trials = grid(*pair, sizes, **SMALL).trials()
    runs = make_runs(
        trials, lambda t, _: a + b * t.images if t.library == "torch" else c * t.images, blocks=blocks
    )
    sweeps = crossovers(runs, grid(*pair, sizes, **SMALL))
    (row,) = cells(crossovers_table(sweeps))

    assert (row["what grows"], row["device"], row["against"]) == ("images", "PyTorch", "OpenCV filter2D")
    assert row["device is faster"] == said
    assert (row["uncertainty"] == "—") is (blocks == 1 or said != "from about 10.1")
    crossovers_table(sweeps).to_html()


def test_a_crossover_that_was_not_measured_is_undecided_in_its_table():
    sweeps = crossovers([], grid(["torch"], ["opencv"], {"images": [1, 8]}, **SMALL))
    (row,) = cells(crossovers_table(sweeps))

    assert (row["device is faster"], row["uncertainty"], row["sizes tried"]) == ("undecided", "—", "—")


def test_sizes_are_whole_numbers_in_the_table_of_crossovers():
    pair, sizes = (["torch"], ["opencv"]), {"images": [1, 64]}
    runs = make_runs(grid(*pair, sizes, **SMALL).trials(), SECONDS)
    sweeps = crossovers(runs, grid(*pair, sizes, **SMALL))

    assert cells(crossovers_table(sweeps))[0]["sizes tried"] == "1 to 64"


def test_of_the_other_pairs_only_those_with_a_crossover_are_told():
    sizes, pairs = {"images": [1, 64]}, (["torch", "jax"], ["opencv", "scipy_fft"])
    trials = grid(*pairs, sizes, **SMALL).trials()
    seconds = {
        "torch": lambda n: 1.0,
        "jax": lambda n: 10.0,
        "opencv": lambda n: 2.0,
        "scipy_fft": lambda n: n / 2,
    }
    runs = make_runs(trials, lambda t, _: seconds[t.library](t.images))
    sweeps = crossovers(runs, grid(*pairs, sizes, **SMALL))

    assert [(s.device.library, s.cpu.library, str(s.found.kind)) for s in worth_telling(sweeps)] == [
        ("torch", "opencv", "always"),
        ("torch", "scipy_fft", "found"),
        ("jax", "scipy_fft", "found"),
    ]
    assert worth_telling([]) == []


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
