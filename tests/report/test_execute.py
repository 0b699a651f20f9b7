"""Real kernels, one per notebook: what papermill leaves behind is what is tested."""

import os
import signal
from pathlib import Path

import nbformat
import pytest

from tiny_notebooks import text, write
from trainspeed.core.scrub import scrubber
from trainspeed.report.execute import NotebookStatus, execute
from trainspeed.report.interruption import Interruption
from trainspeed.report.notebook_run import ANSI

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("notebooks")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """Its braces must not be taken for papermill's own."""
    made = tmp_path_factory.mktemp("out") / "it's {here}"
    made.mkdir()
    return made


def run(folder, out, name, *cells, parameters=None, environment=None, **options):
    with Interruption() as interruption:
        return execute(
            write(folder, name, *cells),
            out,
            parameters or {},
            environment=environment or {},
            interruption=interruption,
            metadata={"session": "s"},
            **options,
        )


def read(path):
    return nbformat.read(path, 4)


def printed(notebook):
    return "".join(o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream")


def is_running(pid):
    return Path(f"/proc/{pid}").exists()


@pytest.fixture(scope="module")
def success(folder, out):
    """A notebook that ran to its end, over an older one that had failed."""
    (out / "good.failed.ipynb").write_text("older")
    os.environ["TRAINSPEED_RENDER"] = "left over"
    try:
        return run(
            folder,
            out,
            "good",
            "import os, pathlib\nprint(blocks, os.getcwd(), os.environ.get('TRAINSPEED_RENDER'))",
            "print(os.environ['TRAINSPEED_SESSION'], pathlib.Path.home() / 'secret')",
            "from IPython.display import display\nimport ipywidgets\ndisplay(ipywidgets.IntSlider())",
            parameters={"blocks": 9},
            environment={"TRAINSPEED_SESSION": "s-1"},
            scrub=scrubber(root=folder, out=out, names={}),
        )
    finally:
        del os.environ["TRAINSPEED_RENDER"]


def test_a_notebook_that_ran_to_its_end_gets_the_finished_name(success, out):
    assert (success.status, success.error) == (NotebookStatus.OK, None)
    assert success.title == "Does good train faster here?"
    assert sorted(path.name for path in out.glob("*good*")) == ["good.ipynb"]
    assert not list(out.glob(".good*"))


def test_parameters_and_environment_reach_the_kernel_and_left_over_variables_do_not(success):
    words = printed(read(success.path))

    assert "9 . None" in words  # the working directory is scrubbed
    assert "s-1" in words


def test_a_saved_notebook_names_no_path_of_this_machine(success, folder, out):
    saved = success.path.read_text()

    assert "~/secret" in saved
    assert str(folder) not in saved and str(out) not in saved and f"{Path.home()}/" not in saved
    metadata = read(success.path).metadata
    assert (metadata.papermill.input_path, metadata.papermill.output_path) == ("good.ipynb", "good.ipynb")
    assert metadata.trainspeed.status == "ok" and metadata.trainspeed.session == "s"


def test_widgets_leave_no_state(success):
    assert "widgets" not in read(success.path).metadata


@pytest.fixture(scope="module")
def failure(folder, out):
    """A notebook that raised, beside a finished one of an earlier session."""
    (out / "bad.ipynb").write_text("older")
    return run(folder, out, "bad", "1 / 0", "print('never')")


def test_a_cell_that_raises_leaves_no_finished_name(failure, out):
    assert (failure.status, failure.mistake) == (NotebookStatus.FAILED, False)
    assert failure.error == "ZeroDivisionError: division by zero"
    assert sorted(path.name for path in out.glob("*bad*")) == ["bad.failed.ipynb"]


def test_a_failed_notebook_says_where_it_stopped_without_papermills_own_marks(failure):
    notebook = read(failure.path)

    assert notebook.cells[notebook.metadata.trainspeed.cell].source == "1 / 0"
    assert notebook.metadata.trainspeed.status == "failed"
    assert "papermill-error" not in failure.path.read_text()


@pytest.fixture(scope="module")
def incomplete(folder, out):
    """Two things that could not be shown after measuring, and what came after them."""
    (out / "partly.ipynb").write_text("older")
    cells = (
        "from trainspeed.core.guard import arm\narm()",
        text("## The `chart`"),
        "1 / 0\nprint('below the chart')",
        "class Table:\n    def _repr_html_(self):\n        raise ValueError('no table')\nTable()",
        "print('at the end')",
    )
    return run(folder, out, "partly", *cells)


def test_what_cannot_be_shown_after_measuring_costs_nothing_else_but_the_finished_name(incomplete, out):
    notebook = read(incomplete.path)

    assert (incomplete.status, incomplete.mistake) == (NotebookStatus.INCOMPLETE, False)
    assert sorted(path.name for path in out.glob("*partly*")) == ["partly.failed.ipynb"]
    assert printed(notebook) == "below the chart\nat the end\n"
    assert "papermill-error" not in incomplete.path.read_text()


def test_an_incomplete_notebook_says_what_is_missing_and_where(incomplete):
    ending = read(incomplete.path).metadata.trainspeed

    assert ending.status == "incomplete" and ending.cell is None
    assert [(gap.section, gap.error) for gap in ending.gaps] == [
        ("The chart", "ZeroDivisionError: division by zero"),
        ("The chart", "ValueError: no table"),  # IPython shows the error of a table by itself
    ]
    first = read(incomplete.path).cells[ending.gaps[0].cell].outputs[0]
    assert first.output_type == "error" and "1 / 0" in ANSI.sub("", "".join(first.traceback))
    assert incomplete.error == (
        "2 parts could not be shown; the first is The chart: ZeroDivisionError: division by zero"
    )


def test_a_notebook_may_still_fail_after_something_could_not_be_shown(folder, out):
    cells = ("from trainspeed.core.guard import arm\narm()\n1 / 0", "raise SystemExit('no more')", "print(1)")

    result = run(folder, out, "both", *cells)

    assert (result.status, result.error) == (NotebookStatus.FAILED, "SystemExit: no more")
    (gap,) = read(result.path).metadata.trainspeed.gaps
    assert gap.error.startswith("ZeroDivisionError")


def test_a_killed_kernel_is_a_failure(folder, out):
    """papermill saves every cell as completed, without an error."""
    result = run(folder, out, "killed", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "print(1)")

    assert result.status is NotebookStatus.FAILED
    assert result.error.startswith("the kernel died")
    assert not (out / "killed.ipynb").exists() and result.path.name == "killed.failed.ipynb"
    notebook = read(result.path)
    assert "SIGKILL" in notebook.cells[notebook.metadata.trainspeed.cell].source


def test_leaving_a_notebook_early_is_no_success(folder, out):
    """papermill takes sys.exit(0) for the end."""
    result = run(folder, out, "left", "import sys\nsys.exit(0)", "print(1)")

    assert (result.status, result.error) == (NotebookStatus.FAILED, "the notebook stopped before its end")


def test_a_users_mistake_in_a_cell_is_its_one_line(folder, out):
    cell = "from trainspeed.core.errors import UserError\nraise UserError('batch_size (=3) is odd: try 4.')"

    result = run(folder, out, "mistaken", cell)

    assert (result.mistake, result.error) == (True, "batch_size (=3) is odd: try 4.")


def test_an_interrupted_cell_runs_its_finally_block_and_nothing_is_left_running(folder, out):
    cell = (
        "import os, pathlib, signal, subprocess, time\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        "pathlib.Path('pids').write_text(f'{os.getpid()} {child.pid}')\n"
        f"try:\n    os.kill({os.getpid()}, signal.SIGINT)\n    time.sleep(600)\n"
        "finally:\n    child.wait()\n    print('finally ran')"
    )

    result = run(folder, out, "stopped", cell, "print('never')")

    assert (result.status, result.error) == (
        NotebookStatus.INTERRUPTED,
        "stopped by Ctrl-C or another signal",
    )
    assert "finally ran" in printed(read(result.path))
    assert read(result.path).metadata.trainspeed.status == "interrupted"
    kernel, child = (folder / "pids").read_text().split()
    assert not is_running(kernel)
    assert not is_running(child)


def test_after_an_interruption_no_kernel_starts(folder, out):
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGTERM)
        source = write(folder, "late", "print(1)")
        result = execute(source, out, {}, environment={}, interruption=interruption)

    assert (result.status, result.error) == (NotebookStatus.INTERRUPTED, "interrupted before it began")


def test_signals_are_as_before_afterwards():
    before = signal.getsignal(signal.SIGINT)
    with Interruption():
        assert signal.getsignal(signal.SIGINT) is not before

    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_that_was_ignored_stays_so():
    """As under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interruption() as interruption:
            signal.raise_signal(signal.SIGHUP)
            assert not interruption.asked
    finally:
        signal.signal(signal.SIGHUP, before)
