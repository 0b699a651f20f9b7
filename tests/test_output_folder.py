"""Where a report may be written: never over someone else's files, never into the project's own folders."""

import json
import os
import stat

import pytest

from tiny_notebooks import text
from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.export import export_html
from trainspeed.output_folder import COMPARE, LOCK, SOURCES, locked
from trainspeed.run import Run, Status
from trainspeed.trial import Trial

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
VERDICT = {"session": "s", "study": "layout", "outcome": "faster", "sentence": "x"}
NOTEBOOK = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
FOREIGN = {
    "index.html": "<!DOCTYPE html><title>My garden</title><p>Made with Trainspeed in mind.",
    "layout.html": "<p>a page about layouts",
    f"{COMPARE}.html": "<p>prices",
    "layout.ipynb": json.dumps(NOTEBOOK),
    "amp.failed.ipynb": "{not JSON",
    "runs.jsonl": '{"km": 12, "date": "2026-05-01"}\n',
    "sessions.jsonl": '{"session": "yoga", "at": "18:00"}\n',
    "runs.csv": "date,km,minutes\n2026-05-01,12,61\n",
    "verdicts.json": '{"guilty": 3}',
    "monitor": "a file, where a report makes a folder",
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


def write_report(out):
    """Write one of everything that a report writes."""
    out.mkdir()
    line = json.dumps(RUN.as_dict())
    (out / "runs.jsonl").write_text(line + "\n" + line[:70])  # the last is cut off
    (out / "sessions.jsonl").write_text('{"session": "s", "preset": "quick", "notebooks": ["layout"]}\n')
    (out / "runs.csv").write_text("framework,session,study,label,block,status\n")
    (out / "verdicts.json").write_text(json.dumps([VERDICT]))
    (out / "monitor").mkdir()
    executed = {**NOTEBOOK, "metadata": {"trainspeed": {"status": "ok"}}}
    executed["cells"] = [text("# A question")]
    for name in ("layout.ipynb", "amp.failed.ipynb", f"{COMPARE}.ipynb"):
        (out / name).write_text(json.dumps(executed))
    for name in ("index", "layout", COMPARE):
        export_html(out / "layout.ipynb", out / f"{name}.html", pictures=out)


@pytest.mark.parametrize("name", FOREIGN)
def test_a_file_that_no_report_wrote_is_not_written_over(name, tmp_path):
    (tmp_path / name).write_text(FOREIGN[name])
    before = contents(tmp_path)

    message = refusal(tmp_path)

    assert f"holds {name}, which no report wrote" in message
    assert contents(tmp_path) == before, "not even a lock"


def test_a_file_of_someone_else_amid_a_report_is_not_written_over_either(tmp_path):
    out = tmp_path / "out"
    write_report(out)
    (out / "index.html").write_text(FOREIGN["index.html"])
    before = contents(out)

    assert "holds index.html, which" in refusal(out)
    assert contents(out) == before


def test_of_many_files_three_are_named_in_one_line(tmp_path):
    for name, content in FOREIGN.items():
        (tmp_path / name).write_text(content)

    assert f"holds amp.failed.ipynb, compare.html, index.html and {len(FOREIGN) - 3} more," in refusal(
        tmp_path
    )


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)])
def test_what_is_no_file_is_nobodys_page(make, tmp_path):
    make(tmp_path / "layout.html")

    assert "holds layout.html" in refusal(tmp_path)


def test_a_report_is_written_again_into_its_own_folder(tmp_path):
    out = tmp_path / "out"
    write_report(out)

    with locked(out):
        assert (out / LOCK).exists()


def test_each_file_of_a_report_is_recognised_alone(tmp_path):
    """Someone copied one page, or removed the ledger."""
    out = tmp_path / "out"
    write_report(out)
    for number, path in enumerate(sorted(out.iterdir())):
        alone = tmp_path / str(number)
        alone.mkdir()
        path.rename(alone / path.name)
        with locked(alone):
            pass


def test_a_page_from_before_there_was_a_mark_is_recognised_by_its_end(tmp_path):
    old = (
        "<html>"
        + "x" * 300_000
        + "<footer>\n<p>session s · preset quick · Trainspeed 0.1.0</p>\n</footer>\n</html>"
    )
    (tmp_path / "index.html").write_text(old)

    with locked(tmp_path):
        pass


def test_other_files_and_empty_ones_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "thesis.html").write_text("mine")
    (tmp_path / "runs.jsonl").touch()  # a report that ended before its first run
    before = contents(tmp_path)

    with locked(tmp_path):
        pass

    assert {name: content for name, content in contents(tmp_path).items() if name != LOCK} == before


def test_a_damaged_list_of_verdicts_is_no_reason_to_stop(tmp_path):
    """A notebook keeps it under another name."""
    (tmp_path / "verdicts.json").write_text('[{"study": "lay')

    with locked(tmp_path):
        pass


@pytest.mark.parametrize("name", ["", "data", *SOURCES, "lib/trainspeed/backends", "notebooks/new"])
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
    monkeypatch.setattr("trainspeed.output_folder.ROOT", tmp_path)

    for name in ("outputs", "data/measured/laptop"):
        with locked(tmp_path / name):
            pass


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
        assert stat.S_ISREG((tmp_path / "real" / LOCK).stat().st_mode)
