"""A report with a stand-in for the kernels, and one with real ones."""

import json
import signal

import nbformat
import pytest

import trainspeed.report
from tiny_notebooks import write
from trainspeed.errors import UserError
from trainspeed.execute import Outcome, Result
from trainspeed.output_folder import LEAST_FREE_BYTES, locked
from trainspeed.report import plan, render, report


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "notebooks"
    for name in ("amp", "layout", "summary"):
        write(made, name)
    (made / "presets").mkdir()
    (made / "presets/quick.yaml").write_text("layout: {blocks: 8}\n")
    (made / "presets/standard.yaml").write_text("")
    return made


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


class Kernels:
    """Stands in for `execute`: notes what it was given and ends as it was told to."""

    def __init__(self):
        self.calls = []
        self.ends = {}

    def __call__(self, source, out, parameters, *, environment, interruption, metadata, **_):
        self.calls.append((source.stem, dict(parameters), dict(environment)))
        outcome, error, mistake = self.ends.get(source.stem, (Outcome.OK, None, False))
        if outcome is Outcome.INTERRUPTED:
            signal.raise_signal(signal.SIGINT)
            assert interruption.asked
        suffix = "" if outcome is Outcome.OK else ".failed"
        path = out / f"{source.stem}{suffix}.ipynb"
        notebook = nbformat.read(source, 4)
        notebook.metadata["trainspeed"] = {**metadata, "status": str(outcome), "error": error, "cell": None}
        nbformat.write(notebook, path)
        return Result(
            name=source.stem, title="T", outcome=outcome, seconds=1.0, error=error, mistake=mistake, path=path
        )

    @property
    def names(self):
        return [name for name, _, _ in self.calls]


@pytest.fixture
def kernels(monkeypatch):
    stand_in = Kernels()
    monkeypatch.setattr(trainspeed.report, "execute", stand_in)
    return stand_in


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def measured(out, study, session, **values):
    """Append a line to the ledger."""
    trial = {
        "framework": "torch",
        "model": "cnn10",
        "layout": "channels_last",
        "batch_size": 8,
        "images_per_epoch": 64,
        "epochs": 3,
        "dataset": "digits",
    }
    run = {
        "schema": 1,
        "session": session,
        "study": study,
        "trial": trial,
        "block": 0,
        "status": "ok",
        **values,
    }
    out.mkdir(exist_ok=True)
    with (out / "runs.jsonl").open("a") as file:
        file.write(json.dumps(run) + "\n")


def test_runs_every_notebook_but_the_summary_with_the_presets_parameters(kernels, folder, out, capsys):
    assert report(out=out, folder=folder) == 0

    assert kernels.names == ["amp", "layout"]
    _, parameters, environment = kernels.calls[1]
    assert parameters == {"blocks": 8, "batch_sizes": [32, 64]}
    (line,) = lines(out / "sessions.jsonl")
    assert environment == {
        "TRAINSPEED_REPORT": "1",
        "TRAINSPEED_OUT": str(out),
        "TRAINSPEED_SESSION": line["session"],
        "TRAINSPEED_PRESET": "quick",
    }
    assert line["parameters"]["layout"] == parameters and line["notebooks"] == ["amp", "layout"]
    assert set(line) == {"session", "preset", "notebooks", "parameters", "started_at", "version"}
    printed = capsys.readouterr().out
    for path in ("layout.ipynb", "layout.html", "index.html"):
        assert (out / path).exists() and f"out/{path}\n" in printed


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
        ({"amp": (Outcome.FAILED, "ValueError: x", False)}, 1),
        ({"amp": (Outcome.FAILED, "blocks (=0) is too few", True)}, 2),
        ({n: (Outcome.FAILED, n, n == "amp") for n in ("amp", "layout")}, 1),
        ({"amp": (Outcome.INTERRUPTED, "interrupted", False)}, 130),
    ],
)
def test_the_exit_code_says_how_it_ended(kernels, folder, out, ends, code):
    kernels.ends = ends

    assert report(out=out, folder=folder) == code


