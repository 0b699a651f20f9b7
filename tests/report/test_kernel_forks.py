"""Kernels that are forked from a process which has imported what notebooks import are as those that are started."""

import json
import os
import sys

import nbformat
import psutil
import pytest

from processes_helper import is_gone, until, with_text
from tiny_notebooks import write
from trainspeed.report import kernel_forks
from trainspeed.report.execute import NotebookStatus, execute
from trainspeed.report.interruption import Interruption

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks are for Linux alone"),
]
LOOK = """
import atexit, json, os, pathlib, signal, sys
atexit.register(pathlib.Path(os.environ["LEFT"]).write_text, "ended")
print(json.dumps({
    "pid": os.getpid(), "parent": os.getppid(), "group": os.getpgid(0), "folder": os.getcwd(),
    "loaded": sorted({"pandas", "matplotlib", "trainspeed.studies.layout.findings"} & {*sys.modules}),
    "frameworks": sorted({"torch", "tensorflow", "jax"} & {*sys.modules}),
    "signals": [signal.getsignal(n) == signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGHUP)],
    "variables": {n: t for n, t in os.environ.items() if n in ("OF_ONE", "OF_OTHER", "MPLBACKEND")},
    "path": sys.path,
}))
"""


def look(folder, name, **variables):
    """Return what a notebook sees of its process, and whether its exit handlers ran."""
    left = folder / f"{name}.left"
    with Interruption() as interruption:
        source = write(folder, name, LOOK)
        environment = {"LEFT": str(left), **variables}
        result = execute(source, folder / "out", {}, environment=environment, interruption=interruption)
    assert result.status is NotebookStatus.OK, result.error
    cells = nbformat.read(result.path, 4).cells
    (text,) = (o.text for c in cells for o in c.get("outputs", []) if o.output_type == "stream")
    return json.loads(text), left.exists()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("notebooks")
    (made / "out").mkdir()
    return made


@pytest.fixture(scope="module")
def forked(folder):
    """What two notebooks see that are run one after the other."""
    return [look(folder, name, **{f"OF_{name.upper()}": "1"}) for name in ("one", "other")]


def test_both_come_from_one_process_that_is_no_kernel(forked):
    (one, _), (other, _) = forked
    assert one["parent"] == other["parent"] != os.getpid() and one["pid"] != other["pid"]
    assert psutil.Process(one["parent"]).ppid() == os.getpid()


def test_what_notebooks_import_is_there_and_no_framework(forked):
    for seen, _ in forked:
        assert len(seen["loaded"]) == 3 and seen["frameworks"] == []


def test_each_has_its_own_variables_folder_group_and_signals(forked, folder):
    for (seen, _), name in zip(forked, ("OF_ONE", "OF_OTHER"), strict=True):
        assert {n for n in seen["variables"] if n.startswith("OF_")} == {name}
        assert seen["folder"] == str(folder) and seen["group"] == seen["pid"]
        assert seen["signals"] == [True, True]
        assert seen["variables"]["MPLBACKEND"].endswith("backend_inline")


def test_exit_handlers_run_and_nothing_is_left(forked):
    for seen, ended in forked:
        assert ended and not psutil.pid_exists(seen["pid"])


def test_where_an_interpreter_would_start_otherwise_a_kernel_is_started(forked, folder, tmp_path):
    (seen, ended) = look(folder, "started", PYTHONPATH=str(tmp_path))

    assert seen["parent"] == os.getpid() and seen["group"] == seen["pid"] and ended
    (of_fork, _), _ = forked
    assert [path for path in seen["path"] if path != str(tmp_path)] == of_fork["path"]


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
