"""What several files of tests of reports share."""

import pytest

import trainspeed.report.notebooks
from report_helper import Kernels, tiny_folder


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "fleet.yaml"
        path.write_text(text)
        return path

    return written


@pytest.fixture
def folder(tmp_path):
    """Small notebooks, for a report with `kernels`."""
    return tiny_folder(tmp_path / "notebooks")


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def kernels(monkeypatch):
    """What stands in for the kernels of a report."""
    stand_in = Kernels()
    monkeypatch.setattr(trainspeed.report.notebooks, "execute", stand_in)
    return stand_in
