import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trainspeed.report.cli as command
from trainspeed.core.errors import UserError
from trainspeed.core.paths import ROOT

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def called(monkeypatch):
    """What the command line hands over, instead of doing it."""
    import trainspeed.report.run

    calls = {}
    for name in ("report", "plan", "render"):

        def note(name=name, **options):
            calls[name] = options

        monkeypatch.setattr(trainspeed.report.run, name, note)
    monkeypatch.setattr(command, "_has_gpu", lambda preset: preset == "auto")
    monkeypatch.setenv("TRAINSPEED_MODEL_FOLDER", "")  # put back afterwards
    return calls


def test_options_reach_the_report(called):
    words = ["--preset", "smoke", "--notebooks", "layout, amp", "--out", "a b", "--params", "p.yaml"]
    words += ["--budget=15m"]
    command.main(["report", *words, "--resume"])

    assert called["report"] == {
        "preset": "smoke",
        "notebooks": ("layout", "amp"),
        "out": Path("a b"),
        "params": Path("p.yaml"),
        "resume": True,
        "has_gpu": False,
        "model": None,
        "budget": "15m",
        "nodes": None,
    }


def test_defaults_are_every_notebook_in_outputs(called):
    command.main(["report"])
    command.main(["plan"])
    command.main(["render", "--from", "data/measured/x"])

    assert called["report"]["notebooks"] == () and str(called["report"]["out"]) == "outputs"
    assert called["report"]["has_gpu"] is True and called["report"]["resume"] is False
    assert called["plan"]["preset"] == "auto"
    assert str(called["render"]["source"]) == "data/measured/x" and str(called["render"]["out"]) == "outputs"


def test_a_model_of_ones_own_is_named_from_where_one_is_and_its_folder_told(called, monkeypatch, tmp_path):
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/my.py").write_text("def build(input_shape, classes, layout): ...")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRAINSPEED_MODEL_FOLDER", "elsewhere")

    command.main(["report", "--model", "./nets/my.py:build"])
    command.main(["plan", "--model", str(tmp_path / "nets/my.py:build")])

    assert called["report"]["model"] == called["plan"]["model"] == "nets/my.py:build"
    assert os.environ["TRAINSPEED_MODEL_FOLDER"] == str(tmp_path)


def test_a_model_of_a_library_is_handed_over_by_its_name(called, capsys):
    command.main(["report", "--model", "timm/resnet18"])
    assert called["report"]["model"] == "timm/resnet18"

    assert command.main(["plan", "--model", "resnet18"]) == command.MISTAKE
    assert "did you mean timm/resnet18?" in capsys.readouterr().err


def test_without_a_model_of_ones_own_those_in_parameter_files_are_seen_from_where_one_is(
    called, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)

    command.main(["report"])

    assert called["report"]["model"] is None
    assert os.environ["TRAINSPEED_MODEL_FOLDER"] == str(tmp_path)


def test_sides_and_their_prices_reach_the_comparison(monkeypatch):
    import trainspeed.report.compare

    calls = []
    note = lambda *sides, **options: calls.append((sides, options))  # noqa: E731
    monkeypatch.setattr(trainspeed.report.compare, "compare_reports", note)
    command.main(["compare", "a b", "new", "--out", "c d", "--usd", "- x"])
    command.main(["compare", "--runs", "a b c", "--usd", "-1 2 3"])
    command.main(["compare"])

    out = {"out": Path("outputs")}
    assert calls == [
        ((["a b", "new"], [None, "x"]), {"out": Path("c d")}),
        ((["a", "b", "c"], [-1.0, 2.0, 3.0]), out),
        (([], []), out),
    ]


def test_what_is_shared_is_a_folder_or_drawn_from_runs(monkeypatch):
    import trainspeed.report.share

    calls = []
    monkeypatch.setattr(trainspeed.report.share, "share", lambda **options: calls.append(options))
    command.main(["share"])
    command.main(["share", "--from", "runs", "--out", "a b"])

    assert calls == [
        {"out": Path("outputs"), "source": None},
        {"out": Path("a b"), "source": Path("runs")},
    ]


def test_data_downloads(monkeypatch):
    done = []
    monkeypatch.setattr("trainspeed.conduct.machine.download", lambda: done.append(1))

    assert command.main(["data"]) == 0 and done == [1]


