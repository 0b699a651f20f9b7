"""What comes from a node is data: what of it is kept."""

from __future__ import annotations

import json

import pytest

from asking_study import part_of
from fleet_world import line_of
from trainspeed.conduct.schedule import schedule
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, Ledger
from trainspeed.report.intake import Intake
from trainspeed.report.request import read_sessions

PLANNED = schedule([part_of(8, blocks=1)], seed=0)
SESSION = "20261122T200000Z-0001"


@pytest.fixture
def intake(tmp_path):
    taken = Intake(tmp_path)
    request = {"session": SESSION, "preset": "quick", "notebooks": ["layout"]}
    taken.take(SESSIONS_FILE, json.dumps(request) + "\n", "a10g-1")
    return taken


def test_a_line_of_another_session_or_study_is_refused(intake, tmp_path):
    for session, study in ((SESSION, "amp"), ("20250101T000000Z-0000", "layout")):
        intake.take(RUNS_FILE, line_of(session, study, PLANNED[0], node="a10g-1") + "\n", "a10g-1")

    assert intake.refused == 2 and not (tmp_path / RUNS_FILE).exists()


def test_a_second_session_is_refused(intake, tmp_path):
    request = {"session": "20991231T000000Z-ffff", "preset": "quick", "notebooks": ["amp"]}
    intake.take(SESSIONS_FILE, json.dumps(request) + "\n", "a10g-1")

    assert intake.refused == 1 and [one.session for one in read_sessions(tmp_path)] == [SESSION]


@pytest.mark.parametrize(("claimed", "kept"), [("a10g-2", "a10g-2"), ("h100-1", "a10g-1"), (None, "a10g-1")])
def test_the_name_of_a_node_is_the_heads(intake, tmp_path, claimed, kept):
    text = line_of(SESSION, "layout", PLANNED[0], node=claimed) + "\n"
    intake.take(RUNS_FILE, text, "a10g-1", ["a10g-1", "a10g-2"])

    assert [run.node for run in Ledger(tmp_path).read()[0]] == [kept]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (RUNS_FILE, "garbage\n{}\n"),
        ("index.html", "<script>alert(1)</script>\n"),
        ("../runs.jsonl", "{}\n"),
        ("monitor/../../x.csv", "a,b\n"),
        ("monitor/.csv", "a\n"),
        ("monitor/x.csv", "\x1b[31m\n"),
        (SESSIONS_FILE, "[" * 100_000 + "\n"),
        ("coverage.jsonl", '{"session": "x"}\n'),
    ],
)
def test_nothing_else_is_kept(intake, tmp_path, name, text):
    before = sorted(path.name for path in tmp_path.rglob("*"))
    intake.take(name, text, "a10g-1")

    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    assert intake.refused == text.count("\n")
