"""What a study measures next, depending on its runs: in the same session, by the same workers, and to an end."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asking_study import Asking, measured, part_of, trial_of
from trainspeed.conduct.forecast import read_plan
from trainspeed.conduct.forked_run import RunOutcome
from trainspeed.conduct.plan import TrialSet
from trainspeed.core.errors import PlanOnly
from trainspeed.core.ledger import Ledger, append_line
from trainspeed.core.run import Status

# In the same session.


def test_what_is_asked_for_next_is_measured_by_the_same_workers(workers, monitors, tmp_path):
    more = Asking([part_of(4, blocks=2)], [part_of(2)])
    result = measured(tmp_path, more, part_of(8, blocks=2))

    assert workers.measured == [(8, 0), (8, 1), (4, 0), (4, 1), (2, 0)]
    assert (len(workers.started), workers.closed, len(monitors)) == (1, 1, 1)
    assert [run.trial.batch_size for run in result.runs] == [8, 8, 4, 4, 2]
    assert {(run.session, run.study) for run in result.runs} == {("s1", "s")}
    assert Ledger(tmp_path).read()[0] == result.runs


def test_each_time_it_is_shown_every_run_so_far(workers, tmp_path):
    more = Asking([part_of(4)], [part_of(2)])
    measured(tmp_path, more, part_of(8, blocks=2))

    assert more.shown == [[8, 8], [8, 8, 4], [8, 8, 4, 2]]


def test_it_is_asked_only_when_all_that_was_planned_is_done(workers, tmp_path):
    more = Asking()
    measured(tmp_path, more, part_of(8, blocks=3), part_of(4))

    assert [sorted(sizes) for sizes in more.shown] == [[4, 8, 8, 8]]


def test_a_framework_that_only_more_asks_for_gets_a_worker_then(workers, tmp_path):
    result = measured(tmp_path, Asking([part_of(8, framework="tensorflow")]), part_of(8))

    assert [run.trial.framework for run in result.runs] == ["torch", "tensorflow"]
    assert (len(workers.started), workers.closed) == (2, 2)


def test_a_data_set_is_resolved_in_what_is_asked_for_next(workers, tmp_path):
    result = measured(tmp_path, Asking([part_of(4)]), part_of(8))
    auto = replace(trial_of(batch_size=2, images_per_epoch=16), dataset="auto")
    more = Asking([TrialSet(trials=(auto,), blocks=1)])
    later = measured(tmp_path, more, part_of(8), id="s2")

    assert {run.trial.dataset for run in result.runs} == {"digits"}
    assert later.runs[-1].trial.dataset != "auto"


# What has been measured already.


def test_what_is_measured_already_is_not_repeated(workers, tmp_path):
    """Where more blocks of the same trial are asked for, only the missing ones are measured."""
    measured(tmp_path, Asking([part_of(8, 4, blocks=3)]), part_of(8, blocks=2))

    assert sorted(workers.measured) == [(4, 0), (4, 1), (4, 2), (8, 0), (8, 1), (8, 2)]


def test_it_ends_when_all_that_is_asked_for_is_there(workers, tmp_path):
    more = Asking([part_of(8)], for_ever=True)
    measured(tmp_path, more, part_of(8))

    assert workers.measured == [(8, 0)]
    assert len(more.shown) == 1


@pytest.mark.parametrize("parts", [[], [TrialSet(trials=(), blocks=1)]])
def test_it_ends_when_nothing_is_asked_for(workers, tmp_path, parts):
    measured(tmp_path, Asking(parts, for_ever=True), part_of(8))

    assert workers.measured == [(8, 0)]


@pytest.mark.parametrize("status", [Status.OOM, Status.TIMEOUT, Status.UNSUPPORTED, Status.INVALID])
def test_it_ends_when_all_that_is_asked_for_is_hopeless(workers, tmp_path, status):
    fine = workers.ends
    workers.ends = lambda r: RunOutcome(status=status, reason="x") if r.trial.batch_size == 4 else fine(r)
    more = Asking([part_of(4, blocks=3)], for_ever=True)
    result = measured(tmp_path, more, part_of(8))

    assert workers.measured == [(8, 0), (4, 0)], "not in later blocks, nor when asked for again"
    assert [run.status for run in result.runs] == [Status.OK, status]


def test_it_ends_when_what_is_asked_for_crashes_each_time(workers, tmp_path):
    workers.ends = lambda request: RunOutcome(status=Status.CRASHED, reason="x")
    result = measured(tmp_path, Asking([part_of(4)], for_ever=True))

    assert workers.measured == [(4, 0)]
    assert {run.status for run in result.runs} == {Status.CRASHED}


def test_it_ends_when_the_framework_is_not_installed(workers, tmp_path, monkeypatch):
    monkeypatch.setattr("trainspeed.conduct.start.find_interpreter", lambda framework: None)
    result = measured(tmp_path, Asking([part_of(4)], for_ever=True), part_of(8))

    assert workers.measured == []
    assert [(run.trial.batch_size, run.status) for run in result.runs] == [(8, Status.UNSUPPORTED)]


def test_without_more_what_was_planned_is_all(workers, tmp_path):
    assert [run.trial.batch_size for run in measured(tmp_path, None, part_of(8)).runs] == [8]


def test_a_failure_while_asking_loses_no_run(workers, tmp_path):
    def more(runs):
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        measured(tmp_path, more, part_of(8))

    assert len(Ledger(tmp_path).read()[0]) == 1
    assert (tmp_path / "runs.csv").exists()
    assert workers.closed == 1


# Resumed, rendered, planned.


@pytest.mark.parametrize("kept", range(5))
def test_a_resumed_session_continues_where_it_was_interrupted(workers, tmp_path, kept):
    """The session was interrupted in the grid, in what was asked for next, or not at all."""
    whole = measured(tmp_path / "whole", Asking([part_of(4, blocks=2)]), part_of(8, blocks=2))
    workers.requests.clear()
    (tmp_path / "cut").mkdir()
    for run in whole.runs[:kept]:
        append_line(tmp_path / "cut/runs.jsonl", run.as_dict())
    more = Asking([part_of(4, blocks=2)], for_ever=True)
    resumed = measured(tmp_path / "cut", more, part_of(8, blocks=2), resume=True)

    assert workers.measured == [(8, 0), (8, 1), (4, 0), (4, 1)][kept:]
    assert [run.key for run in resumed.runs] == [run.key for run in whole.runs]
    assert len(more.shown[0]) == max(kept, 2), "it is shown the runs of before"


def test_another_session_does_not_count_as_measured(workers, tmp_path):
    for name in ("s1", "s2"):
        more = Asking([part_of(4)])
        measured(tmp_path, more, part_of(8), id=name)
        assert more.shown[0] == [8]

    assert workers.measured == [(8, 0), (4, 0)] * 2


def test_rendering_never_asks(workers, tmp_path):
    whole = measured(tmp_path / "a", Asking([part_of(4)]), part_of(8))
    workers.requests.clear()
    never = lambda runs: pytest.fail("asked")  # noqa: E731
    shown = measured(tmp_path / "b", never, part_of(8), id="s2", render_from=tmp_path / "a")

    assert shown.runs == whole.runs, "with what was asked for then"
    assert workers.requests == []


def test_planning_never_asks(workers, tmp_path):
    plan = tmp_path / "plan.json"
    with pytest.raises(PlanOnly):
        measured(tmp_path, lambda runs: pytest.fail("asked"), part_of(8), plan_to=plan)

    assert read_plan(plan).depends
