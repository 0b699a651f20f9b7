"""What a user has set and no notebook can measure: one line before anything is measured."""

from __future__ import annotations

import pytest

from trainspeed.core.errors import UserError
from trainspeed.report import run
from trainspeed.report.budget import OVERHEAD_S
from trainspeed.report.notebook_run import End, NotebookStatus

NAMES = ("layout", "amp")
UNKNOWN = End(NotebookStatus.FAILED, "blocks (=1) are too few here.\nMore.", mistake=True)


@pytest.fixture
def asked(folder, out, monkeypatch):
    """What a report is asked for, whose second notebook says while planning that it cannot measure that."""
    ends = [End(NotebookStatus.OK), UNKNOWN]
    monkeypatch.setattr(run, "ask_for_plans", lambda *_, **__: ({}, ends, False))
    return {"out": out, "folder": folder, "notebooks": NAMES, "budget": f"{2 * OVERHEAD_S}s"}


def test_a_mistake_in_what_the_user_has_set_ends_the_report_before_it_begins(asked, kernels, out):
    with pytest.raises(UserError, match=r"^amp: blocks \(=1\) are too few here\.$"):
        run.report(**asked, params="amp: {blocks: 1}")

    assert not kernels.calls and not (out / "sessions.jsonl").exists()


def test_a_mistake_is_said_before_a_report_without_a_limit_begins_too(asked, kernels, monkeypatch):
    """A preset without a time is not planned: what the user has set was refused by its notebook, after the others."""
    planned = []

    def plans(names, *_, **__):
        planned.extend(names)
        return {}, [UNKNOWN for _ in names], False

    monkeypatch.setattr(run, "ask_for_plans", plans)
    asked["budget"] = None
    with pytest.raises(UserError, match=r"^amp: blocks \(=1\) are too few here\.$"):
        run.report(**asked, params="amp: {blocks: 1}")
    assert planned == ["amp"] and not kernels.calls

    planned.clear()
    run.report(**asked)
    assert not planned, "which takes seconds"


@pytest.mark.parametrize("params", [None, "layout: {blocks: 7}"])
def test_what_a_preset_asks_for_in_vain_leaves_out_its_notebook_alone(asked, kernels, params):
    """As on a machine whose memory is too small for it."""
    run.report(**asked, params=params)

    assert {*NAMES} <= {*kernels.names}


def test_a_plan_says_what_went_wrong_last_where_it_is_seen(asked, capsys):
    run.plan(**asked)

    assert capsys.readouterr().err == "amp: blocks (=1) are too few here.\n"


def test_a_plan_for_too_short_a_time_says_it_as_well(asked, capsys, monkeypatch):
    def refuse(*_):
        raise UserError("too short")

    monkeypatch.setattr(run, "check_budget", refuse)
    with pytest.raises(UserError, match="too short"):
        run.plan(**asked)

    assert "amp: blocks (=1) are too few here.\n" in capsys.readouterr().err


@pytest.mark.parametrize("node", [None, "a10g-1"])
def test_a_number_of_nodes_that_there_are_not_is_said_before_anything_is_measured(
    asked, folder, kernels, monkeypatch, node
):
    """Outside of a fleet; within one a node may have been lost since it was asked for, and the rest is measured."""
    notebook = folder / "amp.ipynb"
    last = "# images per step"
    notebook.write_text(notebook.read_text().replace(last, rf"{last}\nnodes: list = [1]  # numbers of nodes"))
    monkeypatch.setenv("TRAINSPEED_NODE", node or "")
    if node:
        run.report(**asked, nodes="2")
        assert {*NAMES} <= {*kernels.names}
        return
    with pytest.raises(UserError, match=r"^amp: blocks \(=1\) are too few here\.$"):
        run.report(**asked, nodes="2")
    assert not kernels.calls
