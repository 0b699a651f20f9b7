"""What nodes that were killed have left is removed by the next one; what others still use is not."""

import os
import tempfile

import pytest

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