def test_one_failure_does_not_stop_the_others(kernels, folder, out, capsys):
    kernels.ends = {"amp": (Outcome.FAILED, "ValueError: x", False)}

    report(out=out, folder=folder)

    assert kernels.names == ["amp", "layout"]
    assert "FAILED" in (out / "amp.html").read_text() and "ValueError: x" in (out / "index.html").read_text()
    assert "amp: failed: ValueError: x" in capsys.readouterr().out


def test_an_interruption_skips_the_rest_and_still_renders(kernels, folder, out):
    kernels.ends = {"amp": (Outcome.INTERRUPTED, "interrupted", False)}

    report(out=out, folder=folder)

    assert kernels.names == ["amp"]
    assert "INTERRUPTED" in (out / "amp.html").read_text() and not (out / "layout.html").exists()
    assert "not run: the report was interrupted before" in (out / "index.html").read_text()


def test_resuming_continues_the_newest_session_with_its_own_parameters(kernels, folder, out):
    file = folder / "mine.yaml"
    file.write_text("layout: {blocks: 3}")
    report(out=out, folder=folder)
    report(out=out, folder=folder, notebooks=["layout"], params_file=file)
    kernels.calls.clear()

    assert report(out=out, folder=folder, resume=True) == 0

    ((name, parameters, environment),) = kernels.calls
    sessions = lines(out / "sessions.jsonl")
    assert len(sessions) == 2  # no new one
    assert (name, parameters["blocks"]) == ("layout", 3)
    assert environment["TRAINSPEED_SESSION"] == sessions[1]["session"]
    assert environment["TRAINSPEED_RESUME"] == "1"


def test_resuming_runs_only_the_notebooks_that_are_named(kernels, folder, out, capsys):
    report(out=out, folder=folder)
    kernels.calls.clear()

    assert report(out=out, folder=folder, notebooks=["layout"], resume=True) == 0

    assert kernels.names == ["layout"]
    assert len(lines(out / "sessions.jsonl")) == 1
    assert capsys.readouterr().out.count("preset quick: layout\n") == 1


def test_resuming_a_notebook_that_the_session_does_not_have_is_one_line(kernels, folder, out):
    report(out=out, folder=folder, notebooks=["layout"])
    kernels.calls.clear()

    with pytest.raises(
        UserError, match=r"has no notebook 'amp' to continue: .* layout, or leave RESUME out$"
    ):
        report(out=out, folder=folder, notebooks=["layout", "amp"], resume=True)

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
        ({"params": "layout: {blocks: x}"}, "blocks must be int"),
    ],
)
def test_mistakes_are_found_before_anything_runs(kernels, folder, out, tmp_path, options, message):
    if text := options.pop("params", None):
        options["params_file"] = tmp_path / "p.yaml"
        options["params_file"].write_text(text)

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
        free = LEAST_FREE_BYTES - 1

    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)

    with pytest.raises(UserError, match="has 100 MiB free"):
        report(out=out, folder=folder)
    assert not kernels.calls


