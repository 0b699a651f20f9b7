"""What a report was asked to run: which notebooks, in which order, and what is left of that later."""

import json
from dataclasses import asdict, replace

import pytest

from report_helper import tiny_folder
from study_data import make_run
from tiny_notebooks import write
from trainspeed.core.asked import choice_of, choices_of
from trainspeed.core.coverage import Choice
from trainspeed.core.errors import UserError
from trainspeed.report.request import (
    ReportRequest,
    check_same_budget,
    check_session,
    new_session,
    read_sessions,
    still_valid,
)


@pytest.fixture
def folder(tmp_path):
    return tiny_folder(tmp_path, "summary", "zebra", "amp", "compare")


def asked(folder, *, preset_text="", **choice):
    usual = {"preset": "quick", "notebooks": (), "params": None, "has_gpu": False, "folder": folder}
    (folder / "presets/quick.yaml").write_text(preset_text)
    return new_session(**usual | choice)


def test_all_notebooks_are_asked_for_the_summary_last_and_no_comparison(folder):
    assert asked(folder).notebooks == ("amp", "zebra", "summary")


@pytest.mark.parametrize(
    "preset_text", ["zebra: {}", "summary: {}\nzebra: {}\namp: {}", "budget: 15m\nzebra: {}"]
)
def test_they_run_in_the_order_of_their_preset(folder, preset_text):
    assert asked(folder, preset_text=preset_text).notebooks == ("zebra", "amp", "summary")
    named = asked(folder, preset_text=preset_text, notebooks=["amp", "zebra"])
    assert named.notebooks == ("amp", "zebra")


def test_what_is_named_keeps_its_order_but_for_the_summary(folder):
    assert asked(folder, notebooks=["summary", "zebra", "amp"]).notebooks == ("zebra", "amp", "summary")
    assert asked(folder, notebooks=["zebra"]).notebooks == ("zebra",)


def test_a_comparison_is_no_part_of_a_report(folder):
    with pytest.raises(UserError, match=r"compare measures nothing.*`make compare"):
        asked(folder, notebooks=["compare"])


def test_a_folder_without_notebooks_is_one_line(tmp_path):
    with pytest.raises(UserError, match="no notebooks in"):
        asked(tiny_folder(tmp_path / "none", "compare"))


def test_a_session_survives_its_line_and_damaged_lines_are_left_out(folder, tmp_path):
    session = asked(folder)
    lines = ["{damaged", json.dumps(asdict(session)), "[]", '{"session": "x"}', "null"]
    (tmp_path / "sessions.jsonl").write_text("\n".join(lines))

    assert read_sessions(tmp_path) == [session]
    assert read_sessions(tmp_path / "none") == []


def test_what_the_user_chose_is_read_again_for_the_commands_of_the_pages(folder, tmp_path):
    session = asked(folder, preset="quick", params="amp: {blocks: 9}")
    line = json.dumps(asdict(replace(session, session="s")))
    (tmp_path / "sessions.jsonl").write_text(line + "\n{")
    by_itself = asked(folder, preset="auto")

    assert choice_of(tmp_path, "s", "amp", by_fleet=False) == Choice(preset="quick", parameters={"blocks": 9})
    assert choice_of(tmp_path, "s", "layout", by_fleet=True) == Choice(preset="quick", by_fleet=True)
    assert choice_of(tmp_path, "another", "amp", by_fleet=False) == Choice(by_hand=True)
    assert (by_itself.preset, by_itself.chosen_preset, by_itself.own) == ("quick", None, {})
    of_node = make_run(session="s", study="layout", node="a10g-1")
    sessions = {"amp": "s", "layout": "s", "conv2d": "of no report"}
    assert choices_of(tmp_path, sessions, [of_node]) == {
        "amp": Choice(preset="quick", parameters={"blocks": 9}),
        "layout": Choice(preset="quick", by_fleet=True),
    }


def test_a_session_can_be_continued_while_its_notebooks_are_the_same(folder):
    session = asked(folder)
    check_session(session, folder)
    (folder / "amp.ipynb").unlink()
    with pytest.raises(UserError, match=r"cannot be continued.*unknown notebook 'amp'.*leave RESUME out"):
        check_session(session, folder)


def test_of_old_parameters_those_that_are_still_there_count(folder):
    write(folder, "amp")
    old = ReportRequest(
        session="s",
        preset="quick",
        notebooks=("amp",),
        parameters={"amp": {"blocks": 3, "batch_sizes": "many", "gone": 1}},
    )

    values, doubts = still_valid("amp", old, folder)

    assert values == {"blocks": 3, "batch_sizes": [32, 64]}
    assert len(doubts) == 2 and doubts[1].endswith("The default is used.") and "'gone'" in doubts[0]
    assert still_valid("amp", None, folder) == ({"blocks": 6, "batch_sizes": [32, 64]}, [])


def test_a_session_goes_on_with_the_time_that_it_was_given(folder):
    """More of it, asked for when the first verdicts are known, could stop where they please."""
    session = asked(folder, budget="15m")

    check_same_budget(session, asked(folder, budget="900s"))
    with pytest.raises(
        UserError, match=r"^BUDGET \(1 h 00 min\) is not that of session .*, which was given 15 min"
    ):
        check_same_budget(session, asked(folder, budget="1h"))
    with pytest.raises(UserError, match="which has no limit: leave BUDGET out"):
        check_same_budget(asked(folder), session)
