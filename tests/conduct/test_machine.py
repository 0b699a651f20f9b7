import re
import sys

import pytest

from trainspeed.conduct import machine
from trainspeed.conduct.machine import find_interpreter
from trainspeed.core.errors import UserError

VARIABLE = "TRAINSPEED_PYTHON_TORCH"


@pytest.fixture(autouse=True)
def nothing_there(tmp_path, monkeypatch):
    """Nothing was built, no variable is set, and the current interpreter has no framework."""
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.delenv(VARIABLE, raising=False)


def built(root, framework):
    """Make what `make setup` would have made."""
    python = root / ".venvs" / framework / "bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    return str(python)


def test_the_variable_comes_before_what_setup_built(tmp_path, monkeypatch):
    built(tmp_path, "torch")
    monkeypatch.setenv(VARIABLE, sys.executable)
    assert find_interpreter("torch") == sys.executable


def test_what_setup_built_comes_before_the_current_interpreter(tmp_path, monkeypatch):
    python = built(tmp_path, "torch")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    assert find_interpreter("torch") == python


def test_the_current_interpreter_serves_where_it_has_the_framework(monkeypatch):
    asked = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: asked.append(name) or name)
    assert (find_interpreter("torch"), asked) == (sys.executable, ["torch"])


def test_a_framework_that_is_nowhere_has_no_interpreter(tmp_path):
    built(tmp_path, "torch")
    assert find_interpreter("tensorflow") is None


def test_an_empty_variable_is_none(monkeypatch):
    monkeypatch.setenv(VARIABLE, "")
    assert find_interpreter("torch") is None


def test_another_frameworks_variable_does_not_count(monkeypatch):
    monkeypatch.setenv("TRAINSPEED_PYTHON_JAX", sys.executable)
    assert find_interpreter("torch") is None


@pytest.mark.parametrize("kind", ["nothing", "folder", "text"])
def test_a_variable_that_names_no_program_is_told(tmp_path, monkeypatch, kind):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("not a program")
        path.chmod(0o644)
    monkeypatch.setenv(VARIABLE, str(path))
    message = f"{VARIABLE} (={str(path)!r}) is not a program: give the path of a Python interpreter."
    with pytest.raises(UserError, match=re.escape(message)):
        find_interpreter("torch")


def test_looking_for_a_framework_does_not_import_it(tmp_path, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    monkeypatch.delenv("TRAINSPEED_PYTHON_MADEUP", raising=False)
    (tmp_path / "madeup.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_interpreter("madeup") == sys.executable
