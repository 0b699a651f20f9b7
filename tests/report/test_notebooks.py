"""Notebooks one after another and the front page last, whatever becomes of them."""

import pytest

import trainspeed.report.notebooks
from report_helper import FAILED, INCOMPLETE, INTERRUPTED, MISTAKEN, told
from trainspeed.core.errors import UserError
from trainspeed.report.execute import NotebookStatus
from trainspeed.report.run import report

OK = (NotebookStatus.OK, None, False)


@pytest.fixture
def index(out):
    return lambda: (out / "index.html").read_text()


def test_one_failure_does_not_stop_the_others(kernels, folder, out, capsys):
    kernels.ends = {"amp": FAILED}

    report(out=out, folder=folder)

    assert kernels.names == ["amp", "layout", "summary"]
    assert "FAILED" in (out / "amp.html").read_text()
    assert "amp: failed: ValueError: x" in capsys.readouterr().out


def test_the_front_page_is_told_what_became_of_each_notebook(kernels, folder, out):
    kernels.ends = {"amp": FAILED}

    report(out=out, folder=folder)

    rows = told(kernels.of("summary")[1])
    assert rows == {
        "amp": {
            "name": "amp",
            "title": "The question of amp",
            "status": "failed",
            "error": "ValueError: x",
        },
        "layout": {
            "name": "layout",
            "title": "The question of layout",
            "status": "ok",
            "error": None,
        },
    }


def test_each_notebook_is_told_its_own_name(kernels, folder, out):
    report(out=out, folder=folder)

    assert kernels.names == [environment["TRAINSPEED_NOTEBOOK"] for _, _, environment in kernels.calls]


def test_after_a_failure_the_front_page_measures_but_says_that_the_report_is_not_complete(
    kernels, folder, out, index
):
    kernels.ends = {"amp": FAILED}

    report(out=out, folder=folder)

    assert "TRAINSPEED_RENDER" not in kernels.of("summary")[1]
    assert "<title>Not complete: " in index() and 'class="banner"' in index()
    assert "RESUME=1" in index()
    assert 'class="banner"' not in (out / "layout.html").read_text()


def test_a_notebook_that_lacks_a_part_is_no_success_but_leaves_nothing_to_continue(
    kernels, folder, out, index, capsys
):
    kernels.ends = {"amp": INCOMPLETE}

    assert report(out=out, folder=folder) == 1

    assert f"amp: incomplete: {INCOMPLETE[1]}\n" in capsys.readouterr().out
    assert (out / "amp.failed.ipynb").exists() and not (out / "amp.ipynb").exists()
    assert "<title>INCOMPLETE: " in (out / "amp.html").read_text()
    assert "TRAINSPEED_RENDER" not in kernels.of("summary")[1]
    assert told(kernels.of("summary")[1])["amp"]["status"] == "incomplete"
    assert "<title>Not complete: " in index() and "RESUME=1" not in index()


def test_a_front_page_that_lacks_a_part_is_shown_as_it_is(kernels, folder, out, index):
    """It came to its end: drawn once more it would lack the same."""
    kernels.ends = {"summary": [INCOMPLETE]}

    assert report(out=out, folder=folder) == 1

    assert kernels.names == ["amp", "layout", "summary"]
    assert "<title>INCOMPLETE: " in index()


def test_a_whole_report_has_no_banner(kernels, folder, out, index):
    report(out=out, folder=folder)

    assert 'class="banner"' not in index() and "Not complete" not in index()


def test_the_front_page_does_not_lead_to_itself(kernels, folder, out, index):
    report(out=out, folder=folder)

    assert 'href="index.html"' not in index() and 'href="index.html"' in (out / "amp.html").read_text()


def test_a_notebook_that_failed_in_an_earlier_report_is_not_forgotten(kernels, folder, out, index):
    kernels.ends = {"amp": FAILED}
    report(out=out, folder=folder)

    assert report(out=out, folder=folder, notebooks=["layout"]) == 0

    assert "<title>Not complete: " in index()
    assert "RESUME=1" not in index()  # the newest session has nothing left


