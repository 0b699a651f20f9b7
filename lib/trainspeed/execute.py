"""Run one notebook with papermill. Only a notebook that ran to its end gets the name of a finished one.

Knows neither presets nor sessions: parameters and environment variables are given.
"""

from __future__ import annotations

import contextlib
import logging
import re
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

import nbformat
import papermill
from nbclient.exceptions import CellTimeoutError, DeadKernelError

from trainspeed.files import write_atomically
from trainspeed.interruption import Interruption
from trainspeed.kernel import kernel_class, kernel_place
from trainspeed.scrub import scrub_all

METADATA = "trainspeed"  # where a saved notebook says how it ended
START_TIMEOUT_S = 60
LINE_LENGTH = 300  # an error in one line, for the banner and the front page
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Outcome(StrEnum):
    """How a notebook ended."""

    OK = "ok"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, kw_only=True)
class Result:
    """What became of one notebook.

    Attributes:
        title: Its first heading.
        error: One line; None when it is ok.
        mistake: Whether the error is a UserError: the user's to mend, no failure of ours.
        path: The saved notebook; None where nothing was to be saved.
    """

    name: str
    title: str
    outcome: Outcome
    seconds: float
    error: str | None = None
    mistake: bool = False
    path: Path | None = None


class _Stopped(Exception):
    """An end was asked for between two cells."""


def execute(
    source: Path,
    out: Path,
    parameters: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    folder: Path,
    interruption: Interruption,
    scrub: Callable[[str], str] = str,
    metadata: Mapping[str, Any] | None = None,
    cell_timeout_s: int | None = None,
) -> Result:
    """Run a notebook and save it as `<name>.ipynb`, or as `<name>.failed.ipynb` when it did not end well.

    A killed kernel, a timeout and Ctrl-C leave a file in which every cell looks completed, so the notebook
    grows under a hidden name and is renamed last; how it ended is in its metadata, under `trainspeed`.
    Of an earlier report only what this one replaces is removed: a notebook that failed leaves no older
    success beside it.

    Args:
        environment: Added to this process's own for the kernel.
        folder: The kernel's working directory.
        cell_timeout_s: Longest time of one cell; None for no limit, as every run has its own.
    """
    name = source.stem
    running, finished = out / f".{name}.running.ipynb", out / f"{name}.ipynb"
    failed = out / f"{name}.failed.ipynb"
    running.unlink(missing_ok=True)
    start = time.monotonic()
    end = _run(source, running, parameters, environment, folder, interruption, cell_timeout_s)
    seconds = time.monotonic() - start

    # Without a file the kernel never started.
    notebook = nbformat.read(running if running.exists() else source, 4)
    notebook.cells = [
        c for c in notebook.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])
    ]
    if end.outcome is Outcome.OK and (stopped := _stopped_early(notebook)):
        end = stopped
    error = None if end.error is None else _one_line(scrub(end.error))
    title = title_of(notebook) or name
    notebook.metadata.setdefault("papermill", {}).update(input_path=source.name, output_path=finished.name)
    notebook.metadata.pop("widgets", None)
    notebook.metadata[METADATA] = {
        **(metadata or {}),
        "title": title,
        "status": str(end.outcome),
        "error": error,
        "cell": end.cell,
        "seconds": round(seconds, 1),
    }
    path, stale = (finished, failed) if end.outcome is Outcome.OK else (failed, finished)
    write_atomically(path, nbformat.writes(nbformat.from_dict(scrub_all(notebook, scrub))) + "\n")
    stale.unlink(missing_ok=True)
    running.unlink(missing_ok=True)
    return Result(
        name=name,
        title=scrub(title),
        outcome=end.outcome,
        seconds=seconds,
        error=error,
        mistake=end.mistake,
        path=path,
    )


def rehearse(
    source: Path,
    parameters: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    folder: Path,
    interruption: Interruption,
) -> Result:
    """Run a notebook for what it prints, up to where it raises PlanOnly; save nothing."""
    start = time.monotonic()
    end = _run(source, None, parameters, environment, folder, interruption, None)
    return Result(
        name=source.stem,
        title=title_of(nbformat.read(source, 4)) or source.stem,
        outcome=end.outcome,
        seconds=time.monotonic() - start,
        error=None if end.error is None else _one_line(end.error),
        mistake=end.mistake,
    )


