"""What a report hands over to which notebooks, with a stand-in for the kernels."""

from pathlib import Path

import pytest

from report_helper import FAILED, INTERRUPTED, MISTAKEN, lines, measured, tiny_folder
from study_data import make_run
from trainspeed.core.errors import UserError
from trainspeed.core.ledger import Ledger
from trainspeed.report.output_folder import MIN_FREE_BYTES, locked
from trainspeed.report.run import report


def test_runs_every_notebook_with_the_presets_parameters_and_the_summary_last(kernels, folder, out, capsys):
    assert report(out=out, folder=folder) == 0

    assert kernels.names == ["amp", "layout", "summary"]
    parameters, environment = kernels.of("layout")
    assert parameters == {"blocks": 8, "batch_sizes": [32, 64]}
    (line,) = lines(out / "sessions.jsonl")
    assert Path(environment.pop("TRAINSPEED_WORKERS")).is_absolute()
    assert environment == {
        "TRAINSPEED_LAST": "1",  # without a limit it leaves no time to others
        "TRAINSPEED_NOTEBOOK": "layout",
        "TRAINSPEED_REPORT": "1",
        "TRAINSPEED_OUT": str(out),
        "TRAINSPEED_SESSION": line["session"],
    }
    assert line["parameters"]["layout"] == parameters
    assert line["notebooks"] == ["amp", "layout", "summary"]
    asked = {"session", "preset", "notebooks", "parameters", "started_at", "version"}
    assert set(line) == asked | {"budget_s", "weights", "reserved_s", "chosen_preset", "own"}
    printed = capsys.readouterr().out
    for path in ("layout.ipynb", "layout.html", "summary.ipynb", "index.html"):
        assert (out / path).exists() and f"out/{path}\n" in printed
    assert not (out / "summary.html").exists()


@pytest.mark.parametrize("named", [["amp", "layout", "summary"], ["amp", "layout"]])
def test_only_the_last_one_that_measures_in_a_time_is_told_so(kernels, folder, out, named):
    report(out=out, folder=folder, notebooks=named, budget="1h")

    assert [name for name in named if "TRAINSPEED_LAST" in kernels.of(name)[1]] == named[-1:]


def test_the_summary_of_a_whole_report_measures_in_the_same_session(kernels, folder, out):
    report(out=out, folder=folder)

    _, environment = kernels.of("summary")
    assert "TRAINSPEED_RENDER" not in environment
    assert environment["TRAINSPEED_SESSION"] == lines(out / "sessions.jsonl")[0]["session"]


@pytest.mark.parametrize("named", [["summary", "layout"], ["layout", "summary"]])
def test_a_summary_that_is_named_measures_and_comes_last(kernels, folder, out, named):
    report(out=out, folder=folder, notebooks=named)

    assert kernels.names == ["layout", "summary"]
    assert "TRAINSPEED_RENDER" not in kernels.of("summary")[1]


def test_where_the_summary_is_not_named_the_front_page_is_only_drawn(kernels, folder, out):
    report(out=out, folder=folder, notebooks=["layout"])

    assert kernels.names == ["layout", "summary"]
    assert kernels.of("summary")[1]["TRAINSPEED_RENDER"] == str(out)
    assert "TRAINSPEED_RENDER" not in kernels.of("layout")[1]
    (line,) = lines(out / "sessions.jsonl")
    assert line["notebooks"] == ["layout"]
    assert line["session"] in (out / "index.html").read_text()  # this session's page, in the footer


def test_a_drawn_front_page_reads_a_recipe_with_the_parameters_that_it_was_measured_with(
    kernels, folder, out, tmp_path
):
    """Else its runs are not found again, and the recipe would vanish."""
    file = tmp_path / "mine.yaml"
    file.write_text("summary: {blocks: 3}")
    report(out=out, folder=folder, notebooks=["summary"], params=file)
    measured(out, "summary", lines(out / "sessions.jsonl")[0]["session"])

    report(out=out, folder=folder, notebooks=["layout"])

    assert kernels.of("summary")[0]["blocks"] == 3