def test_a_disk_that_fills_up_is_one_line(kernels, folder, out, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(trainspeed.report, "export_html", full)
    (out / "amp.html").parent.mkdir()
    (out / "amp.html").write_text("older")

    with pytest.raises(UserError, match=r"cannot write to .*out: No space left on device"):
        report(out=out, folder=folder)
    assert not (out / "amp.html").exists()  # it would pass for this session's


def test_a_page_that_cannot_be_made_fails_its_notebook_only(kernels, folder, out, monkeypatch):
    real = trainspeed.report.export_html

    def picky(notebook, *arguments, **options):
        if notebook.stem == "amp":
            raise RuntimeError("odd output")
        return real(notebook, *arguments, **options)

    monkeypatch.setattr(trainspeed.report, "export_html", picky)

    assert report(out=out, folder=folder) == 1
    assert (out / "layout.html").exists() and not (out / "amp.html").exists()
    assert "no page could be made of it: RuntimeError: odd output" in (out / "index.html").read_text()


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


def test_the_front_page_shows_the_machine_and_data_of_this_session(kernels, folder, out, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _: "abcd")
    measured(out, "layout", "older", machine={"cpu": "Old CPU"})

    class Measuring(Kernels):
        def __call__(self, source, out, *arguments, environment, **options):
            session = environment["TRAINSPEED_SESSION"]
            measured(out, source.stem, session, machine={"cpu": "New CPU", "gpus": []})
            return super().__call__(source, out, *arguments, environment=environment, **options)

    monkeypatch.setattr(trainspeed.report, "execute", Measuring())
    report(out=out, folder=folder)

    html = (out / "index.html").read_text()
    assert "New CPU" in html and "Old CPU" not in html and "the digits of scikit-learn" in html


def test_rendering_takes_the_newest_session_of_each_study(kernels, folder, out, tmp_path, capsys):
    source = tmp_path / "source"
    for study, session in (("layout", "20260101T1"), ("layout", "20260102T1"), ("amp", "20260101T1")):
        measured(source, study, session)
    measured(source, "conv2d", "20260101T1")  # a study without a notebook
    old = {"session": "20260102T1", "preset": "smoke", "notebooks": ["layout"]}
    old["parameters"] = {"layout": {"blocks": 1, "batch_sizes": [7], "renamed_since": 3}}
    (source / "sessions.jsonl").write_text("{damaged\n" + json.dumps(old) + "\n")

    assert render(out=out, source=source, folder=folder) == 0

    calls = {name: (parameters, environment) for name, parameters, environment in kernels.calls}
    assert list(calls) == ["amp", "layout"]
    parameters, environment = calls["layout"]
    assert parameters == {"blocks": 1, "batch_sizes": [7]}
    assert environment["TRAINSPEED_SESSION"] == "20260102T1"
    assert environment["TRAINSPEED_RENDER"] == str(source) and environment["TRAINSPEED_OUT"] == str(out)
    assert calls["amp"][1]["TRAINSPEED_SESSION"] == "20260101T1"
    assert "unknown parameter 'renamed_since'" in capsys.readouterr().out
    assert not (out / "sessions.jsonl").exists()  # it measures nothing


def test_rendering_nothing_is_one_line(kernels, folder, out):
    with pytest.raises(UserError, match=r"no runs\.jsonl in .*out"):
        render(out=out, folder=folder)
    measured(out, "conv2d", "s")
    with pytest.raises(UserError, match=r"no notebook has the name of a study there \(conv2d\)"):
        render(out=out, folder=folder)


@pytest.mark.slow
def test_real_kernels_from_parameters_to_front_page(folder, out, tmp_path):
    """The whole way, with one notebook that fails."""
    write(folder, "layout", "print('blocks are', blocks)")
    write(folder, "amp", "open('/nowhere/at all')")

    assert report(out=out, folder=folder) == 1

    assert "blocks are 8" in (out / "layout.html").read_text()
    assert "FileNotFoundError" in (out / "amp.html").read_text()
    names = {path.name for path in out.iterdir()}
    assert names == {
        ".lock",
        "amp.failed.ipynb",
        "amp.html",
        "index.html",
        "layout.html",
        "layout.ipynb",
        "sessions.jsonl",
    }
    for name in names:
        assert str(tmp_path) not in (out / name).read_text(), name


@pytest.mark.slow
def test_a_plan_prints_what_the_notebooks_tell_and_writes_nothing(folder, out, capfd):
    cell = (
        "import os, sys\nfrom trainspeed.errors import PlanOnly\nprint('noise', file=sys.stderr)\n"
        "print(os.environ['TRAINSPEED_PLAN'], 'plan:', blocks)\nraise PlanOnly"
    )
    write(folder, "layout", cell)

    assert plan(notebooks=["layout"], out=out, folder=folder) == 0

    assert capfd.readouterr() == ("1 plan: 8\n", "")
    assert not out.exists()
