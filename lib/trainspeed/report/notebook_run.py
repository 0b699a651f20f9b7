"""Run the cells of one notebook in a kernel of its own; whatever ends them becomes a value. Saves nothing."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import nbformat
import papermill
from nbclient.exceptions import DeadKernelError
from papermill.engines import NBClientEngine, NotebookExecutionManager, papermill_engines

from trainspeed.report.interruption import Interruption
from trainspeed.report.jupyter_kernel import KernelSockets, kernel_class, kernel_sockets

START_TIMEOUT_S = 60
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class NotebookStatus(StrEnum):
    """How a notebook ended."""

    OK = "ok"
    INCOMPLETE = "incomplete"  # it ran to its end, but could not show everything: see `guard.py`
    FAILED = "failed"
    INTERRUPTED = "interrupted"

    @property
    def ran_to_its_end(self) -> bool:
        """Whether every cell was run, so that its verdicts are recorded."""
        return self in (NotebookStatus.OK, NotebookStatus.INCOMPLETE)


@dataclass(frozen=True)
class End:
    """How the cells of a notebook ended.

    Attributes:
        error: What ended them early, None otherwise; may have several lines and colours.
        cell: Index of the cell that ended them.
        mistake: Whether the error is a UserError, for the user to mend.
    """

    status: NotebookStatus
    error: str | None = None
    cell: int | None = None
    mistake: bool = False


class _Stopped(Exception):
    """The user asked for an end between two cells."""


@dataclass
class NotebookRun:
    """One run of a notebook, in its own folder.

    Attributes:
        environment: Variables for the kernel, in addition to those of this process.
        planning: Whether the notebook is run only for its plan, until it raises PlanOnly.
        notebook: The notebook with what its cells have put out, however they ended; None where no kernel was
            asked for.
    """

    source: Path
    parameters: Mapping[str, Any]
    environment: Mapping[str, str]
    interruption: Interruption
    planning: bool = False
    notebook: nbformat.NotebookNode | None = field(default=None, init=False)
    _latest: int | None = field(default=None, init=False)  # index of the cell that was begun last
    _raised: bool = field(default=False, init=False)

    def run(self) -> End:
        """Run the cells and return how they ended."""
        if self.interruption.asked:
            return End(NotebookStatus.INTERRUPTED, "interrupted before it began")
        logging.getLogger("papermill").setLevel(logging.CRITICAL)  # it logs what is returned here
        with kernel_sockets() as sockets:
            try:
                self._execute(sockets)
                end = End(NotebookStatus.OK)
            except papermill.PapermillExecutionError as problem:
                end = self._end_of_cell(problem)
            except (
                Exception,
                KeyboardInterrupt,
            ) as problem:  # also a kernel that cannot start, or a full disk
                end = self._end_of_kernel(problem, sockets)
            finally:
                self.interruption.kernel_ended()
        if end.status.ran_to_its_end:
            return end
        if self.interruption.asked:
            end = End(NotebookStatus.INTERRUPTED, "stopped by Ctrl-C or another signal", end.cell)
        return end if end.cell is not None else replace(end, cell=self._latest)

    def _execute(self, sockets: KernelSockets) -> None:
        papermill.execute_notebook(
            str(self.source.resolve()).replace("{", "{{").replace("}", "}}"),  # papermill fills in braces
            None,
            parameters=dict(self.parameters),
            engine_name=_KeepingEngine.NAME,
            run=self,
            kernel_name="python3",
            language="python",
            progress_bar=False,
            start_timeout=START_TIMEOUT_S,
            stdout_file=sys.stdout,
            # A plan is what the notebook prints, and nothing else.
            stderr_file=None if self.planning else sys.stderr,
            coalesce_streams=True,
            store_widget_state=False,
            iopub_timeout=60,
            on_cell_start=self._before_cell,
            on_cell_executed=self._cell_replied,
            kernel_manager_class=kernel_class(
                sockets, self.environment, self.source.parent, self.interruption
            ),
            config=sockets.config,
        )

    def _before_cell(self, cell: nbformat.NotebookNode, cell_index: int) -> None:
        self._latest = cell_index
        if self.interruption.asked:
            raise _Stopped

    def _cell_replied(
        self, cell: nbformat.NotebookNode, cell_index: int, execute_reply: Mapping[str, Any]
    ) -> None:
        self._raised |= execute_reply["content"]["status"] == "error"

    def _end_of_cell(self, problem: papermill.PapermillExecutionError) -> End:
        """Return the end by a cell that raised, or by one that only has an error among its outputs: see `guard.py`."""
        if problem.ename == "PlanOnly" and self.planning:
            return End(NotebookStatus.OK)
        if not self._raised:
            return End(NotebookStatus.INCOMPLETE)
        error = error_text(problem.ename, problem.evalue)
        return End(NotebookStatus.FAILED, error, problem.cell_index, problem.ename == "UserError")

    def _end_of_kernel(self, problem: BaseException, sockets: KernelSockets) -> End:
        """Return the end by anything else that papermill raises."""
        match problem:
            case _Stopped() | KeyboardInterrupt():
                return End(NotebookStatus.INTERRUPTED)
            case DeadKernelError():
                error = "the kernel died: out of memory, or a crash in native code"
            case _ if self._latest is None:
                error = f"the kernel could not start: {sockets.last_line() or problem}"
            case _:
                error = f"{type(problem).__name__}: {problem}"
        return End(NotebookStatus.FAILED, error)


def error_text(name: str, message: str) -> str:
    """Return an exception as text; a UserError needs no name before its message."""
    text = ANSI.sub("", message)
    return text if name == "UserError" else f"{name}: {text}".rstrip(": ")


class _KeepingEngine(NBClientEngine):
    """papermill's own engine, except that the outputs of the cells stay at hand however they end.

    Otherwise only a file would hold them, and for that papermill writes and validates the whole notebook,
    pictures included, twice for each cell.
    """

    NAME = "trainspeed"

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: NotebookExecutionManager, kernel_name: str, *, run: NotebookRun, **options: Any
    ) -> None:
        run.notebook = nb_man.nb
        super().execute_managed_notebook(nb_man, kernel_name, **options)


papermill_engines.register(_KeepingEngine.NAME, _KeepingEngine)
