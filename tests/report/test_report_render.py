"""A report of runs that exist already, its plan, and one with real kernels."""

import json

import pytest

from report_helper import FAILED, MISTAKEN, lines, measured
from tiny_notebooks import write
from trainspeed.core.errors import UserError
from trainspeed.report.execute import NotebookStatus
from trainspeed.report.run import plan, render, report


@pytest.fixture
def source(tmp_path):
    """Runs of three sessions; what was asked for is known of the second only."""
    source = tmp_path / "source"
    for study, session in (("layout", "20260101T1"), ("layout", "20260102T1"), ("amp", "20260101T1")):
        measured(source, study, session)
    measured(source, "conv2d", "20260101T1")  # a study without a notebook
    old = {"session": "20260102T1", "preset": "smoke", "notebooks": ["layout"]}
    old["parameters"] = {"layout": {"blocks": 1, "batch_sizes": [7], "renamed_since": 3, "dropped": 1}}
    (source / "sessions.jsonl").write_text("{damaged\n" + json.dumps(old) + "\n")
    return source


def test_rendering_takes_the_newest_session_of_each_study(kernels, folder, out, source, capsys):
    assert render(out=out, source=source, folder=folder) == 0

    assert kernels.names == ["amp", "layout", "summary"]
    parameters, environment = kernels.of("layout")
    assert parameters == {"blocks": 1, "batch_sizes": [7]}
    assert environment == {
        "TRAINSPEED_NOTEBOOK": "layout",
        "TRAINSPEED_REPORT": "1",
        "TRAINSPEED_OUT": str(out),
        "TRAINSPEED_SESSION": "20260102T1",
        "TRAINSPEED_RENDER": str(source),
    }
    parameters, environment = kernels.of("amp")
    assert parameters == {"blocks": 6, "batch_sizes": [32, 64]}  # its session is not recorded
    assert environment["TRAINSPEED_SESSION"] == "20260101T1"
    printed = capsys.readouterr().out
    assert "layout: parameters that it no longer has are left out: 'renamed_since', 'dropped'." in printed
    assert not (out / "sessions.jsonl").exists()  # it measures nothing


def test_rendering_draws_the_front_page_too_and_measures_nothing_for_it(kernels, folder, out, source):
    render(out=out, source=source, folder=folder)

    _, environment = kernels.of("summary")
    assert environment["TRAINSPEED_RENDER"] == str(source) and environment["TRAINSPEED_OUT"] == str(out)
    assert (out / "index.html").exists()


def test_rendering_one_notebook_draws_the_front_page_anew(kernels, folder, out, source):
    render(out=out, source=source, folder=folder, notebooks=["amp"])

    assert kernels.names == ["amp", "summary"]


def test_the_front_page_alone_can_be_rendered(kernels, folder, out, source):
    assert render(out=out, source=source, folder=folder, notebooks=["summary"]) == 0

    assert kernels.names == ["summary"]
    assert (out / "index.html").exists()


def test_a_ledger_that_holds_nothing_but_a_recipe_is_rendered(kernels, folder, out, tmp_path):
    measured(tmp_path / "source", "summary", "20260101T1")

    assert render(out=out, source=tmp_path / "source", folder=folder) == 0

    assert kernels.names == ["summary"]
    assert kernels.of("summary")[1]["TRAINSPEED_SESSION"] == "20260101T1"


def test_rendering_nothing_is_one_line(kernels, folder, out):
    with pytest.raises(UserError, match=r"no runs\.jsonl in .*out"):
        render(out=out, folder=folder)
    measured(out, "conv2d", "s")
    with pytest.raises(UserError, match=r"no notebook has the name of a study there \(conv2d\)"):
        render(out=out, folder=folder)
    assert not kernels.calls


def test_a_page_that_was_drawn_does_not_offer_to_be_continued(kernels, folder, out, source):
    kernels.ends = {"amp": FAILED}

    assert render(out=out, source=source, folder=folder) == 1

    for page in ("amp.html", "index.html"):
        text = (out / page).read_text()
        assert "report is not complete" in text and "RESUME=1" not in text


