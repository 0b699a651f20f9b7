"""Where a report may be written: never over someone else's files, never into the project's own folders."""

import json
import os
import stat

import pytest

from trainspeed.core.errors import UserError
from trainspeed.core.files import COMPARE
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run, Status
from trainspeed.core.trial import Trial
from trainspeed.report.output_folder import MARKER, SOURCES, locked

TRIAL = Trial(
    framework="torch",
    model="cnn10",
    layout="channels_last",
    batch_size=8,
    images_per_epoch=64,
    epochs=3,
    dataset="digits",
)
RUN = Run(session="s", study="layout", trial=TRIAL, block=0, status=Status.OK)
REQUEST = {"session": "s", "preset": "quick", "notebooks": ["layout"], "parameters": {}}
FOREIGN = {
    "index.html": "<!DOCTYPE html><title>My garden</title><p>Made with Trainspeed in mind.",
    "layout.html": "<p>a page about layouts",
    f"{COMPARE}.html": "<p>prices",
    "layout.ipynb": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    "amp.failed.ipynb": "{not JSON",
    "runs.jsonl": '{"km": 12, "date": "2026-05-01"}\n',
    "sessions.jsonl": '{"session": "yoga", "at": "18:00"}\n',
    "runs.csv": "date,km,minutes\n2026-05-01,12,61\n",
    "verdicts.json": '{"guilty": 3}',
}


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else None
        for path in folder.rglob("*")
    }


def names_in(folder):
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else None


def refusal(out):
    """Return the one line that refuses the folder, which is then as it was."""
    with pytest.raises(UserError) as caught, locked(out):
        pass
    message = str(caught.value)
    assert "\n" not in message and message.endswith("name another folder, OUT=…")
    return message


def write_pages(out):
    for name in ("index.html", "layout.html", "layout.ipynb", "verdicts.json", "runs.csv"):
        (out / name).write_text("of a report")


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_no_report_wrote_is_not_written_over(name, tmp_path):
    (tmp_path / name).write_text(FOREIGN[name])
    before = contents(tmp_path)

    message = refusal(tmp_path)

    assert f"it holds {name}, and no {MARKER}" in message
    assert contents(tmp_path) == before, "not even a lock"


def test_of_many_files_three_are_named_in_one_line(tmp_path):
    for name, content in FOREIGN.items():
        (tmp_path / name).write_text(content)

    more = f"{len(FOREIGN) - 3} more, and no {MARKER}"
    assert f"it holds amp.failed.ipynb, compare.html, index.html and {more}" in refusal(tmp_path)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)])
def test_what_is_no_file_is_nobodys_page(make, tmp_path):
    with locked(tmp_path):
        make(tmp_path / "layout.html")

    assert "holds layout.html" in refusal(tmp_path)


def test_a_report_is_written_again_into_its_own_folder(tmp_path):
    with locked(tmp_path / "out"):
        write_pages(tmp_path / "out")

    with locked(tmp_path / "out"):
        assert "Trainspeed" in (tmp_path / "out" / MARKER).read_text()


def test_pages_that_were_copied_without_the_mark_are_not_written_over(tmp_path):
    write_pages(tmp_path)

    assert f"no {MARKER}, which a report leaves" in refusal(tmp_path)


@pytest.mark.parametrize(("name", "line"), [("runs.jsonl", RUN.as_dict()), ("sessions.jsonl", REQUEST)])
def test_a_folder_with_runs_or_requests_needs_no_mark(name, line, tmp_path):
    """Of an earlier version, or measured in JupyterLab. The last line may be cut off."""
    write_pages(tmp_path)
    (tmp_path / name).write_text(json.dumps(line) + "\n" + json.dumps(line)[:70])

    with locked(tmp_path):
        assert (tmp_path / MARKER).exists()


def test_runs_of_another_schema_are_runs(tmp_path):
    (tmp_path / "runs.jsonl").write_text(json.dumps({**RUN.as_dict(), "schema": 99}) + "\n")

    with locked(tmp_path):
        assert (tmp_path / MARKER).exists()


def test_other_files_and_empty_ones_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "thesis.html").write_text("mine")
    (tmp_path / "runs.jsonl").touch()  # a report that ended before its first run
    before = contents(tmp_path)

    with locked(tmp_path):
        pass

    assert {name: content for name, content in contents(tmp_path).items() if name != MARKER} == before


@pytest.mark.parametrize("name", ["", "data", *SOURCES, "lib/trainspeed/worker/backends", "notebooks/new"])
def test_the_projects_own_folders_are_refused(name):
    before = names_in(ROOT / name)

    assert "it is a folder of the project itself" in refusal(ROOT / name)
    assert names_in(ROOT / name) == before


def test_a_link_to_the_projects_own_folder_is_refused(tmp_path):
    (tmp_path / "out").symlink_to(ROOT / "notebooks")

    assert "it is a folder of the project itself" in refusal(tmp_path / "out")


def test_every_folder_of_the_project_with_something_in_it_is_known():
    """A new one is entered in SOURCES; what is left over is ignored by git."""
    ignored = {line.strip().strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - ignored
    assert folders - {"data", "shared"} <= set(SOURCES)


def test_recorded_runs_have_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("trainspeed.report.output_folder.ROOT", tmp_path)

    for name in ("outputs", "data/measured/laptop"):
        with locked(tmp_path / name):
            assert (tmp_path / name / MARKER).exists()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "out").write_text("mine")

    assert "out (it is a file)" in refusal(tmp_path / "out")
    assert "Not a directory" in refusal(tmp_path / "out" / "deeper")
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize("target", ["nowhere", "out"])
def test_a_link_to_nowhere_is_no_folder(target, tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / target)

    assert "out (it is a link to nowhere)" in refusal(tmp_path / "out")
    assert not (tmp_path / "nowhere").exists()


def test_a_link_to_a_folder_is_one(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")

    with locked(tmp_path / "out"):
        assert stat.S_ISREG((tmp_path / "real" / MARKER).stat().st_mode)
