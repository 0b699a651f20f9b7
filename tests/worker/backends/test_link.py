"""Sums of several sizes between two ranks of torch, which a link's constants are fitted to."""

from __future__ import annotations

import pytest

from shared_workers import SharedWorkers
from study_data import make_run, tiny_trial
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Status
from trainspeed.judge.interconnect import LinkClass
from trainspeed.judge.link_sums import fitted_points
from trainspeed.sensors.machine import logical_cores
from trainspeed.studies.multi_gpu.links import link_trials
from trainspeed.worker.sums_by_size import SIZES_BYTES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(logical_cores() < 2, reason="two devices need two CPU cores"),
]


def test_two_ranks_sum_every_size_in_times_that_a_ledger_keeps(shared_worker: SharedWorkers, tmp_path):
    """Between cores a sum is a copy: the fastest of 16 MiB takes more time than that of 4 KiB, and less than 1 s."""
    (trial,) = link_trials([tiny_trial(strategy="ddp", devices=2)], shared_memory=False)
    outcome = shared_worker("torch").run(trial, plant="few_rounds")

    assert outcome.status == Status.OK, outcome.reason
    sums = outcome.result.link_sums
    assert [one.size_bytes for one in sums] == list(SIZES_BYTES)
    assert {len(one.sum_s) for one in sums} == {trial.epochs - 1}
    assert min(sums[0].sum_s) < min(sums[-1].sum_s) < 1

    run = make_run(trial=trial, link_sums=sums)
    Ledger(tmp_path).append(run)
    (read,) = Ledger(tmp_path).read()[0]
    assert read.link_sums == sums
    assert len(fitted_points([read], LinkClass.WITHIN)) == len(SIZES_BYTES)


def test_one_process_has_nobody_to_sum_with(shared_worker: SharedWorkers):
    outcome = shared_worker("torch").run(tiny_trial(part="link"))
    assert outcome.status == Status.UNSUPPORTED
    assert "one process has nobody to exchange gradients with" in outcome.reason
