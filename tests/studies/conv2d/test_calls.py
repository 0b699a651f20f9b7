"""Which runs of convolutions count, and what is read off them."""

from __future__ import annotations

import pytest

from conv2d_data import make_run, make_runs, make_trial
from trainspeed.core.run import Status
from trainspeed.studies.conv2d.calls import calls_at, calls_of, first_call_s, paired


def test_runs_that_failed_and_those_beside_the_data_do_not_count():
    trial = make_trial()
    good = make_run(trial, 1.0, block=0, label="A")
    again = make_run(trial, 9.0, block=0, label="A again")
    failed = make_run(trial, block=1, status=Status.CRASHED)

    assert {one.trial: one.runs for one in calls_of([good, again, failed]).values()} == {trial: (good,)}


def test_a_run_that_was_repeated_after_a_crash_counts_once():
    runs = [make_run(make_trial(), status=Status.CRASHED), make_run(make_trial(), 2.0)]

    (calls,) = calls_of(runs).values()
    assert calls.by_block() == {0: 2.0}


def test_blocks_of_a_trial_are_together_whatever_their_seeds():
    runs = make_runs([make_trial(seed=7)], 1.0, blocks=3)

    assert {run.trial.seed for run in runs} == {7, 8, 9}
    assert {trial: [*calls.by_block()] for trial, calls in calls_of(runs).items()} == {
        make_trial(): [0, 1, 2]
    }


def test_trials_come_by_size_then_library_then_devices():
    trials = [
        make_trial("opencv"),
        make_trial("tensorflow", devices=2),
        make_trial("tensorflow eager"),
        make_trial("tensorflow"),
        make_trial("torch", filter_size=5),
        make_trial("torch", images=12),
    ]

    assert [*calls_of(make_runs(trials, 1.0, blocks=1))] == [trials[i] for i in (5, 2, 3, 1, 0, 4)]


def test_a_value_that_no_run_has_is_no_median():
    (calls,) = calls_of(make_runs([make_trial("opencv")], 1.0)).values()

    assert calls.median(lambda run: run.median_resident_s) is None
    assert calls.median() == 1.0
    assert calls_at({}, make_trial()).runs == ()


def test_values_are_paired_in_the_blocks_that_all_have():
    runs = make_runs([make_trial()], lambda _, block: float(1 + block), blocks=3)
    runs += make_runs([make_trial("torch")], lambda _, block: 10.0 if block else None, blocks=4)
    calls = calls_of(runs)

    arms = [one.by_block() for one in calls.values()]

    assert paired(*arms) == [[2.0, 3.0], [10.0, 10.0]]
    assert paired(*arms, {}) == [[], [], []]


def test_two_times_of_the_same_runs_are_paired_where_both_were_measured():
    runs = [*make_runs([make_trial()], 2.0, blocks=2), make_run(make_trial(), 2.0, block=2, resident=None)]
    (calls,) = calls_of(runs).values()

    assert paired(calls.by_block(), calls.by_block(lambda run: run.median_resident_s)) == [
        [2.0] * 2,
        [1.0] * 2,
    ]


def test_a_first_call_is_its_stages_without_import_check_and_warm_calls():
    assert first_call_s(make_run(make_trial(), 1.0, first=7.0, import_s=99.0)) == pytest.approx(7.0)
