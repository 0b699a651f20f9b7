"""Run one notebook with papermill. Only one that ran to its end and lacks nothing gets a finished one's name.

Knows neither presets nor sessions: parameters and environment variables are given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import nbformat

from trainspeed.core.files import write_atomically
from trainspeed.core.outputs import METADATA
from trainspeed.core.scrub import scrub_all
from trainspeed.report.gaps import MARKS, gaps_in, one_line, summary_of
from trainspeed.report.interruption import Interruption
from trainspeed.report.notebook_run import End, NotebookRun, NotebookStatus


@dataclass(frozen=True, kw_only=True)
class NotebookResult:
    """What became of one notebook.

    Attributes:
        title: Its first heading.
        error: One line; None when it is ok.
        mistake: Whether the error is a UserError: the user's to mend, no failure of ours.
        path: The saved notebook; None where nothing was to be saved.
    """

    name: str
    title: str
    status: NotebookStatus
    seconds: float
    error: str | None = None
    mistake: bool = False
    path: Path | None = None


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
) -> NotebookResult:
    """Run a notebook and save it as `<name>.ipynb`, or as `<name>.failed.ipynb` when it did not end well.

    papermill calls every cell completed after a killed kernel, a timeout and Ctrl-C too, so how the notebook
    ended is in its metadata, under `trainspeed`. It is written once, when it has ended: what was measured
    until then is in the ledger. Of an earlier report only what this one replaces is removed: a notebook that
    failed leaves no older success beside it.

    Args:
        environment: Added to this process's own for the kernel.
        folder: The kernel's working directory.
        cell_timeout_s: Longest time of one cell; None for no limit, as every run has its own.
    """
    name = source.stem
    finished, failed = out / f"{name}.ipynb", out / f"{name}.failed.ipynb"
    start = time.monotonic()
    run = NotebookRun(source, parameters, environment, folder, interruption, cell_timeout_s)
    end = run.run()
    seconds = time.monotonic() - start

    notebook = run.notebook or nbformat.read(source, 4)
    notebook.cells = [
        c for c in notebook.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])
    ]
    if end.status.ran_to_its_end and (stopped := _stopped_early(notebook)):
        end = stopped
    missing = [replace(gap, error=scrub(gap.error)) for gap in gaps_in(notebook) if gap.cell != end.cell]
    if end.status is NotebookStatus.INCOMPLETE:
        end = replace(end, error=summary_of(missing))
    error = None if end.error is None else one_line(scrub(end.error))
    title = title_of(notebook) or name
    notebook.metadata.setdefault("papermill", {}).update(input_path=source.name, output_path=finished.name)
    notebook.metadata.pop("widgets", None)
    notebook.metadata[METADATA] = {
        **(metadata or {}),
        "title": title,
        "status": str(end.status),
        "error": error,
        "cell": end.cell,
        "gaps": [asdict(gap) for gap in missing],
        "seconds": round(seconds, 1),
    }
    path, stale = (finished, failed) if end.status is NotebookStatus.OK else (failed, finished)
    write_atomically(path, nbformat.writes(nbformat.from_dict(scrub_all(notebook, scrub))) + "\n")
    stale.unlink(missing_ok=True)
    return NotebookResult(
        name=name,
        title=scrub(title),
        status=end.status,
        seconds=seconds,
        error=error,
        mistake=end.mistake,
        path=path,
    )


def dry_run(
    source: Path,
    parameters: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    folder: Path,
    interruption: Interruption,
) -> NotebookResult:
    """Run a notebook for what it prints, up to where it raises PlanOnly; save nothing."""
    start = time.monotonic()
    end = NotebookRun(source, parameters, environment, folder, interruption, planning=True).run()
    return NotebookResult(
        name=source.stem,
        title=title_of(nbformat.read(source, 4)) or source.stem,
        status=end.status,
        seconds=time.monotonic() - start,
        error=None if end.error is None else one_line(end.error),
        mistake=end.mistake,
    )


def title_of(notebook: nbformat.NotebookNode) -> str | None:
    """Return the first heading of level 1, as text."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return MARKS.sub("", line[2:]).strip()
    return None


def _stopped_early(notebook: nbformat.NotebookNode) -> End | None:
    """A notebook that left by `sys.exit(0)` is no failure to papermill, but it is not finished either."""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            return End(NotebookStatus.FAILED, "the notebook stopped before its end", max(index - 1, 0))
    return None