def test_an_interruption_skips_the_rest_and_still_draws_the_front_page(kernels, folder, out, index):
    kernels.ends = {"amp": INTERRUPTED}

    assert report(out=out, folder=folder) == 130

    assert kernels.names == ["amp", "summary"]
    assert "INTERRUPTED" in (out / "amp.html").read_text() and not (out / "layout.html").exists()
    assert "<title>Not complete: " in index() and "RESUME=1" in index()
    _, environment = kernels.of("summary")
    assert environment["TRAINSPEED_RENDER"] == str(out)  # nobody waits for a recipe who has pressed Ctrl-C
    rows = told(environment)
    assert rows["layout"]["error"] == "not run: the report was interrupted before"


@pytest.mark.parametrize(("end", "code"), [(FAILED, 1), (INTERRUPTED, 130)])
def test_a_summary_that_does_not_come_to_its_end_is_drawn_from_what_is_there(
    kernels, folder, out, index, end, code
):
    """Else a reader would miss every verdict because a recipe was not finished."""
    kernels.ends = {"summary": [end, OK]}

    assert report(out=out, folder=folder) == code

    assert kernels.names == ["amp", "layout", "summary", "summary"]
    (_, asked, first), (_, given, second) = kernels.calls[2:]
    assert "TRAINSPEED_RENDER" not in first and second["TRAINSPEED_RENDER"] == str(out)
    assert given == asked
    assert told(second)["summary"]["error"] == end[1] and "summary" not in told(first)
    assert "<title>Not complete: " in index() and "RESUME=1" in index()
    assert (out / "summary.failed.ipynb").exists()  # why, and where


def test_a_mistake_in_the_summarys_parameters_leaves_a_front_page_with_its_defaults(
    kernels, folder, out, tmp_path, capsys
):
    kernels.ends = {"summary": [MISTAKEN, OK]}
    file = tmp_path / "p.yaml"
    file.write_text("summary: {blocks: 0}")

    assert report(out=out, folder=folder, params=file) == 2

    assert next(given for name, given, _ in kernels.calls if name == "summary")["blocks"] == 0
    assert kernels.of("summary")[0] == {}
    assert "summary: failed: blocks (=0) is too few\n" in capsys.readouterr().out
    text = (out / "index.html").read_text()
    assert "Not complete" in text and "RESUME=1" not in text  # it would be the same mistake again


def test_a_summary_that_cannot_even_be_drawn_has_a_page_that_says_so(kernels, folder, out, index):
    kernels.ends = {"summary": [FAILED, (NotebookStatus.FAILED, "KeyError: y", False)]}

    assert report(out=out, folder=folder) == 1

    assert "<title>FAILED: " in index() and "ValueError: x" in index()  # the first reason
    assert not (out / "summary.ipynb").exists()


def test_a_front_page_that_only_draws_is_not_drawn_twice(kernels, folder, out):
    kernels.ends = {"summary": [FAILED]}

    assert report(out=out, folder=folder, notebooks=["layout"]) == 1

    assert kernels.names == ["layout", "summary"]


def test_a_disk_that_fills_up_is_one_line(kernels, folder, out, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    report(out=out, folder=folder)
    monkeypatch.setattr(trainspeed.report.notebooks, "export_html", full)

    with pytest.raises(UserError, match=r"cannot write to .*out: No space left on device"):
        report(out=out, folder=folder)
    assert not (out / "amp.html").exists()  # it would pass for this session's


@pytest.mark.parametrize("picked", ["amp", "summary"])
def test_a_page_that_cannot_be_made_fails_its_notebook_only(kernels, folder, out, monkeypatch, picked):
    real = trainspeed.report.notebooks.export_html

    def picky(notebook, *arguments, **options):
        if notebook.stem == picked:
            raise RuntimeError("odd output")
        return real(notebook, *arguments, **options)

    monkeypatch.setattr(trainspeed.report.notebooks, "export_html", picky)

    assert report(out=out, folder=folder) == 1

    assert (out / "layout.html").exists()
    assert not (out / ("index.html" if picked == "summary" else "amp.html")).exists()
    if picked == "amp":
        error = told(kernels.of("summary")[1])["amp"]["error"]
        assert error == "no page could be made of it: RuntimeError: odd output"