def test_a_working_directory_that_has_been_deleted_is_one_line(called, monkeypatch, tmp_path, capsys):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert command.main(["report"]) == command.MISTAKE
    assert capsys.readouterr().err == (
        "trainspeed: the working directory has been deleted: change to another one, `cd …`\n"
    )
    assert not called


def test_a_users_mistake_is_one_line_and_2(monkeypatch, capsys):
    def mistaken(options):
        raise UserError("blocks (=0) is too few: try 6.")

    monkeypatch.setattr(command, "_report", mistaken)

    assert command.main(["report"]) == 2
    assert capsys.readouterr().err == "trainspeed: blocks (=0) is too few: try 6.\n"


def test_the_real_command_shows_no_traceback(tmp_path):
    words = [sys.executable, "-m", "trainspeed", "report", "--preset", "no-such-preset"]

    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 2
    assert done.stderr.startswith("trainspeed: ") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def make(*words):
    done = subprocess.run(["make", "-n", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1]


@needs_make
def test_make_hands_over_spaces_and_quotes():
    line = make(
        "report",
        "NOTEBOOKS=layout amp",
        "OUT=it's here",
        "PARAMS=my file.yaml",
        "PRESET=smoke",
        "RESUME=1",
        "MODEL=my model.py:build",
    )

    words = subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True).stdout
    assert words.splitlines()[3:] == [
        "report",
        "--preset",
        "smoke",
        "--notebooks",
        "layout amp",
        "--params",
        "my file.yaml",
        "--model",
        "my model.py:build",
        "--out",
        "it's here",
        "--resume",
    ]


@needs_make
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["A=it's old", "A_USD=1.5"], ["it's old", "", "--out", "outputs", "--usd-of-two=1.5 -"]),
        (["USD=1 2", "B_USD=3"], ["--out", "outputs", "--usd=1 2", "--usd-of-two=- 3"]),
        (["RUNS=a 'b c'", "USD=- 2"], ["--out", "outputs", "--runs", "a 'b c'", "--usd=- 2"]),
        ([], ["--out", "outputs"]),
    ],
)
def test_make_hands_over_all_sides_also_where_one_is_missing(given, words):
    line = make("compare", *given)

    said = subprocess.run(["bash", "-c", f"printf '<%s>\\n' {line}"], capture_output=True, text=True).stdout
    assert said.splitlines()[3:] == [f"<{word}>" for word in ["compare", *words]]


@needs_make
def test_make_hands_over_the_folders_of_a_history():
    said = make("history", "RUNS=ci/1 'ci 2'")
    words = subprocess.run(["bash", "-c", f"printf '<%s>\\n' {said}"], capture_output=True, text=True).stdout
    expected = ["history", "--out", "outputs", "--runs", "ci/1 'ci 2'"]
    assert words.splitlines()[3:] == [f"<{word}>" for word in expected]


@needs_make
def test_parameters_may_stand_in_the_command(called):
    given = "switches: {levers: [compile, 'pin'], blocks: 9}"
    line = make("report", f"PARAMS={given}")
    words = subprocess.run(["bash", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True).stdout
    command.main(words.splitlines()[3:])

    assert called["report"]["params"] == given


@needs_make
@pytest.mark.parametrize("value", ["", "0", "no"])
def test_make_does_not_resume_unasked(value):
    assert "--resume" not in make("report", f"RESUME={value}")
    assert "--params" not in make("report")


@needs_make
def test_a_node_without_a_machines_name_has_none(monkeypatch):
    """`AS` is a variable that make itself gives a value: the assembler's name."""
    assert "--as" not in make("node", "HEAD=10.0.0.5")
    assert make("node", "AS=a10g", "HEAD=10.0.0.5").endswith("node --as 'a10g' --head '10.0.0.5'  ")
    monkeypatch.setenv("AS", "a10g")
    assert "--as 'a10g'" in make("node", "HEAD=10.0.0.5")


@needs_make
def test_make_alone_lists_the_commands():
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)

    for name in (
        "report",
        "plan",
        "render",
        "share",
        "compare",
        "history",
        "setup",
        "data",
        "lab",
        "test",
        "lint",
        "bench",
        "clean",
        "help",
    ):
        assert f"make {name}" in done.stdout


@needs_make
def test_make_clean_keeps_what_was_measured():
    done = subprocess.run(["make", "-n", "clean"], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "outputs" not in done.stdout and "data" not in done.stdout
