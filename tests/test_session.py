import inspect
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from trainspeed import session as session_module
from trainspeed.environments import ROOT
from trainspeed.kernel import OURS
from trainspeed.session import Session, current, new_id


def test_a_notebook_opened_by_hand_measures_into_outputs_under_a_fresh_id():
    session = current({})
    assert session == Session(id=session.id, out=ROOT / "outputs")
    assert not session.resume
    assert session.render_from is None
    assert not session.plan_only
    assert not session.in_report
    assert session.told == ()
    assert current({}).id != session.id


def test_a_report_tells_its_notebooks_everything():
    told = {
        "TRAINSPEED_SESSION": "20261120T100000Z-abcd",
        "TRAINSPEED_OUT": "/data/out",
        "TRAINSPEED_RESUME": "1",
        "TRAINSPEED_RENDER": "/data/old",
        "TRAINSPEED_PLAN": "1",
        "TRAINSPEED_REPORT": "1",
        "TRAINSPEED_NOTEBOOKS": json.dumps([{"name": "amp", "status": "failed"}]),
    }
    assert current(told) == Session(
        id="20261120T100000Z-abcd",
        out=Path("/data/out"),
        resume=True,
        render_from=Path("/data/old"),
        plan_only=True,
        in_report=True,
        told=({"name": "amp", "status": "failed"},),
    )


def test_no_kernel_inherits_what_was_told_to_another():
    """A report may be started from a notebook of another one."""
    read = set(re.findall(r"TRAINSPEED_[A-Z]+", inspect.getsource(session_module)))
    assert len(read) == 7 and read <= OURS


def test_an_empty_variable_is_as_good_as_none():
    names = ("SESSION", "OUT", "RESUME", "RENDER", "PLAN", "REPORT", "NOTEBOOKS")
    session = current({f"TRAINSPEED_{name}": "" for name in names})
    assert session == Session(id=session.id, out=ROOT / "outputs")


def test_ids_sort_by_time_and_two_at_once_differ():
    now = datetime(2026, 11, 20, 9, 59, 59, tzinfo=UTC)
    ids = [new_id(now + timedelta(seconds=step)) for step in (0, 1, 60, 86400, 400 * 86400)]
    assert ids == sorted(ids)
    assert re.fullmatch(r"20261120T095959Z-[0-9a-f]{4}", ids[0])
    assert len({new_id(now) for _ in range(5)}) > 1
