"""What nodes that were killed have left is removed by the next one; what others still use is not."""

import os
import subprocess
import sys
import tempfile

import pytest

from trainspeed.conduct.cluster import node_folder
from trainspeed.conduct.cluster.node_folder import LOCK, PREFIX, NodeFolder


@pytest.fixture(autouse=True)
def temporary(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_next_node_removes_what_a_killed_one_has_left(tmp_path):
    pid = os.fork()
    if not pid:
        folder = NodeFolder()
        folder.new()
        os._exit(9)  # as a process that is killed: nothing is tidied up
    os.waitpid(pid, 0)
    (left,) = tmp_path.iterdir()
    begun = tmp_path / f"{PREFIX}begun"
    begun.mkdir()  # another one that has no lock yet

    one = NodeFolder()
    other = NodeFolder()

    assert not left.exists()
    assert {*tmp_path.iterdir()} == {begun, one.path, other.path}
    assert one.new().parent == one.path and (one.path / LOCK).exists()


def test_temporary_files_of_a_killed_node_and_of_what_it_started_go_with_its_folder(monkeypatch, tmp_path):
    """Files, folders and links; `multiprocessing` and the workers make theirs where TMPDIR says."""
    monkeypatch.setattr(node_folder, "MAX_TEMPORARY_LENGTH", 1000)
    make_one = "import os, tempfile; tempfile.mkdtemp(); os.symlink('/', tempfile.gettempdir() + '/link')"
    pid = os.fork()
    if not pid:
        folder = NodeFolder()
        folder.keep_temporary_files()
        tempfile.mkstemp()
        subprocess.run([sys.executable, "-c", make_one])
        os._exit(9)
    os.waitpid(pid, 0)
    (left,) = tmp_path.iterdir()
    assert len([*left.iterdir()]) == 4, "the lock, and what was made"

    one = NodeFolder()

    assert [*tmp_path.iterdir()] == [one.path]


def test_a_folder_with_too_long_a_path_for_sockets_takes_no_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", "as it was")
    monkeypatch.setattr(node_folder, "MAX_TEMPORARY_LENGTH", len(str(tmp_path)))
    NodeFolder().keep_temporary_files()
    assert os.environ["TMPDIR"] == "as it was" and tempfile.gettempdir() == str(tmp_path)


def test_a_node_that_ends_removes_its_own(tmp_path):
    folder = NodeFolder()
    folder.new()

    del folder

    assert not [*tmp_path.iterdir()]


def test_a_link_and_a_folder_of_another_user_stay(monkeypatch, tmp_path):
    of_another, target = tmp_path / f"{PREFIX}other", tmp_path / "target"
    for path in (of_another, target):
        path.mkdir()
        (path / LOCK).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(target)
    with monkeypatch.context() as patched:
        patched.setattr(os, "getuid", lambda: -1)
        NodeFolder()
    assert of_another.exists()

    folder = NodeFolder()

    assert {*tmp_path.iterdir()} == {target, tmp_path / f"{PREFIX}link", folder.path}
    assert (target / LOCK).exists()
