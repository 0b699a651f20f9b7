"""What the front page finds in a folder, whatever state the folder is in."""

import json
from dataclasses import replace

import pytest

from front_data import OLDER, SESSION, runs_of, write_notebook, write_page, write_report
from study_data import make_run
from trainspeed.core.coverage import Coverage, append_coverage
from trainspeed.core.ledger import Ledger
from trainspeed.core.run import Status
from trainspeed.core.runs import Measured
from trainspeed.judge.comparison import as_json
from trainspeed.studies.summary.collect import ReportSummary, read_report
from trainspeed.studies.summary.notebooks import ReportNotebook, notebooks_in


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


# An empty folder, a damaged one, one of another version.


def test_a_folder_that_does_not_exist_holds_nothing(out):
    assert read_report(out, out) == ReportSummary(out=out)
    assert not out.exists()


def test_a_file_in_the_place_of_the_folder_holds_nothing(out):
    """A plan says nothing against it: `make report` will."""
    out.write_text("x")
    assert read_report(out, out).verdicts == ()


@pytest.mark.parametrize("text", ["", "{", "{}", "null", '"x"', b"\xff\xfe".decode("latin-1"), "[" * 3])
def test_damaged_verdicts_are_a_doubt_and_the_file_stays_for_who_writes_it(out, text):
    write_report(out, runs_of("layout"))
    (out / "verdicts.json").write_text(text, encoding="latin-1")

    front = read_report(out, out)

    assert front.verdicts == ()
    assert front.doubts == (
        "verdicts.json is damaged and none of it is shown: `make render` writes it anew.",
    )
    assert (out / "verdicts.json").exists() and len(front.runs) == 12


def broken(element, change):
    element = json.loads(json.dumps(element))
    change(element)
    return element


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e.pop("study"),
        lambda e: e.pop("speedup"),
        lambda e: e.update(outcome="quicker"),
        lambda e: e.update(quantity="energy"),
        lambda e: e["candidate"].update(framework="mxnet"),
        lambda e: e.update(baseline="a trial"),
        lambda e: e.update(baseline=None),
        lambda e: e.update(low="1.2"),
        lambda e: e.update(speedup=0),
        lambda e: e.update(speedup=-1.3),
        lambda e: e.update(high=float("nan")),
        lambda e: e.update(low=None),
        lambda e: e.update(low=None, high=None),  # decided without an interval
        lambda e: e.update(blocks="6"),
        lambda e: e.update(study=7),
        lambda e: e.update(sentence=None),
        lambda e: e.update(session=None),
    ],
)
def test_a_verdict_of_another_version_is_left_out_and_counted(out, change):
    good, other = as_json(write_report(out, runs_of("layout")))
    (out / "verdicts.json").write_text(json.dumps([broken(good, change), other, 3, None]))

    front = read_report(out, out)

    assert [v.quantity for v in front.verdicts] == ["accuracy"]
    assert front.doubts == (
        "3 verdicts in verdicts.json are of another version and left out: `make render` writes it anew.",
    )


def test_a_cut_off_line_of_the_ledger_is_a_doubt(out):
    write_report(out, runs_of("layout"))
    with (out / "runs.jsonl").open("a") as file:
        file.write('{"schema": 1, "sess')

    (doubt,) = read_report(out, out).doubts
    assert "line 13 of runs.jsonl is cut off or damaged" in doubt


# Notebooks: this report's, an earlier one's, what became of them.


def test_a_notebook_says_how_it_ended_and_where_its_page_is(out):
    write_notebook(out, "layout")
    write_notebook(out, "amp", status="failed", error="ValueError: x", seconds=3.0)
    write_page(out, "layout")

    amp, layout = notebooks_in(out)

    assert layout == ReportNotebook(
        name="layout",
        title="The question of layout",
        status="ok",
        page="layout.html",
        session=SESSION,
        preset="quick",
    )
    assert (amp.name, amp.status, amp.error, amp.page) == ("amp", "failed", "ValueError: x", None)


def test_what_this_report_tells_comes_first_and_before_what_is_in_the_file(out):
    """A notebook that was not run has only the file of an earlier report."""
    write_notebook(out, "amp")
    write_notebook(out, "layout", session=OLDER)
    told = {"name": "layout", "title": "layout", "status": "interrupted", "error": "not run"}

    layout, amp = notebooks_in(out, [told])

    assert (layout.status, layout.error) == ("interrupted", "not run")
    assert layout.session == OLDER
    assert amp.status == "ok"


