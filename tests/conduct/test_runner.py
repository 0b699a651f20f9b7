"""The runner with workers that only pretend: what it asks of them, and which lines it writes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from fake_runner import TRIALS, FakeWorker, measure_all, runner
from study_data import no_use_after
from trainspeed.conduct.context import SHARES_HEAD
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet, still_to_do
from trainspeed.conduct.schedule import schedule
from trainspeed.conduct.turn_plan import TurnPlan
from trainspeed.conduct.worker_process import Unavailable
from trainspeed.core.ledger import Ledger
from trainspeed.core.notes import EndedAfterMeasuring, NotInspected, OnHeadNode
from trainspeed.core.result import Failure, RunResult
from trainspeed.core.run import Role, Status
from trainspeed.core.trial import Trial
from trainspeed.worker.request import Request


@pytest.fixture
def log():
    return []


def test_workers_start_side_by_side_before_anything_is_measured(tmp_path, log):
    """An import beside a measured epoch would disturb it."""
    one = runner(tmp_path, log)
    one.start_all(TRIALS)
    measure_all(one, TrialSet(trials=TRIALS, blocks=1))

    assert log[:2] == [("ready", "torch"), ("ready", "jax")]
    assert len(log) == 4, "no worker was started twice"


def test_a_line_is_in_the_ledger_before_the_next_run(tmp_path, log):
    one = runner(tmp_path, log)
    first, second = schedule([TrialSet(trials=TRIALS, blocks=1)], seed=0)
    one.measure(first)

    assert [run.trial for run in Ledger(tmp_path).read()[0]] == [first.trial]
    one.measure(second)
    assert len(Ledger(tmp_path).read()[0]) == 2


def test_accuracy_is_asked_for_in_the_blocks_meant(tmp_path, log):
    measure_all(runner(tmp_path, log, accuracy_blocks=2), TrialSet(trials=TRIALS[:1], blocks=3))

    requests = [entry for entry in log if not isinstance(entry, tuple)]
    assert [r.evaluate for r in requests] == [True, True, False]


def test_what_only_chooses_is_not_evaluated(tmp_path, log):
    """A search says what accuracy costs from its fresh blocks alone; one block of a line tells no accuracies apart."""
    for label in ("screen: 1", "feasible", "recipe", "plain again", ""):
        measure_all(runner(tmp_path, log), TrialSet(trials=TRIALS[:1], blocks=1, label=label))
    line = TrialSet(trials=TRIALS[:1], anchors=TRIALS[:1], blocks=1, lines=True)
    measure_all(runner(tmp_path, log), line)
    measure_all(runner(tmp_path, log), replace(line, anchors=(), blocks=6))

    requests = [entry for entry in log if not isinstance(entry, tuple)]
    assert [r.evaluate for r in requests] == [
        False,
        False,
        True,
        False,
        True,
        False,
        False,
        True,
        *[False] * 5,
    ]


@pytest.mark.parametrize(("limit_s", "given_s"), [(None, 9), (2.5, 2.5), (20.0, 9)])
def test_a_run_has_the_studys_time_or_less(tmp_path, log, monkeypatch, limit_s, given_s):
    asked, run = [], FakeWorker.run
    monkeypatch.setattr(FakeWorker, "run", lambda own, request, s: (asked.append(s), run(own, request, s))[1])
    measure_all(runner(tmp_path, log), TrialSet(trials=TRIALS[:1], blocks=1, limit_s=limit_s))

    assert asked == [given_s]


def test_a_program_is_looked_at_until_it_was_seen_once(tmp_path, log):
    """Inspecting takes seconds: not at every batch size, but again where the first attempt failed."""
    other_batch = tuple(replace(trial, batch_size=trial.batch_size * 2) for trial in TRIALS[:1])
    crash = RunOutcome(status=Status.CRASHED, reason="why")
    seen = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(1.0, 1.0, 1.0), layers=()))
    start = lambda name: FakeWorker(log, name, [crash, seen, seen, seen])  # noqa: E731
    measure_all(runner(tmp_path, log, start), TrialSet(trials=TRIALS[:1] + other_batch, blocks=2))

    requests = [entry for entry in log if not isinstance(entry, tuple)]
    assert [r.inspect for r in requests] == [True, True, False, False]


def test_all_is_compiled_anew_in_the_first_block_but_what_a_search_tries_together(tmp_path, log):
    for label in (Role.DATA, Role.TOGGLE):
        measure_all(runner(tmp_path, log), TrialSet(trials=TRIALS[:1], blocks=3, label=label))

    requests = [entry for entry in log if not isinstance(entry, tuple)]
    assert [r.compile_anew for r in requests] == [True, *5 * [False]]


@pytest.mark.parametrize(
    "note",
    [
        NotInspected(error="KeyError", message="no such layer"),
        EndedAfterMeasuring(stage="inspect", status="crashed", message="SIGSEGV"),
    ],
)
def test_a_program_that_could_not_be_looked_at_is_not_looked_at_again(tmp_path, log, note):
    """What ended one run would end one of each block."""
    kept = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(1.0, 1.0, 1.0), notes=(note,)))
    start = lambda name: FakeWorker(log, name, [kept])  # noqa: E731
    runs = measure_all(runner(tmp_path, log, start), TrialSet(trials=TRIALS[:1], blocks=3))

    requests = [entry for entry in log if not isinstance(entry, tuple)]
    assert [r.inspect for r in requests] == [True, False, False]
    assert [run.status for run in runs] == [Status.OK] * 3
    assert Ledger(tmp_path).read()[0][0].notes == (note,)


def test_an_evaluation_that_ended_a_run_is_not_tried_in_its_later_blocks(tmp_path, log):
    note = EndedAfterMeasuring(stage="evaluate", status="timeout", message="not finished after 9 s")
    kept = RunOutcome(status=Status.OK, result=RunResult(epoch_s=(1.0, 1.0, 1.0), notes=(note,)))
    start = lambda name: FakeWorker(log, name, [kept])  # noqa: E731
    measure_all(runner(tmp_path, log, start, accuracy_blocks=3), TrialSet(trials=TRIALS[:1], blocks=3))

    requests = [entry for entry in log if not isinstance(entry, tuple)]
    assert [(r.evaluate, r.inspect) for r in requests] == [(True, True), (False, True), (False, True)]


def test_only_the_run_with_that_label_leaves_the_allocation_alone(tmp_path, log):
    parts = (
        TrialSet(trials=TRIALS[:1], blocks=1),
        TrialSet(trials=TRIALS[:1], blocks=1, label=Role.ALLOCATION),
    )
    runs = measure_all(runner(tmp_path, log), *parts)

    asked = {r.label: q.default_allocation for r, q in zip(runs, log[1:], strict=True)}
    assert asked == {"": False, Role.ALLOCATION: True}


@pytest.mark.parametrize("status", [Status.OOM, Status.TIMEOUT, Status.UNSUPPORTED])
def test_what_would_end_the_same_again_is_not_tried_again(tmp_path, log, status):
    start = lambda name: FakeWorker(log, name, [RunOutcome(status=status, reason="why")])  # noqa: E731
    runs = measure_all(runner(tmp_path, log, start), TrialSet(trials=TRIALS[:1], blocks=3))

    assert [run and run.status for run in runs] == [status, None, None]
    assert runs[0].reason == "why"


@pytest.mark.parametrize(
    ("device", "ended"), [("gpu", ["ok", "unsupported"]), ("cpu", ["ok", "ok", "unsupported"])]
)
def test_a_framework_that_cannot_use_these_gpus_is_one_row(tmp_path, log, device, ended):
    """Not the same failure for every trial."""
    failure = Failure(stage="build", cause="no_kernels")
    failed = RunOutcome(status=Status.UNSUPPORTED, reason="no kernel image", failure=failure)
    start = lambda name: FakeWorker(log, name, [failed] if name == "torch" else [])  # noqa: E731
    one = runner(tmp_path, log, start, device=device)
    runs = measure_all(one, TrialSet(trials=(*TRIALS, replace(TRIALS[0], batch_size=16)), blocks=1))

    assert sorted(run.status for run in runs if run) == ended


def test_a_second_gpu_that_a_framework_cannot_use_leaves_it_the_first(tmp_path, log):
    failure = Failure(stage="build", cause="no_kernels")
    failed = RunOutcome(status=Status.UNSUPPORTED, reason="no kernel image", failure=failure)
    one = runner(tmp_path, log, lambda name: FakeWorker(log, name, [failed]), device="gpu")
    both = replace(TRIALS[0], devices=2, strategy="data_parallel")

    trials = both, replace(both, batch_size=16), TRIALS[0]
    (runs,) = zip(*(measure_all(one, TrialSet(trials=(trial,), blocks=1)) for trial in trials), strict=True)

    assert [run and run.status for run in runs] == ["unsupported", None, "ok"]


def test_a_crash_is_tried_again_in_the_next_block_by_a_new_worker(tmp_path, log):
    workers = iter([FakeWorker(log, "torch", dies=True), FakeWorker(log, "torch")])
    runs = measure_all(
        runner(tmp_path, log, lambda name: next(workers)), TrialSet(trials=TRIALS[:1], blocks=2)
    )

    assert [run.status for run in runs] == [Status.CRASHED, Status.OK]
    assert ("closed", "torch") in log


def test_a_trial_that_crashes_alike_in_each_block_is_given_up_after_three(tmp_path, log):
    """And a resumed report does not take it up again."""
    crash = RunOutcome(
        status=Status.CRASHED, reason="killed", failure=Failure(stage="build", error="SIGSEGV")
    )
    one = runner(tmp_path, log, lambda name: FakeWorker(log, name, [crash] * 9))
    part = TrialSet(trials=TRIALS[:1], blocks=6)

    runs = [run for run in measure_all(one, part) if run]

    assert [run.is_final for run in runs] == [False, False, True]
    assert Ledger(tmp_path).read()[0][-1].reason.endswith("3 times in a row and is not tried again")
    assert still_to_do(schedule([part], seed=0), runs, no_use_after(runs)) == ()


def test_a_framework_that_is_not_there_is_one_row_with_the_reason(tmp_path, log):
    def start(name):
        if name == "jax":
            raise Unavailable("it is not installed here")
        return FakeWorker(log, name)

    runs = measure_all(runner(tmp_path, log, start), TrialSet(trials=TRIALS, blocks=3))

    missing = [run for run in runs if run and run.trial.framework == "jax"]
    assert [(run.status, run.reason) for run in missing] == [
        (Status.UNSUPPORTED, "jax: it is not installed here")
    ]
    assert sum(run is not None and run.status == Status.OK for run in runs) == 3


def test_however_the_block_is_left_the_workers_are_closed(tmp_path, log):
    with pytest.raises(KeyboardInterrupt), closing(runner(tmp_path, log)) as one:
        one.start_all(TRIALS)
        raise KeyboardInterrupt

    assert sorted(entry for entry in log if entry[0] == "closed") == [("closed", "jax"), ("closed", "torch")]


# Runs of a group, in turns.


def group_of(*batch_sizes):
    fields = {"framework": "torch", "model": "cnn10", "layout": "channels_last", "images_per_epoch": 64}
    trials = tuple(Trial(**fields, batch_size=size, epochs=3) for size in batch_sizes)
    return schedule([TrialSet(trials=trials, blocks=1, factors=("batch_size",))], seed=0)


def test_the_runs_of_a_group_are_begun_together_and_are_lines_when_all_have_ended(tmp_path, log):
    runs = runner(tmp_path, log).measure_group(group_of(8, 16))
    first, second = (entry for entry in log if isinstance(entry, Request))

    assert (first.turns, second.turns) == (True, True)
    assert [run.status for run in runs] == [Status.OK] * 2
    assert [run.key for run in Ledger(tmp_path).read()[0]] == [run.key for run in runs]


def test_the_runs_of_a_group_tell_the_pace_of_those_to_come(tmp_path, log, monkeypatch):
    learned = []
    monkeypatch.setattr(TurnPlan, "learn", lambda plan, runs: learned.extend(runs))

    assert runner(tmp_path, log).measure_group(group_of(8, 16)) == learned != []


def test_an_arm_whose_worker_cannot_be_started_again_is_a_row_and_no_end(tmp_path, log):
    """The arm before it took the worker along, and now the machine lacks what an import takes."""
    workers = [FakeWorker(log, "torch", dies=True)]

    def start(name):
        if not workers:
            raise Unavailable("it could not be imported")
        return workers.pop()

    runs = runner(tmp_path, log, start).measure_group(group_of(8, 16))

    assert [(run.status, run.reason) for run in runs] == [
        (Status.CRASHED, "the worker was killed"),
        (Status.CRASHED, "it could not be imported"),
    ]


def test_a_run_on_the_machine_of_a_fleets_head_says_so(tmp_path, log, monkeypatch):
    def notes():
        return {
            note
            for run in measure_all(runner(tmp_path, log), TrialSet(trials=TRIALS, blocks=1))
            for note in run.notes
        }

    assert OnHeadNode() not in notes()
    monkeypatch.setenv(SHARES_HEAD, "1")
    assert OnHeadNode() in notes()
