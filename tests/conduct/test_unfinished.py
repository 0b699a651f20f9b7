"""A study that is interrupted in JupyterLab, and run again there: workers only pretend."""

from __future__ import annotations

import fcntl

import pytest

import asking_study
from asking_study import Asking, measured, part_of
from trainspeed.conduct import context, study
from trainspeed.conduct.plan import Plan, planner
from trainspeed.conduct.unfinished import FOLDER, plan_id
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger


@pytest.fixture
def interrupted(workers, tmp_path):
    """Measure one of two blocks by hand, as session s1; return the folder."""
    real = workers.ends

    def ends(request):
        if len(workers.requests) > 1:
            raise KeyboardInterrupt
        return real(request)

    workers.ends = ends
    with pytest.raises(
        KeyboardInterrupt, match=r"^s: interrupted\. What was measured is kept: run this cell again"
    ):
        by_hand(tmp_path, part_of(8, blocks=2))
    workers.ends = real
    return tmp_path


def by_hand(out, *parts, session="s1", **options):
    return measured(out, Asking(), *parts, id=session, by_hand=True, **options)


def sessions_and_blocks(out):
    return [(run.session, run.block) for run in Ledger(out).read()[0]]


def test_the_next_start_measures_what_is_left_in_the_same_session(interrupted, capsys):
    again = by_hand(interrupted, part_of(8, blocks=2), session="s2")
    assert again.by_hand

    assert again.session == "s1" and [run.block for run in again.runs] == [0, 1]
    assert sessions_and_blocks(interrupted) == [("s1", 0), ("s1", 1)]
    assert "goes on with the session that did not end, and keeps its 1 run. " in capsys.readouterr().out


def test_more_blocks_may_be_asked_for_then(interrupted):
    assert [run.block for run in by_hand(interrupted, part_of(8, blocks=3), session="s2").runs] == [0, 1, 2]


def test_a_mistake_that_is_refused_meanwhile_loses_nothing(interrupted, monkeypatch):
    def refuse(*_, **__):
        raise UserError("too large for this machine.")

    with monkeypatch.context() as mistaken, pytest.raises(UserError, match="too large"):
        mistaken.setattr(study, "check_memory", refuse)
        by_hand(interrupted, part_of(16, blocks=2), session="s2")

    assert by_hand(interrupted, part_of(8, blocks=2), session="s3").session == "s1"


@pytest.mark.parametrize("sizes", [(16,), (8, 16)])
def test_another_plan_begins_anew(interrupted, sizes):
    assert by_hand(interrupted, part_of(*sizes, blocks=2), session="s2").session == "s2"


def test_what_ended_is_measured_anew(interrupted):
    for session in ("s2", "s3"):
        by_hand(interrupted, part_of(8, blocks=2), session=session)

    assert sessions_and_blocks(interrupted) == [("s1", 0), ("s1", 1), ("s3", 0), ("s3", 1)]
    assert list((interrupted / FOLDER).iterdir()) == []


def test_what_was_measured_since_then_by_a_report_counts_as_the_newer_session(interrupted):
    measured(interrupted, Asking(), part_of(8, blocks=2), id="s2")

    assert by_hand(interrupted, part_of(8, blocks=2), session="s3").session == "s3"


def test_a_report_goes_on_with_nothing_by_itself(interrupted):
    assert measured(interrupted, Asking(), part_of(8, blocks=2), id="s2").session == "s2"


def test_a_damaged_file_is_as_none(interrupted):
    (interrupted / FOLDER / "s.json").write_text('{"session": "s1", ')

    assert by_hand(interrupted, part_of(8, blocks=2), session="s2").session == "s2"


def test_a_session_that_another_notebook_is_measuring_is_left_to_it(interrupted):
    with (interrupted / FOLDER / "s.json").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert by_hand(interrupted, part_of(8, blocks=2), session="s2").session == "s2"
    assert by_hand(interrupted, part_of(8, blocks=2), session="s3").session == "s3", "s2 is newer"


