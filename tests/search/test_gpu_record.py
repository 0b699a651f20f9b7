"""Searches that ran on an H100, drawn again: what fresh blocks say, and what one would do with its time today."""

from __future__ import annotations

import math
from statistics import mean, median

import pytest

from trainspeed.core.ledger import Ledger
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Role
from trainspeed.core.runs import RunSet
from trainspeed.judge.comparison import controls
from trainspeed.judge.verdict import Outcome
from trainspeed.search.asking import Asking, continued
from trainspeed.search.candidates import candidates
from trainspeed.search.findings import Decision
from trainspeed.search.search import Search
from trainspeed.search.switch import plain_trial
from trainspeed.studies.switches.text import fate_sentences

LEVERS = (
    "layout",
    "precision=bf16",
    "compile",
    "compile_mode=reduce-overhead",
    "pure_bf16",
    "optimizer=fused",
    "resident",
)
FIELDS = {"batch_size": 256, "image_size": 32, "images_per_epoch": 10240, "epochs": 4, "dataset": "auto"}
BUDGET_S = 376.1


def recorded(name: str) -> RunSet:
    """Return all runs of a record."""
    return RunSet(Ledger(ROOT / "data/measured" / name).read()[0])


@pytest.fixture(scope="module")
def runs() -> RunSet:
    """All runs of the record."""
    return recorded("nvidia-h100-confirmed")


@pytest.fixture(scope="module")
def plain() -> Search:
    """The search before its first run."""
    start = plain_trial("torch", "cnn10", **FIELDS)
    there = candidates(start, "gpu", 1, LEVERS, cores=16, gpu_bytes=85_520_809_984)
    return Search(start, there, confirm_blocks=9)


@pytest.fixture(scope="module")
def search(plain, runs) -> Search:
    """The search with all of its runs."""
    return continued([plain], runs)[0]


def named(switches) -> set[str]:
    return {switch.words for switch in switches}


def test_every_run_ended_well(runs):
    assert {run.status for run in runs} == {"ok"} and len(runs) == 62


def test_fresh_blocks_confirm_what_is_faster(search):
    total = search.confirmation.total
    assert (total.outcome, total.blocks) == (Outcome.FASTER, 9)
    assert 1 < total.low < total.speedup < total.high


def test_the_plain_trial_beside_itself_is_no_faster(runs):
    fresh = next(one for one in controls(runs) if one.blocks == 9)
    assert fresh.low <= 1 <= fresh.high and fresh.high / fresh.low < 1.1


def test_what_looked_slower_beside_the_other_one_is_no_line_to_paste(search):
    """bf16 by autocast keeps the host busy, for which this GPU waits: channels_last is faster without it."""
    assert named(search.confirmation.on) == {"channels_last", "bf16"}
    assert named(search.kept) == {"channels_last"}
    assert (
        search.rest.time.outcome is Outcome.FASTER
        and search.rest.time.low > search.confirmation.total.speedup
    )
    assert Decision.LOOKED_SLOWER in search.decisions.values()


def test_what_the_fresh_blocks_were_without_wants_time_whatever_was_thrown_out_of_them(search):
    graphs = [one for one in fate_sentences([search.findings], None) if "CUDA graphs" in one]
    assert len(graphs) == 1 and "not confirmed: CUDA graphs; the fresh blocks were without: " in graphs[0]


def test_what_brings_most_has_its_fresh_blocks_now(plain, runs):
    """After its first looks the search tried CUDA graphs beside the rest, and had no time to confirm them."""
    before = [
        run for run in runs if run.role not in (Role.TOGETHER, Role.RECIPE, Role.PLAIN_AGAIN, Role.SLOW_WAY)
    ]
    tried = {run.trial: run for run in runs if run.role is Role.TOGETHER}
    (with_it,) = (run for trial, run in tried.items() if trial.levers)
    (without,) = (run for trial, run in tried.items() if not trial.levers)
    assert without.median_s / with_it.median_s > 2

    (wanted,) = Asking([plain], BUDGET_S)(before)

    assert wanted.label == Role.RECIPE
    assert any(("compile_mode", "reduce-overhead") in trial.levers for trial in wanted.trials)
    graphs = next(s for s in plain.candidates.switches if s.lever == "compile_mode")
    alone = continued([plain], before)[0].elimination.estimates[graphs]
    assert alone.log > math.log(1.5)


@pytest.fixture(scope="module")
def best() -> RunSet:
    """All runs of a search with the same levers that had time for CUDA graphs in fresh blocks."""
    return recorded("nvidia-h100-best")


def test_cuda_graphs_are_confirmed_in_fresh_blocks_with_what_was_kept_beside_them(plain, best):
    search = continued([plain], best)[0]
    total = search.confirmation.total

    assert (total.outcome, total.blocks) == (Outcome.FASTER, 6) and total.low > 2.5
    graphs = {"channels_last", "compiled", "CUDA graphs", "weights and images in bf16, no autocast"}
    assert named(search.kept) == graphs


def test_what_is_claimed_is_the_ratio_of_turns_of_the_same_round(plain, best):
    """By hand, without the code that judges: the median over blocks of the median over rounds."""
    total = continued([plain], best)[0].confirmation.total
    blocks = {}
    for run in best.role(Role.RECIPE):
        blocks.setdefault(run.block, {})["set" if run.trial.compile else "plain"] = run
    ratios = [
        median(
            mean(slow.epoch_s) / mean(fast.epoch_s)
            for slow, fast in zip(of["plain"].turns, of["set"].turns, strict=True)
        )
        for of in blocks.values()
    ]

    assert len(ratios) == 6 and median(ratios) == pytest.approx(total.speedup, rel=0.02)
    assert total.low >= 0.99 * min(ratios) and total.high <= 1.01 * max(ratios)
