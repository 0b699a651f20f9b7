"""What was recorded on an H100: the numbers lie where others' public ones do, and runs say what they ran on."""

from __future__ import annotations

from statistics import median

import pytest

from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Status
from trainspeed.core.runs import RunSet
from trainspeed.judge.ceilings import ceilings_of
from trainspeed.judge.check_list import LINES
from trainspeed.judge.check_turns import agrees_with_itself
from trainspeed.judge.checks import CheckOutcome


def recorded(name: str) -> RunSet:
    """Return all runs of a record."""
    return RunSet(Ledger(ROOT / "data/measured" / name).read()[0])


@pytest.fixture(scope="module")
def runs() -> RunSet:
    """All runs of the record."""
    return recorded("nvidia-h100")


def test_every_run_ended_well_on_the_gpu(runs):
    assert {(run.status, run.machine["device"]) for run in runs} == {("ok", "gpu")}


@pytest.mark.parametrize(
    ("precision", "low", "high"), [("fp32", 40e12, 67e12), ("tf32", 300e12, 495e12), ("bf16", 600e12, 790e12)]
)
def test_what_it_multiplies_is_near_the_data_sheet_and_not_above(runs, precision, low, high):
    ceiling = ceilings_of(runs)[precision]
    assert low < ceiling.matmul_flop_per_s < high and low < ceiling.conv_flop_per_s < high


def test_what_memory_moves_is_below_the_data_sheet(runs):
    assert 2.5e12 < ceilings_of(runs)["fp32"].bandwidth_bytes_per_s < 3.35e12


def test_resnet50_trains_at_the_pace_that_others_measured(runs):
    """2,000 to 5,000 images of 224 pixels a second in 16 bits, on about two thirds of that in TF32."""
    default, strict, bf16 = (median(_resnet_per_s(runs, name)) for name in ("default", "fp32", "bf16"))
    assert 2000 < bf16 < 5000 and strict < default < bf16


def _resnet_per_s(runs: RunSet, precision: str) -> list[float]:
    return [
        run.trial.batch_size / run.step_s
        for run in runs
        if (run.trial.model, run.trial.precision) == ("resnet50", precision) and run.trial.whole_steps
    ]


@pytest.fixture(scope="module")
def searched() -> RunSet:
    """All runs of the record of switches."""
    return recorded("nvidia-h100-switches")


def test_each_of_pytorchs_levers_of_a_gpu_was_seen_in_effect(searched):
    asked = {(name, value): run.in_effect[name] for run in searched.ok() for name, value in run.trial.levers}

    assert {name for name, _ in asked} == {
        *("compile_mode", "cudnn_benchmark", "gpu_allocator", "optimizer", "pure_bf16", "resident")
    }
    assert {lever: seen for lever, (seen, _) in asked.items() if seen != lever[1]} == {}


def test_where_the_gpu_waits_for_the_host_graphs_of_its_kernels_bring_most(searched):
    """The kernels of a step take as long with them as without: what they save is the host's time."""
    (graphs,) = (run for run in searched.ok() if ("compile_mode", "reduce-overhead") in run.trial.levers)
    (compiled,) = (run for run in searched.ok() if run.trial.compile and not run.trial.levers)

    assert graphs.profile["device_s"] == pytest.approx(compiled.profile["device_s"], rel=0.05)
    assert graphs.step_s < 1.1 * graphs.profile["device_s"]
    assert compiled.step_s > 1.5 * compiled.profile["device_s"]


def test_what_did_not_end_in_its_time_is_a_row(searched):
    late = [dict(run.trial.levers)["compile_mode"] for run in searched if run.status is not Status.OK]
    assert late == ["max-autotune", "max-autotune-no-cudagraphs"]


def test_kerass_levers_on_jax_were_seen_in_effect_on_a_gpu():
    searched = recorded("nvidia-h100-jax").ok()
    assert {run.machine["device"] for run in searched} == {"gpu"}
    asked = {(name, value): run.in_effect[name] for run in searched for name, value in run.trial.levers}

    assert set(asked) == {("pure_bf16", "on"), ("steps_per_call", "epoch")}
    assert {lever: seen for lever, (seen, _) in asked.items() if seen != lever[1]} == {}
    (bf16,) = (run for run in searched if run.trial.precision == "bf16")
    assert set(bf16.effective_precision.dtypes) == {"bfloat16"}


def test_jax_built_its_models_with_the_programs_of_the_first_run_and_compiled_each_step_anew():
    searched = recorded("nvidia-h100-jax").ok()
    first, *later = sorted((run for run in searched if run.turns), key=lambda run: run.started_at)
    short = [run for run in later if run.stages_s["build"] < first.stages_s["build"] / 4]

    assert len(short) == 3  # those of the second group, whose weights are as in the first one
    assert all(run.compiled_anew and run.epoch_s[0] > 5 * run.epoch_s[1] for run in searched if run.turns)


def test_no_check_of_the_instrument_found_a_fault_there():
    """JAX's products left the GPU waiting for the host for more than half of the time: that decides nothing."""
    checked = recorded("nvidia-h100-check")
    every = [check for makers in LINES.values() for make in makers for check in make(checked)]
    by_outcome = {outcome: {c.name for c in every if c.outcome is outcome} for outcome in CheckOutcome}

    assert not by_outcome[CheckOutcome.NOT_OK]
    assert sum(check.outcome is CheckOutcome.OK for check in every) == 29
    assert by_outcome[CheckOutcome.UNDECIDED] == {
        "Energy is power times time",
        "The GPU that is read is the one that works",
        "The monitor costs little",
    }
    (itself,) = agrees_with_itself(checked)
    assert itself.outcome is CheckOutcome.OK and "half-width 5 %" in itself.measured
