"""Verdicts of arms that took turns: what drifts from round to round is in both halves of every ratio."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import msgspec
import pytest

from conv2d_data import grid, make_run, make_trial
from study_data import layout_pair
from trainspeed.core.ledger import Ledger
from trainspeed.core.result import Turn
from trainspeed.core.run import Role
from trainspeed.judge.comparison import compare, controls
from trainspeed.judge.verdict import Outcome, judge
from trainspeed.studies.conv2d.findings import cpu_verdicts, residency_verdicts
from trainspeed.studies.conv2d.sweeps import crossovers

FIRST, LAST = "channels_first", "channels_last"
DRIFT = (1.0, 1.0, 2.0, 4.0)  # how much slower the machine is in each round
RATIOS = (1.31, 1.34, 1.34, 1.35, 1.34, 1.37)


def with_turns(run, seconds, **more):
    """Two epochs before the turns, then two in each, of as many seconds times the drift."""
    turns = tuple(
        Turn(round=number, place=0, start_s=10.0 * number, epoch_s=(seconds * slow,) * 2)
        for number, slow in enumerate(DRIFT)
    )
    epoch_s = (3 * seconds, seconds, *(s for turn in turns for s in turn.epoch_s))
    return replace(run, turns=turns, epoch_s=epoch_s, **{"group": 0, **more})


def in_turns(ratios, **more):
    return [with_turns(run, run.epoch_s[1], **more) for run in layout_pair(ratios)]


def by_layout(runs):
    (verdict,) = compare(runs, "layout", FIRST, LAST, question="Does it?")
    return verdict


def test_a_drift_from_round_to_round_is_in_no_ratio():
    verdict = by_layout(in_turns(RATIOS))

    assert (verdict.outcome, verdict.speedup) == (Outcome.FASTER, pytest.approx(1.34))
    assert (verdict.low, verdict.high) == pytest.approx((1.31, 1.37))


def test_one_disturbed_round_costs_nothing():
    """The ratio of a block is the median over its rounds."""
    runs = in_turns(RATIOS)
    slow = msgspec.structs.replace(runs[0].turns[1], epoch_s=(99.0, 99.0))
    turns = (runs[0].turns[0], slow, *runs[0].turns[2:])

    assert by_layout([replace(runs[0], turns=turns), *runs[1:]]).speedup == pytest.approx(1.34)


@pytest.mark.parametrize("apart", ["group", "subgroup"])
def test_runs_of_two_groups_are_compared_by_their_medians(apart):
    """They were not alive together, so their rounds share nothing."""
    runs = in_turns(RATIOS)
    moved = [replace(run, **{apart: 1}) if run.trial.layout == LAST else run for run in runs]
    without = [replace(run, turns=()) for run in runs]

    assert by_layout(moved).judgement == by_layout(without).judgement


def test_a_ledgers_turns_give_the_verdict_again(tmp_path):
    """By hand from the lines: median over rounds, then the verdict over blocks."""
    ledger = Ledger(tmp_path)
    for run in in_turns(RATIOS):
        ledger.append(run)
    runs, _ = ledger.read()
    arms = {
        layout: {run.block: run for run in runs if run.trial.layout == layout} for layout in (FIRST, LAST)
    }
    ratios = [
        median(
            median(one.epoch_s) / median(other.epoch_s)
            for one, other in zip(arms[FIRST][block].turns, arms[LAST][block].turns, strict=True)
        )
        for block in arms[FIRST]
    ]
    by_hand = judge(ratios, [1.0] * len(ratios))
    verdict = by_layout(runs)

    assert ratios == pytest.approx(RATIOS)
    assert (verdict.speedup, verdict.low, verdict.high, verdict.outcome) == (
        pytest.approx(by_hand.speedup),
        pytest.approx(by_hand.low),
        pytest.approx(by_hand.high),
        by_hand.outcome,
    )


# Convolutions.

RESIDENT = 0.5  # of a call
DEVICE, CPU = make_trial("tensorflow", images=8), make_trial("scipy_signal", images=8)


def calling(trial, seconds, block, **more):
    """Two warm calls and one that stays on the device in each turn."""
    turns = tuple(
        Turn(
            round=number,
            place=0,
            start_s=10.0 * number,
            end_s=10.0 * number + 1,
            call_s=(seconds * slow,) * 2,
            resident_s=(RESIDENT * seconds * slow,) if trial is DEVICE else (),
        )
        for number, slow in enumerate(DRIFT)
    )
    run = make_run(trial, block=block, group=0, **more)
    kinds = {name: tuple(s for t in turns for s in getattr(t, name)) for name in ("call_s", "resident_s")}
    return replace(run, turns=turns, **kinds)


def one_round_less(run, number):
    """As if the run had lost this turn: the medians of all its calls are another round's."""
    turns = tuple(turn for turn in run.turns if turn.round != number)
    return replace(run, turns=turns, call_s=tuple(s for turn in turns for s in turn.call_s))


def called():
    """The device as much faster as `RATIOS` say; it lost the slowest round, the CPU the fastest."""
    return [
        run
        for block, ratio in enumerate(RATIOS)
        for run in (
            one_round_less(calling(DEVICE, 1.0, block, label=str(Role.CONTROL)), 3),
            calling(DEVICE, 1.0, block, label=str(Role.CONTROL_AGAIN)),
            one_round_less(calling(CPU, ratio, block), 0),
        )
    ]


def test_a_ledgers_turns_give_the_verdict_on_calls_again(tmp_path):
    """By hand from the lines; the medians of all calls would say something else."""
    ledger = Ledger(tmp_path)
    for run in called():
        ledger.append(run)
    runs, _ = ledger.read()
    assert [run.turns for run in runs] == [run.turns for run in called()]
    device, cpu = (
        {run.block: {turn.round: median(turn.call_s) for turn in run.turns} for run in runs if is_arm(run)}
        for is_arm in (
            lambda run: run.label == Role.CONTROL,
            lambda run: run.trial.library == CPU.library,
        )
    )
    ratios = [
        median(
            cpu[block][number] / device[block][number] for number in cpu[block].keys() & device[block].keys()
        )
        for block in cpu
    ]
    by_hand = judge(ratios, [1.0] * len(ratios))
    (verdict,) = cpu_verdicts(runs, [DEVICE, CPU])

    assert ratios == pytest.approx(RATIOS)
    assert (verdict.speedup, verdict.low, verdict.high, verdict.outcome) == (
        pytest.approx(by_hand.speedup),
        pytest.approx(by_hand.low),
        pytest.approx(by_hand.high),
        Outcome.FASTER,
    )
    assert cpu[0].keys() != device[0].keys()


def test_the_control_and_calls_that_stay_on_the_device_are_paired_by_round_too():
    runs = called()
    (control,) = controls(runs)
    (staying,) = residency_verdicts(runs, [DEVICE])

    assert (control.low, control.high) == pytest.approx((1.0, 1.0))
    assert (staying.low, staying.high) == pytest.approx((1 / RESIDENT, 1 / RESIDENT))


def test_so_is_what_a_crossover_is_made_of():
    sizes = grid(["tensorflow"], ["scipy_signal"], {"images": [8]}, height=DEVICE.height, width=DEVICE.width)
    (sweep,) = crossovers(called(), sizes)

    assert [point.speedup for point in sweep.crossover.points] == [pytest.approx(1.34)]
