"""Runs as a set: roles, sessions, trials."""

from dataclasses import replace
from pathlib import Path

import pytest

from study_data import make_run, make_trial
from trainspeed.core.coverage import Coverage
from trainspeed.core.run import DATA_ROLES, Role, Status
from trainspeed.core.runs import Measured, RunSet


def run_set(*runs):
    return RunSet(tuple(runs))


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.RECIPE_STEP])
def test_a_label_says_what_a_run_is_for(role):
    run = make_run(label=role.value)

    assert run.role is role
    assert (len(run_set(run).data()) == 1) == (role in DATA_ROLES)


def test_a_step_of_the_recipe_is_told_by_how_its_label_begins():
    assert make_run(label="recipe: devices").role is Role.RECIPE_STEP


def test_the_newest_session_counts_and_of_a_run_that_was_repeated_the_last():
    old, crashed, again = (
        make_run(session="20260101"),
        make_run(session="20260201", status=Status.CRASHED),
        make_run(session="20260201"),
    )

    assert run_set(old, crashed, again).newest().runs == (again,)
    assert run_set().newest().runs == ()


def test_what_ran_beside_other_batch_sizes_is_data_of_its_trial_where_there_is_no_other():
    """Charts had it as a point of a line, tables and verdicts said that there was no time for it."""
    alone, beside = (make_run(label=Role.ANCHOR, batch_size=size) for size in (16, 32))
    own = make_run(batch_size=32)
    elsewhere = make_run(batch_size=16, study="amp")

    found = run_set(alone, beside, own, elsewhere).with_anchors_as_data()

    assert [run.role for run in found] == [Role.DATA, Role.ANCHOR, Role.DATA, Role.DATA]
    assert found[0] == replace(alone, label="") and found.on_lines().runs == (found[0], elsewhere, beside)


def test_the_same_run_in_two_studies_is_two_runs():
    runs = run_set(make_run(study="layout"), make_run(study="amp"))

    assert len(runs.last_of_each()) == 2


def test_trials_are_found_as_they_were_asked_for():
    """The data set that "auto" stood for and the number of workers depend on the machine."""
    asked = make_trial(dataset="auto", pipeline="threads", workers=1, augment=True)
    ran = make_run(dataset="digits", pipeline="threads", workers=8, augment=True, seed=3)
    other = make_run(dataset="digits", batch_size=8)

    assert run_set(ran, other).of([asked]).runs == (ran,)


def test_two_trials_that_differ_in_their_workers_alone_are_told_apart_where_both_ran():
    """On two cores a search tries 1 and 2 workers: what the one cost was told of both together."""
    threads = {"pipeline": "threads", "augment": True}
    one, two = (make_run(dataset="digits", workers=count, **threads) for count in (1, 2))
    asked = [make_trial(dataset="auto", workers=count, **threads) for count in (1, 2)]

    assert [run_set(one, two).of_trial(trial).runs for trial in asked] == [(one,), (two,)]
    assert run_set(one).of_trial(asked[1]).runs == (one,), "drawn where there are more cores"


def test_runs_of_a_trial_belong_together_whatever_their_seed():
    one, two, other = make_run(seed=1, block=1), make_run(seed=2, block=2), make_run(batch_size=8)
    arms = run_set(one, other, two).by_trial()

    assert [arm.runs for arm in arms.values()] == [(one, two), (other,)]


def test_a_median_is_of_the_runs_that_ended_well_and_have_the_value():
    runs = [make_run(seconds, block=block) for block, seconds in enumerate((1.0, 2.0, 9.0))]
    failed = replace(make_run(100.0, block=3), status=Status.OOM)
    (value,) = run_set(*runs, failed).medians(lambda run: run.median_epoch_s).values()

    assert value == runs[1].median_epoch_s
    assert run_set(failed).medians(lambda run: run.median_epoch_s) == {}


def test_how_long_measuring_took_is_the_time_that_was_counted_against_its_limit():
    """Without a limit it is what the runs took."""
    run = replace(make_run(), epoch_s=(3.0, 6.0), stages_s={"start": 3.0, "train": 9.0})
    measured = Measured((run,), "layout", "20260101", out=Path(), folder=Path())
    coverage = Coverage(session="20260101", study="layout", budget_s=60, spent_s=18, groups=())

    assert measured.summary() == "1 run measured in 12 s, 50 % of it inside what was timed."
    assert replace(measured, coverage=coverage).summary() == (
        "1 run measured in 18 s, 33 % of it inside what was timed."
    )


@pytest.mark.parametrize(("epoch_s", "said"), [((1.0, 2.0), True), ((), False)])
def test_how_much_was_timed_is_said_only_where_something_was(epoch_s, said):
    """A probe times nothing that is compared."""
    run = replace(make_run(), epoch_s=epoch_s, stages_s={"build": 3.0})
    measured = Measured((run,), "check", "20260101", out=Path(), folder=Path())

    assert measured.wall_s and ("inside what was timed" in measured.summary()) == said