def test_a_folder_without_a_summary_has_no_front_page(kernels, tmp_path, out):
    folder = tiny_folder(tmp_path / "two", "amp", "layout")

    assert report(out=out, folder=folder) == 0

    assert kernels.names == ["amp", "layout"]
    assert (out / "layout.html").exists() and not (out / "index.html").exists()


def test_auto_is_standard_where_there_is_a_gpu(kernels, folder, out):
    report(out=out, folder=folder, has_gpu=True)

    assert lines(out / "sessions.jsonl")[0]["preset"] == "standard"


def test_a_session_is_named_by_its_time(kernels, folder, out):
    report(out=out, folder=folder)
    report(out=out, folder=folder)

    first, second = (line["session"] for line in lines(out / "sessions.jsonl"))
    assert first != second
    assert len(first) == len("20260101T000000Z-abcd") and first[8] == "T" and first[15:17] == "Z-"


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ({}, 0),
        ({"amp": FAILED}, 1),
        ({"amp": MISTAKEN}, 2),
        ({"amp": MISTAKEN, "layout": FAILED}, 1),
        ({"amp": INTERRUPTED}, 130),
        ({"summary": [FAILED, FAILED]}, 1),
        ({"summary": [MISTAKEN, FAILED]}, 2),
        ({"amp": MISTAKEN, "summary": [FAILED, FAILED]}, 1),
        ({"summary": [INTERRUPTED, FAILED]}, 130),
        ({"amp": FAILED, "summary": [INTERRUPTED, FAILED]}, 130),
    ],
)
def test_the_exit_code_says_how_it_ended(kernels, folder, out, ends, code):
    kernels.ends = ends

    assert report(out=out, folder=folder) == code


def test_resuming_continues_the_newest_session_with_its_own_parameters(kernels, folder, out):
    file = folder / "mine.yaml"
    file.write_text("layout: {blocks: 3}")
    report(out=out, folder=folder)
    report(out=out, folder=folder, notebooks=["layout", "summary"], params=file)
    kernels.calls.clear()

    assert report(out=out, folder=folder, resume=True) == 0

    assert kernels.names == ["layout", "summary"]
    sessions = lines(out / "sessions.jsonl")
    assert len(sessions) == 2  # no new one
    assert kernels.of("layout")[0]["blocks"] == 3
    for name in kernels.names:  # the summary goes on with its recipe
        environment = kernels.of(name)[1]
        assert environment["TRAINSPEED_SESSION"] == sessions[1]["session"]
        assert environment["TRAINSPEED_RESUME"] == "1" and "TRAINSPEED_RENDER" not in environment


def test_resuming_a_session_without_the_summary_only_draws_the_front_page(kernels, folder, out):
    report(out=out, folder=folder, notebooks=["layout"])
    kernels.calls.clear()

    report(out=out, folder=folder, resume=True)

    assert kernels.names == ["layout", "summary"]
    assert "TRAINSPEED_RENDER" in kernels.of("summary")[1]


def test_resuming_runs_only_the_notebooks_that_are_named(kernels, folder, out, capsys):
    report(out=out, folder=folder)
    kernels.calls.clear()

    assert report(out=out, folder=folder, notebooks=["layout"], resume=True) == 0

    assert kernels.names == ["layout", "summary"]
    assert "TRAINSPEED_RENDER" in kernels.of("summary")[1]
    assert len(lines(out / "sessions.jsonl")) == 1
    assert capsys.readouterr().out.count("preset quick: layout\n") == 1


@pytest.mark.parametrize("budget", ["1m", "1h"])
def test_resuming_with_a_time_takes_that_of_the_session_only(kernels, folder, out, budget):
    report(out=out, folder=folder, budget="1m")
    kernels.calls.clear()
    if budget == "1m":
        assert report(out=out, folder=folder, resume=True, budget=budget) == 0
    else:
        with pytest.raises(UserError, match="leave BUDGET out"):
            report(out=out, folder=folder, resume=True, budget=budget)

    assert bool(kernels.calls) == (budget == "1m")


