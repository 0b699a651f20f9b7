import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from trainspeed.conduct.context import Context, current, new_id
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT
from trainspeed.report.jupyter_kernel import kernel_environment


def test_a_notebook_opened_by_hand_measures_into_outputs_under_a_fresh_id():
    session = current({})
    assert session == Context(id=session.id, out=ROOT / "outputs", by_hand=True)
    assert not session.resume
    assert session.render_from is None
    assert session.plan_to is None
    assert not session.in_report
    assert session.notebook_statuses == ()
    assert current({}).id != session.id


EVERYTHING = Context(
    id="20261120T100000Z-abcd",
    out=Path("/data/out"),
    resume=True,
    render_from=Path("/data/old"),
    plan_to=Path("plan.json").resolve(),
    in_report=True,
    notebook_statuses=({"name": "amp", "status": "failed"},),
    node="a10g-1",
    hands=2,
    last=True,
    notebook="batch",
)


def test_a_kernel_runs_its_notebook_in_the_context_that_its_report_has_made():
    assert current(EVERYTHING.environment()) == EVERYTHING
    plain = Context(id="s1", out=Path("/data/out"))
    assert current(plain.environment()) == plain


def test_no_kernel_inherits_what_was_told_to_another(tmp_path, monkeypatch):
    """A report may be started from another report's notebook."""
    for variable, value in EVERYTHING.environment().items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("OTHER", "1")

    assert kernel_environment({"OWN": "2"}).items() >= {"OTHER": "1", "OWN": "2"}.items()
    assert not EVERYTHING.environment().keys() & kernel_environment({}).keys()


def test_an_empty_variable_is_as_good_as_none():
    session = current(dict.fromkeys(EVERYTHING.environment(), ""))
    assert session == Context(id=session.id, out=ROOT / "outputs", by_hand=True)


def test_a_report_measures_a_study_under_the_name_of_its_notebook():
    """Under another one its page would have no runs, and the front page none of its verdicts."""
    assert EVERYTHING.for_study("batch") is EVERYTHING
    with pytest.raises(
        UserError, match=r"^study 'bach' must have the name of its notebook: measure\('batch', …\)\.$"
    ):
        EVERYTHING.for_study("bach")


def test_a_reader_may_save_a_notebook_under_another_name():
    by_hand = current({})
    assert by_hand.for_study("batch") is by_hand


def test_ids_sort_by_time_and_two_at_once_differ():
    now = datetime(2026, 11, 20, 9, 59, 59, tzinfo=UTC)
    ids = [new_id(now + timedelta(seconds=step)) for step in (0, 1, 60, 86400, 400 * 86400)]
    assert ids == sorted(ids)
    assert re.fullmatch(r"20261120T095959Z-[0-9a-f]{4}", ids[0])
    assert len({new_id(now) for _ in range(5)}) > 1
