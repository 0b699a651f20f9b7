import re
import sys

import pytest

from trainspeed.conduct.interpreters import find_interpreter
from trainspeed.core.errors import UserError


def built(root, framework):
    """Make what `make setup` would have made."""
    python = root / ".venvs" / framework / "bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    return str(python)


def everything(_):
    return True


def nothing(_):
    return False


def test_the_variable_comes_before_what_setup_built(tmp_path):
    built(tmp_path, "torch")
    named = {"TRAINSPEED_PYTHON_TORCH": sys.executable}
    assert find_interpreter("torch", environment=named, root=tmp_path, is_installed=nothing) == sys.executable


def test_what_setup_built_comes_before_the_current_interpreter(tmp_path):
    python = built(tmp_path, "torch")
    assert find_interpreter("torch", environment={}, root=tmp_path, is_installed=everything) == python


def test_the_current_interpreter_serves_where_it_has_the_framework(tmp_path):
    asked = []
    found = find_interpreter(
        "jax", environment={}, root=tmp_path, is_installed=lambda name: not asked.append(name)
    )
    assert (found, asked) == (sys.executable, ["jax"])


def test_a_framework_that_is_nowhere_has_no_interpreter(tmp_path):
    built(tmp_path, "torch")
    assert find_interpreter("tensorflow", environment={}, root=tmp_path, is_installed=nothing) is None


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_variable_is_none(tmp_path, value):
    environment = {} if value is None else {"TRAINSPEED_PYTHON_TORCH": value}
    assert find_interpreter("torch", environment=environment, root=tmp_path, is_installed=nothing) is None


def test_another_frameworks_variable_does_not_count(tmp_path):
    environment = {"TRAINSPEED_PYTHON_JAX": sys.executable}
    assert find_interpreter("torch", environment=environment, root=tmp_path, is_installed=nothing) is None


@pytest.mark.parametrize("kind", ["nothing", "folder", "text"])
def test_a_variable_that_names_no_program_is_told(tmp_path, kind):
    path = tmp_path / kind
    if kind == "folder":
        path.mkdir()
    elif kind == "text":
        path.write_text("not a program")
        path.chmod(0o644)
    message = (
        f"TRAINSPEED_PYTHON_TORCH (={str(path)!r}) is not a program: give the path of a Python interpreter."
    )
    with pytest.raises(UserError, match=re.escape(message)):
        find_interpreter(
            "torch",
            environment={"TRAINSPEED_PYTHON_TORCH": str(path)},
            root=tmp_path,
            is_installed=everything,
        )


def test_looking_for_a_framework_does_not_import_it(tmp_path, monkeypatch):
    (tmp_path / "torch.py").write_text("raise AssertionError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_interpreter("torch", environment={}, root=tmp_path) == sys.executable
