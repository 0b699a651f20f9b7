"""Clocks of arms that took turns, in runs that are made up."""

from __future__ import annotations

import pytest

from study_data import make_run
from trainspeed.core.ledger import Ledger
from trainspeed.core.result import Turn
from trainspeed.core.run import Status
from trainspeed.judge.clocks import clock_doubts, paired_clocks
from trainspeed.judge.doubts import study_doubts


def run(*clocks, **more):
    turns = tuple(
        Turn(round=number, place=0, start_s=0.0, epoch_s=(1.0,), sm_clock_mhz=mhz)
        for number, mhz in enumerate(clocks)
    )
    return make_run(turns=turns, **{"group": 0, **more})


def fp32_and_bf16(fp32, bf16, **more):
    return [run(*fp32, precision="fp32"), run(*bf16, **{"precision": "bf16", **more})]


def test_the_doubt_names_the_pair_both_clocks_and_the_remedy():
    (doubt,) = clock_doubts(fp32_and_bf16((1500, 1410, 1395, 1410), (1980, 1980, 1980, 1980)))

    assert doubt == (
        "1 of 1 pairs of runs that took turns had clocks of the GPU that differ by more than 2 %, most of all bf16 vs "
        "fp32, PyTorch, cnn10, channels_first, batch 32, 16 px, not compiled: 1980 vs 1410 MHz. Part of their "
        "ratio is the clock's. Lock the clock (nvidia-smi -lgc), or make turns longer (turn_s)."
    )


@pytest.mark.parametrize(
    ("bf16", "doubted"), [(1019, False), (1021, True), (981, False), (979, True), (1000, False)]
)
def test_clocks_within_2_percent_are_no_doubt(bf16, doubted):
    assert bool(clock_doubts(fp32_and_bf16((1000,) * 4, (bf16,) * 4))) is doubted


def test_a_drift_that_both_share_is_no_doubt():
    """Heat lowers the clock from round to round: the pairs of each round have the same."""
    falling = (1980, 1800, 1600, 1410)

    assert clock_doubts(fp32_and_bf16(falling, falling)) == []


def test_one_odd_round_is_no_doubt():
    assert clock_doubts(fp32_and_bf16((1980,) * 4, (1980, 345, 1980, 1980))) == []


@pytest.mark.parametrize(
    "apart",
    [
        {"group": 1},
        {"part": "compute"},
        {"subgroup": 1},
        {"block": 1},
        {"study": "amp"},
        {"session": "s2"},
        {"status": Status.OOM},
    ],
)
def test_only_runs_that_took_turns_with_one_another_are_pairs(apart):
    assert clock_doubts(fp32_and_bf16((1000,) * 4, (2000,) * 4, **apart)) == []


def test_runs_without_a_clock_are_no_pairs():
    assert list(paired_clocks(fp32_and_bf16((None,) * 4, (1980,) * 4))) == []


def test_of_many_pairs_the_one_that_differs_most_is_named():
    runs = [run(1000, batch_size=8), run(1010, batch_size=16), run(1200, batch_size=32)]
    (doubt,) = clock_doubts(runs)

    assert doubt.startswith("2 of 3 pairs")
    assert "batch 32 vs batch 8, PyTorch" in doubt
    assert "1200 vs 1000 MHz" in doubt


def held_down(*reasons, **more):
    turns = tuple(
        Turn(round=number, place=0, start_s=0.0, epoch_s=(1.0,), throttle_reasons=text)
        for number, text in enumerate(reasons)
    )
    return make_run(turns=turns, **{"group": 0, **more})


CAPPED, FREE = "sw_power_cap", ""


def test_a_power_limit_that_holds_one_arm_down_more_than_the_other_is_a_doubt():
    runs = [
        held_down(FREE, FREE, CAPPED, FREE, precision="fp32"),
        held_down(*[f"hw_slowdown|{CAPPED}"] * 4, precision="bf16"),
    ]
    (doubt,) = clock_doubts(runs)

    assert doubt == (
        "In 1 of 1 pairs of runs that took turns the power limit of the GPU held down one arm more than the other, "
        "most of all bf16 vs fp32, PyTorch, cnn10, channels_first, batch 32, 16 px, not compiled: in 4 vs 1 of "
        "4 turns. Their ratio holds at this power limit (nvidia-smi -q -d POWER); at another one it may differ."
    )


@pytest.mark.parametrize(
    ("fp32", "bf16"),
    [
        ([CAPPED] * 4, [CAPPED] * 4),
        ([FREE] * 4, [CAPPED, FREE, FREE, FREE]),
        ([FREE] * 4, ["sw_thermal_slowdown"] * 4),
        ([None] * 4, [CAPPED] * 4),
    ],
)
def test_a_power_limit_that_holds_both_alike_or_one_at_times_is_no_doubt(fp32, bf16):
    assert clock_doubts([held_down(*fp32, precision="fp32"), held_down(*bf16, precision="bf16")]) == []


def test_the_doubt_is_one_of_the_study_from_its_ledger(tmp_path):
    ledger = Ledger(tmp_path)
    for measured in fp32_and_bf16((1000,) * 4, (2000,) * 4):
        ledger.append(measured)
    runs, _ = ledger.read()

    assert set(clock_doubts(runs)) <= set(study_doubts(runs, []))
    assert clock_doubts(runs)