def title_of(notebook: nbformat.NotebookNode) -> str | None:
    """Return the first heading of level 1, as text."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return re.sub(r"[*`]|<[^>]+>", "", line[2:]).strip()
    return None


@dataclass(frozen=True)
class _End:
    outcome: Outcome
    error: str | None = None
    cell: int | None = None
    mistake: bool = False


def _run(
    source: Path,
    running: Path | None,
    parameters: Mapping[str, Any],
    environment: Mapping[str, str],
    folder: Path,
    interruption: Interruption,
    cell_timeout_s: int | None,
) -> _End:
    """Run the cells; whatever ends them becomes a value."""
    if interruption.asked:
        return _End(Outcome.INTERRUPTED, "interrupted before it began")
    logging.getLogger("papermill").setLevel(logging.CRITICAL)  # it logs what is reported below
    begun: list[int] = []  # cells, the latest last
    running_cells: set[int] = set()

    def before_cell(cell: nbformat.NotebookNode, cell_index: int) -> None:
        begun.append(cell_index)
        if interruption.asked:
            raise _Stopped

    def sent(cell: nbformat.NotebookNode, cell_index: int) -> None:
        running_cells.add(cell_index)

    def replied(cell: nbformat.NotebookNode, cell_index: int, execute_reply: Mapping[str, Any]) -> None:
        running_cells.discard(cell_index)

    def busy() -> bool:
        return bool(running_cells)

    with kernel_place() as place:
        try:
            papermill.execute_notebook(
                _literal(source),
                _literal(running) if running else None,
                parameters=dict(parameters),
                kernel_name="python3",
                language="python",
                progress_bar=False,
                start_timeout=START_TIMEOUT_S,
                execution_timeout=cell_timeout_s,
                stdout_file=_Terminal(sys.stdout),
                # A plan is what the notebook prints, and nothing else.
                stderr_file=_Terminal(sys.stderr) if running else None,
                coalesce_streams=True,
                store_widget_state=False,
                iopub_timeout=60,
                on_cell_start=before_cell,
                on_cell_execute=sent,
                on_cell_executed=replied,
                kernel_manager_class=kernel_class(place, environment, folder, interruption, busy),
                config=place.config,
            )
            end = _End(Outcome.OK)
        except papermill.PapermillExecutionError as problem:
            end = _raised(problem)
            if problem.ename == "PlanOnly" and running is None:
                end = _End(Outcome.OK)
        except CellTimeoutError:
            end = _End(Outcome.FAILED, f"timeout: a cell took longer than {cell_timeout_s} s")
        except DeadKernelError:
            end = _End(Outcome.FAILED, "the kernel died: out of memory, or a crash in native code")
        except (_Stopped, KeyboardInterrupt):
            end = _End(Outcome.INTERRUPTED)
        except Exception as problem:  # a kernel that cannot start, a full disk: a reason for the banner
            end = _End(Outcome.FAILED, f"{type(problem).__name__}: {problem}")
            if not begun:
                end = _End(Outcome.FAILED, f"the kernel could not start: {place.last_words() or problem}")
        finally:
            interruption.kernel_ended()
    if end.outcome is Outcome.OK:
        return end
    if interruption.asked:
        end = _End(Outcome.INTERRUPTED, "stopped by Ctrl-C or another signal", end.cell)
    return replace(end, cell=begun[-1] if end.cell is None and begun else end.cell)


def _raised(problem: papermill.PapermillExecutionError) -> _End:
    text = ANSI.sub("", problem.evalue)
    mistake = problem.ename == "UserError"
    line = text if mistake else f"{problem.ename}: {text}".rstrip(": ")
    return _End(Outcome.FAILED, line, problem.cell_index, mistake)


def _stopped_early(notebook: nbformat.NotebookNode) -> _End | None:
    """A notebook that left by `sys.exit(0)` is no failure to papermill, but it is not finished either."""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            return _End(Outcome.FAILED, "the notebook stopped before its end", max(index - 1, 0))
    return None


class _Terminal:
    """What the kernel prints, in the terminal at once. A lost terminal does not end a measurement."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


def _literal(path: Path) -> str:
    """papermill fills in the braces of a path as `str.format` does."""
    return str(path.resolve()).replace("{", "{{").replace("}", "}}")


def _one_line(text: str) -> str:
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return first if len(first) <= LINE_LENGTH else first[: LINE_LENGTH - 1] + "…"