def test_a_notebook_that_left_no_file_is_told_of(out):
    out.mkdir()
    (ran,) = notebooks_in(out, [{"name": "amp", "title": "amp", "status": "interrupted", "error": "not run"}])
    assert ran == ReportNotebook(name="amp", title="amp", status="interrupted", error="not run")


def test_a_summary_that_did_not_measure_to_its_end_is_told_of_by_what_is_missing(out):
    write_notebook(out, "summary", status="failed")
    assert notebooks_in(out) == ()
    (ran,) = notebooks_in(out, [{"name": "summary", "title": "The page", "status": "failed", "error": "x"}])
    assert (ran.title, ran.status, ran.error) == ("Confirmations", "failed", "x")


def test_other_notebooks_in_the_folder_are_not_the_reports(out):
    write_notebook(out, "layout")
    for name in ("summary", "compare", ".layout.running"):
        write_notebook(out, name)
    (out / "mine.ipynb").write_text('{"cells": [], "metadata": {}}')
    (out / "odd.ipynb").write_text('{"metadata": {"trainspeed": "yes"}}')
    (out / "damaged.ipynb").write_bytes(b"\xff{")
    (out / "folder.ipynb").mkdir()

    assert [ran.name for ran in notebooks_in(out)] == ["layout"]


def test_a_notebook_took_as_long_as_its_own_page_says(out):
    """Neither its kernel's start nor its charts count, and whether it was drawn again makes no difference."""
    runs = [replace(run, stages_s={"start": 1.0, "train": 4.0}) for run in runs_of("layout")]
    write_report(out, runs, studies=["layout"])
    own = Measured(tuple(runs), "layout", SESSION, out=out, folder=out)
    assert read_report(out, out).notebooks[0].seconds == own.took_s == 60.0

    write_notebook(out, "layout", rendered=True)
    assert read_report(out, out).notebooks[0].seconds == 60.0  # 12 runs of 5 s
    write_notebook(out, "amp", rendered=True)
    assert read_report(out, out).notebooks[0].seconds is None  # amp has no runs
    Ledger(out).append(make_run(study="check", stages_s={"start": 3.0}))
    write_notebook(out, "check", rendered=True)
    assert [ran.seconds for ran in read_report(out, out).notebooks] == [None, 3.0, 60.0]
    coverage = Coverage(session=SESSION, study="layout", budget_s=90, spent_s=66, groups=())
    append_coverage(out, coverage)
    assert read_report(out, out).notebooks[-1].seconds == replace(own, coverage=coverage).took_s == 66.0


# Which runs.


def test_the_runs_are_those_of_the_session_that_each_page_shows(out):
    old = runs_of("layout", session=OLDER)
    write_report(out, [*old, *runs_of("layout"), *runs_of("amp", session=OLDER)], studies=["layout", "amp"])
    write_notebook(out, "amp", session=OLDER)

    front = read_report(out, out)

    assert {(run.study, run.session) for run in front.runs} == {("layout", SESSION), ("amp", OLDER)}
    assert front.session == SESSION
    assert front.is_older(OLDER) and not front.is_older(SESSION) and not front.is_older(None)


def test_runs_of_no_notebook_here_and_of_the_front_page_are_kept_apart(out):
    write_report(out, [*runs_of("layout"), *runs_of("amp")], studies=["layout"])
    for run in (
        make_run(study="explore"),
        make_run(study="summary"),
        make_run(study="summary", session=OLDER),
    ):
        Ledger(out).append(run)

    front = read_report(out, out)

    assert {run.study for run in front.runs} == {"layout"}
    assert [run.session for run in front.own] == [SESSION]


def test_a_run_that_was_measured_again_counts_once(out):
    crashed = make_run(status=Status.CRASHED, reason="bus error")
    write_report(out, [crashed, make_run()], studies=["layout"], verdicts=[])

    assert [run.status for run in read_report(out, out).runs] == [Status.OK]


def test_the_machine_is_that_of_the_newest_run(out):
    runs = [
        make_run(block=block, machine={"cpu": cpu}, started_at=at)
        for block, (cpu, at) in enumerate(
            [("A", "2026-11-20T10:00Z"), ("B", "2026-11-20T11:00Z"), ("C", None)]
        )
    ]
    write_report(out, runs, studies=["layout"], verdicts=[])

    assert read_report(out, out).machine == {"cpu": "B"}


def test_what_is_beside_the_page_is_looked_up_when_it_is_told(out):
    front = read_report(out, out)
    assert front.files == ()
    write_report(out, runs_of("layout"))
    write_page(out, "compare")
    assert front.files == ("runs.jsonl", "verdicts.json", "compare.html")
