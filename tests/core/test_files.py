import pytest

from trainspeed.core import files
from trainspeed.core.files import notebook_names, write_atomically


def test_a_duplicate_that_jupyterlab_made_is_no_study(tmp_path):
    """It has no preset, so that a report of a minute took eight, and its verdicts replaced those of the original."""
    for name in ("layout", "layout-Copy1", "Untitled", "Untitled2", "Copy1", ".hidden"):
        (tmp_path / f"{name}.ipynb").touch()
    assert notebook_names(tmp_path) == ("Copy1", "layout")


def test_the_folder_is_made_and_the_text_is_utf_8(tmp_path):
    target = tmp_path / "new" / "runs.csv"
    write_atomically(target, "größer\n")
    assert target.read_bytes() == "größer\n".encode()


def test_the_old_file_is_replaced_in_one_step(tmp_path, monkeypatch):
    """Until the new one is whole and synced, a reader sees the old one."""
    target = tmp_path / "runs.csv"
    write_atomically(target, "old")
    seen = []
    monkeypatch.setattr(files.os, "fsync", lambda _: seen.append(target.read_text()))
    write_atomically(target, "new")
    assert (seen, target.read_text()) == (["old"], "new")


def test_nothing_is_left_beside_the_target(tmp_path):
    write_atomically(tmp_path / "runs.csv", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]


def test_when_writing_fails_the_old_file_stays_and_the_draft_goes(tmp_path, monkeypatch):
    target = tmp_path / "runs.csv"
    write_atomically(target, "old")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(target, "new")
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]
