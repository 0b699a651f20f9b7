"""CONTRIBUTING's "To add …": every file that it names is there, and every name in a file."""

import ast
import re

import pytest

from trainspeed.core.paths import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PLACE = re.compile(r"`((?:\w+/)+[\w.]*|\w+\.toml)(?::(\w+))?`")
FOLDERS = (ROOT / "lib/trainspeed", ROOT)


def places(text):
    """Return (path, name or None) of everything that a text names as `path/file.py:NAME`."""
    return sorted({(match[1], match[2]) for match in PLACE.finditer(text)}, key=str)


def found(path):
    return next((folder / path for folder in FOLDERS if (folder / path).exists()), None)


def defined(path):
    """Return the names that a module defines or imports at its top."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        targets = getattr(node, "targets", [getattr(node, "target", None)])
        names |= {n.id for t in targets if t is not None for n in ast.walk(t) if isinstance(n, ast.Name)}
        names |= {getattr(node, "name", None)} | {a.asname or a.name for a in getattr(node, "names", ())}
    return names


def test_it_names_many_places():
    assert len(places(TEXT)) > 25


@pytest.mark.parametrize(("path", "name"), places(TEXT), ids=str)
def test_what_it_names_is_there(path, name):
    where = found(path)
    assert where, path
    assert name is None or name in defined(where)


def test_the_check_can_fail():
    assert found("core/nothing.py") is None
    assert "MISSING" not in defined(ROOT / "lib/trainspeed/core/trial.py")
    assert places("in `core/trial.py:GONE` and `worker/`") == [("core/trial.py", "GONE"), ("worker/", None)]