def test_a_report_that_was_killed_is_not_complete_when_it_is_drawn(kernels, folder, out, source):
    """Every notebook is drawn well, and amp was never begun: kill -9 leaves no status."""
    asked = {"session": "20260103T1", "preset": "smoke", "notebooks": ["layout", "amp"]}
    (source / "sessions.jsonl").write_text(json.dumps(asked) + "\n")
    measured(source, "layout", "20260103T1")

    assert render(out=out, source=source, folder=folder) == 0

    assert "report is not complete" in (out / "index.html").read_text()
    measured(source, "amp", "20260103T1")
    render(out=out, source=source, folder=folder)
    assert "report is not complete" not in (out / "index.html").read_text()


@pytest.mark.slow
def test_real_kernels_from_parameters_to_front_page(folder, out, tmp_path):
    """The whole way, with one notebook that fails."""
    write(folder, "layout", "print('blocks are', blocks)")
    write(folder, "amp", "open('/nowhere/at all')")
    write(folder, "summary", "import os\nprint(os.environ['TRAINSPEED_NOTEBOOKS'])", title="# Everything")

    assert report(out=out, folder=folder) == 1

    assert "blocks are 8" in (out / "layout.html").read_text()
    assert "FileNotFoundError" in (out / "amp.html").read_text()
    index = (out / "index.html").read_text()
    assert "<title>Not complete: Everything</title>" in index and "FileNotFoundError" in index
    names = {path.name for path in out.iterdir()}
    assert names == {
        ".trainspeed",
        "amp.failed.ipynb",
        "amp.html",
        "index.html",
        "layout.html",
        "layout.ipynb",
        "sessions.jsonl",
        "summary.ipynb",
    }
    for name in names:
        assert str(tmp_path) not in (out / name).read_text(), name


@pytest.mark.slow
def test_a_plan_prints_what_the_notebooks_tell_and_writes_nothing(folder, out, capfd):
    cell = (
        "import os, sys\nfrom trainspeed.core.errors import PlanOnly\nprint('noise', file=sys.stderr)\n"
        "print(bool(os.environ['TRAINSPEED_PLAN']), 'plan:', blocks)\nraise PlanOnly"
    )
    write(folder, "layout", cell)
    write(folder, "summary", cell.replace("plan:", "summary:"))

    assert plan(notebooks=["summary", "layout"], out=out, folder=folder) == 0

    assert capfd.readouterr() == ("True plan: 8\nTrue summary: 6\n", "")
    assert not out.exists()


def test_runs_are_drawn_whatever_their_session_asked_for(kernels, folder, out, source, capsys):
    """The types of its parameters fit, but no plan can be made of them; the runs are there all the same."""
    kernels.ends = {"layout": [MISTAKEN, (NotebookStatus.OK, None, False)]}

    assert render(out=out, source=source, folder=folder, notebooks=["layout"]) == 0

    assert [given for name, given, _ in kernels.calls if name == "layout"] == [
        {"blocks": 1, "batch_sizes": [7]},
        {},
    ]
    assert "layout: drawn with the notebook's own parameters, as blocks (=0)" in capsys.readouterr().out


@pytest.mark.parametrize("where", ["sessions.jsonl", "runs.jsonl"])
def test_a_clock_that_was_set_back_is_told_before_anything_runs(kernels, folder, out, where):
    """What was measured then was drawn at once, and never again: `make render` showed the older session."""
    report(out=out, folder=folder)
    (session,) = (line["session"] for line in lines(out / "sessions.jsonl"))
    later = f"9{session[1:]}"
    if where == "runs.jsonl":
        measured(out, "layout", later)
    else:
        text = (out / where).read_text()
        (out / where).write_text(text.replace(session, later))
    kernels.calls.clear()

    with pytest.raises(
        UserError, match=rf"session of {later[:15]}.*set the clock right, or name another folder"
    ):
        report(out=out, folder=folder)

    assert not kernels.calls
