"""Two reports on one device measure one after the other, or the second is told in one line."""

import os
import subprocess
import sys

import pytest

from fake_study import run_study
from trainspeed.conduct import alone
from trainspeed.conduct.alone import LOCKS_VARIABLE, measuring_alone
from trainspeed.conduct.context import Context
from trainspeed.core.errors import UserError
from trainspeed.worker import backends

A, B = "GPU-aaaa", "GPU-bbbb"


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch):
    folder = tmp_path / "locks"
    folder.mkdir()
    monkeypatch.setenv(LOCKS_VARIABLE, str(folder))
    return folder


@pytest.mark.parametrize(
    ("first", "second", "where"),
    [
        (("cpu", ()), ("cpu", ()), "this machine"),
        (("cpu", ()), ("gpu", (A,)), "this machine"),
        (("gpu", (A,)), ("cpu", ()), "this machine"),
        (("gpu", (A, B)), ("gpu", (B,)), "a GPU that this one would use"),
        (("gpu", (A,)), ("gpu", (B,)), None),
    ],
)
def test_one_measures_on_a_device_at_a_time(first, second, where):
    with measuring_alone(*first):
        if where is None:
            with measuring_alone(*second):
                return
        told = f"is measuring on {where}, and .* start this one again"
        with pytest.raises(UserError, match=told), measuring_alone(*second):
            pytest.fail("both measure")
    with measuring_alone(*second):
        pass


def test_a_lock_ends_with_the_process_that_holds_it():
    hold = (
        "import sys; from trainspeed.conduct.alone import measuring_alone\n"
        "with measuring_alone('cpu', ()):\n    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        with pytest.raises(UserError), measuring_alone("cpu", ()):
            pass
        process.kill()
    with measuring_alone("cpu", ()):
        pass


def test_other_users_may_lock_the_same_file_whatever_the_umask(locks):
    before = os.umask(0o077)
    try:
        with measuring_alone("gpu", (A,)):
            modes = {path.stat().st_mode & 0o777 for path in locks.iterdir()}
    finally:
        os.umask(before)
    assert modes == {0o644}
    assert not any(A in path.name for path in locks.iterdir()), "a UUID may be shared in hashed form only"


def test_a_link_in_the_way_is_not_followed(locks, tmp_path, capsys):
    (locks / alone.HOST).symlink_to(tmp_path / "victim")

    with measuring_alone("cpu", ()):
        assert not (tmp_path / "victim").exists()

    assert "start no second report meanwhile" in capsys.readouterr().out


def test_where_no_lock_can_be_held_measuring_goes_on_with_a_word(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv(LOCKS_VARIABLE, str(tmp_path / "nowhere"))

    with measuring_alone("cpu", ()):
        pass

    assert "no lock can be held" in capsys.readouterr().out


def test_a_notebook_in_jupyterlab_does_not_measure_beside_a_report(tmp_path, monkeypatch):
    """A notebook of the report itself does: the report holds the lock for all of its notebooks."""
    monkeypatch.setattr(os, "environ", os.environ.copy())  # `run_study` sets variables and backends
    monkeypatch.setattr(backends, "MODULES", dict(backends.MODULES))
    with measuring_alone("cpu", ()), pytest.raises(UserError, match="is measuring on this machine"):
        run_study(Context(id="s", out=tmp_path / "other"), frameworks=["torch"], blocks=1)
    assert not (tmp_path / "other/runs.jsonl").exists()


def test_a_second_report_is_refused_before_it_measures(tmp_path, capsys):
    from trainspeed.report import cli

    with measuring_alone("cpu", ()):
        code = cli.main(
            ["report", "--preset", "smoke", "--notebooks", "layout", "--out", str(tmp_path / "o")]
        )

    assert code == 2
    assert "another report or notebook is measuring on this machine" in capsys.readouterr().err
