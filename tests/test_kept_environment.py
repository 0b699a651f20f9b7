"""What `make` does to a `.venv` that is there: it keeps its Python, and is not lost where nothing can be fetched."""

import shutil
import subprocess
import sys

import pytest

import setup_environments as environments


@pytest.fixture
def there(monkeypatch, tmp_path):
    """A `.venv` that was built, in a checkout of its own."""
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.delenv("PYTHON", raising=False)
    (tmp_path / "requirements").mkdir()
    for name in ("requirements/report.txt", "pyproject.toml"):
        (tmp_path / name).touch()
    folder = tmp_path / ".venv"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin/python").symlink_to(sys.executable)
    (folder / environments.STAMP).write_text("as it was built")
    return folder


def test_an_environment_keeps_its_own_python_unless_another_one_is_named(there, monkeypatch):
    assert environments.own_python() == str(there / "bin/python")
    monkeypatch.setenv("PYTHON", "python3.12")
    assert environments.own_python() is None


@pytest.mark.parametrize("missing", ["bin/python", environments.STAMP])
def test_an_environment_that_is_not_whole_is_built_with_the_python_at_hand(there, missing):
    (there / missing).unlink()
    assert environments.own_python() is None


def test_the_script_goes_on_in_the_python_of_the_environment(there, tmp_path):
    """Whatever starts it: that of the environment is a script here, and says with what it was called."""
    (there / "bin/python").unlink()
    (there / "bin/python").write_text('#!/bin/sh\necho kept "$2"\n')
    (there / "bin/python").chmod(0o755)
    script = tmp_path / "lib/setup_environments.py"
    script.parent.mkdir()
    shutil.copy(environments.__file__, script)
    done = subprocess.run(
        [sys.executable, str(script), "--fleet"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "kept --fleet\n")


def test_an_environment_that_cannot_be_built_anew_is_put_back(there, monkeypatch):
    """As without a network: it is cleared first, and nothing is fetched."""

    def fail(*command):
        there.mkdir()
        (there / "half").touch()
        return False

    monkeypatch.setattr(environments, "_run", fail)
    with pytest.raises(SystemExit, match=r"could not make \.venv"):
        environments.build_notebook_environment()
    assert (there / environments.STAMP).read_text() == "as it was built"
    assert not (there / "half").exists() and not list((there.parent / ".venvs").iterdir())


def test_an_environment_that_was_built_anew_leaves_nothing_of_the_earlier_one(there, monkeypatch):
    monkeypatch.setattr(environments, "_run", lambda *command: there.mkdir(exist_ok=True) or True)
    monkeypatch.setattr(environments, "install", lambda folder, pins: True)
    environments.build_notebook_environment()
    assert (there / environments.STAMP).read_text() != "as it was built"
    assert not list((there.parent / ".venvs").iterdir())
