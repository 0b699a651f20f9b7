"""Kernels that are forked from a process which has imported what notebooks import are as those that are started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from processes_helper import is_gone, until, with_text
from tiny_notebooks import write
from trainspeed.report import kernel_forks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux alone"),
]
PROBE = Path(__file__).parents[1] / "probes/forked_kernels.py"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What notebooks see that one process has run, and that process."""
    folder = tmp_path_factory.mktemp("notebooks")
    usual = {name: text for name, text in os.environ.items() if not name.startswith(kernel_forks.READ_EARLY)}
    command = [sys.executable, str(PROBE), str(folder)]
    done = subprocess.run(command, env=usual, capture_output=True, text=True, timeout=120, check=True)
    return json.loads(done.stdout.splitlines()[-1]) | {"folder": str(folder)}


def test_both_come_from_one_process_that_is_no_kernel(seen):
    one, other = seen["one"], seen["other"]
    assert one["parent"] == other["parent"] != seen["report"] and one["pid"] != other["pid"]
    assert one["above"] == seen["report"]


def test_what_notebooks_import_is_there_and_no_framework(seen):
    for name in ("one", "other"):
        assert len(seen[name]["loaded"]) == 3 and seen[name]["frameworks"] == []


def test_each_has_its_own_variables_folder_group_and_signals(seen):
    for name in ("one", "other"):
        of = seen[name]
        assert {n for n in of["variables"] if n.startswith("OF_")} == {f"OF_{name.upper()}"}
        assert of["folder"] == seen["folder"] and of["group"] == of["pid"]
        assert of["signals"] == [True, True]
        assert of["variables"]["MPLBACKEND"].endswith("backend_inline")


def test_exit_handlers_run_and_nothing_is_left(seen):
    assert all(seen[name]["ended"] and seen[name]["gone"] for name in ("one", "other", "started"))


def test_sockets_end_with_the_process(seen):
    """ipykernel 7.4 hangs for seconds now and then where it closes them."""
    assert [seen[name]["closed"] for name in ("one", "other", "started")] == [False, False, True]


def test_where_an_interpreter_would_start_otherwise_a_kernel_is_started(seen):
    of = seen["started"]

    assert of["parent"] == seen["report"] and of["group"] == of["pid"] and of["loaded"] == []
    assert of["path"][1:] == seen["one"]["path"], "but for the variable's own"


def test_elsewhere_than_on_linux_kernels_are_started(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    assert kernel_forks.fork_server(os.environ) is None


def test_a_kernel_ends_with_the_process_that_asked_for_it(tmp_path):
    """However that ends: the fork server, which is the kernel's parent, would wait for the kernel."""
    told = f"pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()))"
    source = write(tmp_path, "long", f"import os, pathlib, time\n{told}\ntime.sleep(600)")
    code = (
        "from pathlib import Path\n"
        "from trainspeed.report.execute import execute\n"
        "from trainspeed.report.interruption import Interruption\n"
        "with Interruption() as interruption:\n"
        f"    execute(Path({str(source)!r}), Path({str(tmp_path)!r}), {{}}, environment={{}}, "
        "interruption=interruption)"
    )
    report = psutil.Popen([sys.executable, "-c", code])
    try:
        assert until(lambda: with_text(tmp_path / "pid"))
        kernel = int(with_text(tmp_path / "pid"))
        server = psutil.Process(kernel).ppid()
        assert server != report.pid
    finally:
        report.kill()
    assert until(lambda: is_gone(kernel) and is_gone(server))
