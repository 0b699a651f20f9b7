import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import trainspeed.__main__ as command
from trainspeed.environments import ROOT
from trainspeed.errors import UserError

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


@pytest.fixture
def called(monkeypatch):
    """What the command line hands over, instead of doing it."""
    import trainspeed.report

    calls = {}
    for name in ("report", "plan", "render"):

        def note(name=name, **options):
            calls[name] = options

        monkeypatch.setattr(trainspeed.report, name, note)
    monkeypatch.setattr(command, "_has_gpu", lambda preset: preset == "auto")
    return calls


def test_options_reach_the_report(called):
    words = ["--preset", "smoke", "--notebooks", "layout, amp", "--out", "a b", "--params", "p.yaml"]
    command.main(["report", *words, "--resume"])

    assert called["report"] == {
        "preset": "smoke",
        "notebooks": ("layout", "amp"),
        "out": Path("a b"),
        "params_file": Path("p.yaml"),
        "resume": True,
        "has_gpu": False,
    }


def test_defaults_are_every_notebook_in_outputs(called):
    command.main(["report"])
    command.main(["plan"])
    command.main(["render", "--from", "data/measured/x"])

    assert called["report"]["notebooks"] == () and str(called["report"]["out"]) == "outputs"
    assert called["report"]["has_gpu"] is True and called["report"]["resume"] is False
    assert called["plan"]["preset"] == "auto"
    assert str(called["render"]["source"]) == "data/measured/x" and str(called["render"]["out"]) == "outputs"


def test_data_downloads(monkeypatch):
    done = []
    monkeypatch.setattr("trainspeed.datasets.download", lambda: done.append(1))

    assert command.main(["data"]) == 0 and done == [1]


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
        "report", "NOTEBOOKS=layout amp", "OUT=it's here", "PARAMS=my file.yaml", "PRESET=smoke", "RESUME=1"
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
        "--out",
        "it's here",
        "--resume",
    ]


@needs_make
@pytest.mark.parametrize("value", ["", "0", "no"])
def test_make_does_not_resume_unasked(value):
    assert "--resume" not in make("report", f"RESUME={value}")
    assert "--params" not in make("report")


@needs_make
def test_make_alone_lists_the_commands():
    done = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True)

    for name in (
        "report",
        "plan",
        "render",
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