def test_resuming_a_notebook_that_the_session_does_not_have_is_one_line(kernels, folder, out):
    report(out=out, folder=folder, notebooks=["layout"])
    kernels.calls.clear()

    with pytest.raises(
        UserError, match=r"has no notebook 'amp' to continue: .* layout, or leave RESUME out$"
    ):
        report(out=out, folder=folder, notebooks=["layout", "amp"], resume=True)

    assert not kernels.calls


def test_a_session_that_was_begun_on_another_machine_is_not_continued(kernels, folder, out):
    """No page is drawn anew, in place of one that was whole."""
    report(out=out, folder=folder)
    (session,) = lines(out / "sessions.jsonl")
    Ledger(out).append(make_run(session=session["session"], machine={"cpu": "A CPU of yesterday"}))
    kernels.calls.clear()

    with pytest.raises(
        UserError, match=r"begun on another system: CPU \(A CPU of yesterday, then .* Leave RESUME"
    ):
        report(out=out, folder=folder, resume=True)

    assert not kernels.calls


def test_resuming_nothing_is_a_new_session(kernels, folder, out, capsys):
    assert report(out=out, folder=folder, resume=True) == 0

    assert "holds no session to continue" in capsys.readouterr().out
    assert "TRAINSPEED_RESUME" not in kernels.calls[0][2]


def test_a_session_whose_notebook_has_changed_is_not_continued(kernels, folder, out):
    report(out=out, folder=folder)
    text = (folder / "layout.ipynb").read_text()
    (folder / "layout.ipynb").write_text(text.replace("blocks", "repeats"))
    (folder / "presets/quick.yaml").write_text("")

    with pytest.raises(UserError, match=r"cannot be continued.*unknown parameter 'blocks'.*leave RESUME out"):
        report(out=out, folder=folder, resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"notebooks": ["layot"]}, "unknown notebook 'layot': did you mean 'layout'"),
        ({"preset": "quik"}, "unknown preset 'quik'"),
        ({"params": "layout: {block: 1}"}, "unknown parameter 'block'"),
        ({"params": "summary: {block: 1}"}, "summary: unknown parameter 'block'"),
        ({"params": "layout: {blocks: x}"}, "blocks must be int"),
    ],
)
def test_mistakes_are_found_before_anything_runs(kernels, folder, out, tmp_path, options, message):
    if text := options.get("params"):
        file = tmp_path / "p.yaml"
        file.write_text(text)
        options = {"params": file}

    with pytest.raises(UserError, match=message):
        report(out=out, folder=folder, **options)

    assert not kernels.calls and not out.exists()


def test_a_folder_that_cannot_be_written_is_one_line(kernels, folder, out):
    out.write_text("a file")  # as root, permissions would not stop a test

    with pytest.raises(UserError, match=r"cannot write to .*out .*name another folder, OUT="):
        report(out=out, folder=folder)
    assert not kernels.calls


def test_a_full_disk_is_told_before_anything_runs(kernels, folder, out, monkeypatch):
    class Usage:
        free = MIN_FREE_BYTES - 1

    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)

    with pytest.raises(UserError, match="has 100 MiB free"):
        report(out=out, folder=folder)
    assert not kernels.calls


def test_a_second_report_in_the_same_folder_is_locked_out(kernels, folder, out):
    with locked(out), pytest.raises(UserError, match=r"another report is writing to .*out: wait for it"):
        report(out=out, folder=folder)

    assert not kernels.calls
    assert report(out=out, folder=folder) == 0  # the lock ends with the first


def test_a_ledger_of_another_schema_stops_the_report(kernels, folder, out):
    measured(out, "layout", "s", schema=99)

    with pytest.raises(UserError, match="schema 99"):
        report(out=out, folder=folder)
    assert not kernels.calls
