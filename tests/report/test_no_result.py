"""What the terminal says of runs without a result, and of a report that was interrupted."""

import pytest

from report_helper import FAILED, INCOMPLETE, INTERRUPTED, measured
from trainspeed.report.run import render, report

CRASHED = {"status": "crashed", "reason": "ValueError: no model\nand more"}
ABSENT = {"status": "unsupported", "reason": "no such instructions here"}


@pytest.mark.parametrize(
    ("runs", "code", "line"),
    [
        ([CRASHED, CRASHED, ABSENT], 1, "3 of 3 runs gave no result: crashed: ValueError: no model"),
        ([{}, CRASHED, ABSENT], 0, "1 of 3 runs gave no result: crashed: ValueError: no model"),
        ([{}, ABSENT], 0, None),
        ([ABSENT], 1, "1 of 1 run gave no result: unsupported: no such instructions here"),
        ([{}], 0, None),
        ([], 0, None),
    ],
)
def test_runs_without_a_result_are_told_in_the_terminal(kernels, folder, out, capsys, runs, code, line):
    """A model that could not be trained at all ended "ok", and a script that called it went on."""
    kernels.runs = {"layout": runs}

    assert report(out=out, folder=folder) == code
    said = f"layout: {'no result' if code else 'ok'}{f': {line}' if line else ''}\n"
    assert said in capsys.readouterr().out
    incomplete = "report is not complete" in (out / "index.html").read_text()
    assert incomplete is (code != 0)  # what `make share` tells a dashboard

    kernels.runs = {}
    if runs:
        assert render(out=out, folder=folder) == code
        assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("runs", "end", "parts"),
    [
        ([CRASHED], INCOMPLETE, ("1 of 1 run gave no result: crashed: ValueError: no model", INCOMPLETE[1])),
        (
            [{}, CRASHED],
            INCOMPLETE,
            (INCOMPLETE[1], "1 of 2 runs gave no result: crashed: ValueError: no model"),
        ),
        ([CRASHED], FAILED, (FAILED[1], "1 of 1 run gave no result: crashed: ValueError: no model")),
    ],
)
def test_that_no_run_gave_a_result_comes_before_what_could_not_be_shown_for_it(
    kernels, folder, out, capsys, runs, end, parts
):
    kernels.runs, kernels.ends = {"layout": runs}, {"layout": end}

    assert report(out=out, folder=folder) == 1
    assert ": ".join([f"layout: {end[0]}", *parts]) + "\n" in capsys.readouterr().out


def test_runs_of_an_older_session_are_not_told_again(kernels, folder, out, capsys):
    kernels.runs = {"layout": [CRASHED]}
    report(out=out, folder=folder)
    kernels.runs = {}
    capsys.readouterr()

    assert report(out=out, folder=folder) == 0
    assert "layout: ok\n" in capsys.readouterr().out


def test_a_run_that_was_mended_by_resuming_is_no_failure(kernels, folder, out, capsys):
    kernels.runs = {"layout": [CRASHED]}
    assert report(out=out, folder=folder) == 1
    kernels.runs = {"layout": [{}]}
    capsys.readouterr()

    assert report(out=out, folder=folder, resume=True) == 0
    assert "layout: ok\n" in capsys.readouterr().out


def test_runs_of_the_front_page_count_too(kernels, folder, out, capsys):
    kernels.runs = {"summary": [CRASHED]}

    assert report(out=out, folder=folder, notebooks=["summary"]) == 1
    assert (
        "summary: no result: 1 of 1 run gave no result: crashed: ValueError: no model\n"
        in capsys.readouterr().out
    )


HOW_TO_GO_ON = "What was measured is kept: the same command with RESUME=1 goes on.\n"


def test_an_interrupted_report_says_how_to_go_on(kernels, folder, out, capsys):
    kernels.ends = {"amp": INTERRUPTED}
    report(out=out, folder=folder)
    assert HOW_TO_GO_ON in capsys.readouterr().out

    kernels.ends = {"amp": INTERRUPTED}
    measured(out, "amp", "1")
    render(out=out, folder=folder)
    assert HOW_TO_GO_ON not in capsys.readouterr().out
