"""How the notebooks of a report ended where their pages cannot know it: what was cut short, what was never begun."""

import json

import pytest

from front_data import OLDER, SESSION, fact, report_of, runs_of, write_notebook, write_report
from study_data import make_run
from trainspeed.core.coverage import Coverage, append_coverage
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Status
from trainspeed.studies.summary.collect import read_report

LIMITED = {"budget_s": 900.0, "weights": {"layout": [1.0], "amp": [1.0], "summary": [1.0]}}
CUT_SHORT = "measuring ended before all that there was time for was measured"


def ask(out, *notebooks, session=SESSION, **asked):
    out.mkdir(exist_ok=True)
    with (out / "sessions.jsonl").open("a") as file:
        file.write(json.dumps({"session": session, "notebooks": notebooks} | asked) + "\n")


def record(out, *studies, session=SESSION):
    for study in studies:
        append_coverage(out, Coverage(session=session, study=study, budget_s=90, spent_s=66, groups=()))


def drawn(out, *studies, session=SESSION):
    """Write a report that has runs of these studies and draws them again."""
    write_report(out, [run for study in studies for run in runs_of(study, session=session)], studies=())
    for study in studies:
        write_notebook(out, study, session=session, rendered=True)


def endings(out, drawn_from):
    return {one.name: (one.status, one.error) for one in read_report(out, drawn_from).notebooks}


def test_a_report_that_was_killed_and_is_drawn_again_says_what_it_lacks(tmp_path):
    ask(tmp_path, "check", "layout", "amp", "conv2d", "summary", **LIMITED)
    drawn(tmp_path, "layout", "amp")
    record(tmp_path, "layout")

    report = read_report(tmp_path, tmp_path)

    assert endings(tmp_path, tmp_path) == {
        "layout": ("ok", None),
        "amp": ("interrupted", CUT_SHORT),
        "check": ("interrupted", "asked for and not measured"),
        "conv2d": ("interrupted", "asked for and not measured"),
        "summary": ("interrupted", "asked for and not measured"),
    }
    assert not report.complete and report.session == SESSION
    assert "conv2d" not in report.missing  # it was asked for
    said = fact("Not measured", notebooks=report.notebooks)
    said_of_them = "[4 notebooks that did not end well; 2 notebooks that were not asked for]("
    assert said.startswith(said_of_them)  # the two are multi_gpu and switches


@pytest.mark.parametrize(
    ("asked", "recorded"),
    [
        ({"notebooks": ("layout", "amp", "summary"), **LIMITED}, ("layout", "amp", "summary")),
        ({"notebooks": ("layout", "amp"), **LIMITED}, ("layout", "amp")),  # on purpose
        ({"notebooks": ("layout", "amp", "summary")}, ()),  # without a limit, no end is recorded
        ({"notebooks": ("layout", "amp"), "parameters": {"layout": {"budget_s": None}}}, ()),
        (None, ()),  # by hand: no report was asked for it
    ],
)
def test_what_ended_is_complete_when_it_is_drawn_again(tmp_path, asked, recorded):
    if asked:
        ask(tmp_path, **asked)
    drawn(tmp_path, "layout", "amp")
    record(tmp_path, *recorded)

    assert endings(tmp_path, tmp_path) == {"layout": ("ok", None), "amp": ("ok", None)}
    assert read_report(tmp_path, tmp_path).complete


def test_a_limit_of_one_notebook_that_the_user_has_set_tells_whether_it_ended(tmp_path):
    ask(tmp_path, "layout", parameters={"layout": {"budget_s": 60.0}})
    drawn(tmp_path, "layout")
    assert endings(tmp_path, tmp_path) == {"layout": ("interrupted", CUT_SHORT)}

    record(tmp_path, "layout")  # as a resumed session does
    assert endings(tmp_path, tmp_path) == {"layout": ("ok", None)}


def test_a_study_that_was_measured_and_is_not_drawn_was_left_out_on_purpose(tmp_path):
    ask(tmp_path, "layout", "amp", **LIMITED)
    drawn(tmp_path, "layout", "amp")
    record(tmp_path, "layout", "amp")
    (tmp_path / "amp.ipynb").unlink()

    assert endings(tmp_path, tmp_path) == {"layout": ("ok", None)}


def test_a_page_of_an_older_session_does_not_stand_for_what_the_newest_was_asked_for(tmp_path):
    ask(tmp_path, "layout", "amp", session=OLDER)
    ask(tmp_path, "layout", "amp")
    drawn(tmp_path, "layout")
    drawn(tmp_path, "amp", session=OLDER)

    status, error = endings(tmp_path, tmp_path)["amp"]
    assert (status, error) == (
        "interrupted",
        f"asked for and not measured in session {SESSION}; this is an older one",
    )


def test_a_front_page_that_measures_was_not_interrupted(tmp_path):
    """Its own end is recorded after it has read the folder; what was measured now ended as its file says."""
    ask(tmp_path, "layout", "summary", **LIMITED)
    write_report(tmp_path, runs_of("layout"), studies=["layout"])
    assert endings(tmp_path, None) == {"layout": ("ok", None)}

    Ledger(tmp_path).append(make_run(study="summary", session=SESSION))
    assert endings(tmp_path, tmp_path)["summary"] == ("interrupted", CUT_SHORT)


def test_a_report_lacks_nothing_without_a_session_that_can_be_read(tmp_path):
    drawn(tmp_path, "layout")
    (tmp_path / "sessions.jsonl").write_text("{damaged\n")

    assert read_report(tmp_path, tmp_path).complete and report_of().complete


@pytest.mark.parametrize("drawn_again", [True, False])
def test_a_notebook_none_of_whose_runs_gave_a_result_lacks_all_of_it(tmp_path, drawn_again):
    """A model that cannot be trained at all is no report, whether it is drawn now or was measured."""
    crashed = runs_of("amp", status=Status.CRASHED, reason="ValueError: no loss")
    write_report(tmp_path, [*runs_of("layout"), *crashed], studies=["layout"], verdicts=[])
    write_notebook(tmp_path, "amp", rendered=drawn_again)

    assert endings(tmp_path, tmp_path if drawn_again else None) == {
        "layout": ("ok", None),
        "amp": ("incomplete", "12 of 12 runs gave no result: crashed: ValueError: no loss"),
    }