def test_on_another_system_it_says_so_once_and_then_begins_anew(interrupted, monkeypatch):
    monkeypatch.setitem(asking_study.VERSIONS, "torch", {"torch": "2.16.0", "cuda": "13.0"})

    with pytest.raises(
        UserError, match=r"another system: .*2\.16\.0\)\. .* Run this cell again to begin a new"
    ):
        by_hand(interrupted, part_of(8, blocks=2), session="s2")
    assert by_hand(interrupted, part_of(8, blocks=2), session="s3").session == "s3"


def test_a_plan_that_depends_on_its_runs_is_another_one_with_other_parameters():
    @planner
    def plan(*, blocks, steps):
        return Plan(others=(part_of(8, blocks=blocks),), more=Asking())

    assert plan_id(plan(blocks=1, steps=2)) == plan_id(plan(blocks=6, steps=2))
    assert plan_id(plan(blocks=1, steps=2)) != plan_id(plan(blocks=1, steps=3))


def test_a_turn_of_another_length_is_another_plan_and_more_time_is_not():
    @planner
    def plan(*, budget_s, report):
        return Plan(others=(part_of(8),), more=Asking())

    one = plan(budget_s=60, report=object())

    assert plan_id(one, turn_s=0.6) == plan_id(plan(budget_s=900, report=object()), turn_s=0.6)
    assert plan_id(one, turn_s=0.6) != plan_id(one, turn_s=0.4)


def test_what_a_plan_asked_for_before_an_interrupt_it_asks_for_again(workers, tmp_path):
    class Once:
        """Asks for more a single time, as what then did not run found no time."""

        def __init__(self):
            self.asked = False

        def __call__(self, runs):
            first, self.asked = not self.asked, True
            return [part_of(4, blocks=2)] if first else []

    @planner
    def make():
        return Plan(others=(part_of(8),), more=Once())

    plan, real = make(), workers.ends

    def ends(request):
        if len(workers.requests) > 2:
            raise KeyboardInterrupt
        return real(request)

    def again():
        here = context.Context(id="s1", out=tmp_path, by_hand=True)
        return study.measure("s", plan, timeout_s=1, interval_s=1, context=here)

    workers.ends = ends
    with pytest.raises(KeyboardInterrupt):
        again()
    workers.ends = real

    assert [(run.trial.batch_size, run.block) for run in again().runs] == [(8, 0), (4, 0), (4, 1)]


def test_a_folder_that_cannot_be_written_to_is_one_line(workers, tmp_path):
    (tmp_path / "outputs").write_text("a file")

    with pytest.raises(UserError, match=r"^cannot write to .*/outputs: Not a directory; make it a folder"):
        by_hand(tmp_path / "outputs", part_of(8))


def test_a_command_is_told_of_another_system_as_of_any_mistake(interrupted, monkeypatch):
    monkeypatch.setitem(asking_study.VERSIONS, "torch", {"torch": "2.16.0", "cuda": "13.0"})

    with pytest.raises(UserError, match="another system") as told:
        measured(interrupted, Asking(), part_of(8, blocks=2), id="s1", resume=True)
    assert type(told.value) is UserError


@pytest.mark.parametrize(
    ("environment", "is_by_hand"),
    [
        ({}, True),
        ({"TRAINSPEED_OUT": "x"}, True),
        ({"TRAINSPEED_REPORT": "1"}, False),
        ({"TRAINSPEED_SESSION": "s"}, False),
        ({"TRAINSPEED_RENDER": "x"}, False),
    ],
)
def test_a_notebook_is_run_by_hand_where_no_command_runs_it(environment, is_by_hand):
    assert context.current(environment).by_hand is is_by_hand


def test_a_clock_that_was_set_back_is_refused_before_anything_is_measured(workers, tmp_path):
    """Else the page of the notebook would go on to show the session that is dated later."""
    for session in ("20261201T100000Z-aaaa", "20261201T100500Z-bbbb"):
        by_hand(tmp_path, part_of(8, blocks=1), session=session)

    with pytest.raises(
        UserError, match=r"a session of 20261201T100500Z, and this machine.s clock says 20261201T095900Z"
    ):
        by_hand(tmp_path, part_of(8, blocks=1), session="20261201T095900Z-cccc")

    assert len(sessions_and_blocks(tmp_path)) == 2
