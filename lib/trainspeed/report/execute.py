"""Run one notebook with papermill and save it; only one that ended well and lacks nothing is saved as finished.

Knows neither presets nor sessions: parameters and environment variables are given.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat

from trainspeed.core.files import METADATA, write_atomically
from trainspeed.core.format import counted, one_line
from trainspeed.core.scrub import scrub_all
from trainspeed.report.interruption import Interruption
from trainspeed.report.notebook_run import End, NotebookRun, NotebookStatus, error_text

MARKS = re.compile(r"[*`]|<[^>]+>")  # Markdown and HTML in a heading


@dataclass(frozen=True, kw_only=True)
class NotebookResult:
    """What became of one notebook.

    Attributes:
        title: Its first heading.
        error: One line; None when the status is OK.
        mistake: Whether the error is a UserError, for the user to mend.
        path: The saved notebook; None where the notebook was not run.
        failures: What became of runs without a result, in a line: see `no_result.failures_in_short`.
        empty: Whether it had runs and none of them gave a result.
    """

    name: str
    title: str
    status: NotebookStatus
    error: str | None = None
    mistake: bool = False
    path: Path | None = None
    failures: str | None = None
    empty: bool = False


def execute(
    source: Path,
    out: Path,
    parameters: Mapping[str, Any],
    *,
    environment: Mapping[str, str],
    interruption: Interruption,
    name: str | None = None,
    scrub: Callable[[str], str] = str,
    metadata: Mapping[str, Any] | None = None,
) -> NotebookResult:
    """Run a notebook in its own folder; save it as `<name>.ipynb`, or as `<name>.failed.ipynb` if it did not end well.

    papermill calls every cell completed even after a killed kernel, a timeout or Ctrl-C, so the metadata says
    how the notebook ended, under `trainspeed`. The file is written once, at the end: the ledger holds what was
    measured until then. It replaces the one of an earlier report, also where one of the two failed.

    Args:
        environment: Variables for the kernel, in addition to those of this process.
        name: What it is saved as; by default as it is called.
        scrub: Takes paths and names out of what is saved.
        metadata: What else the notebook's metadata say of the report.
    """
    name = name or source.stem
    finished, failed = out / f"{name}.ipynb", out / f"{name}.failed.ipynb"
    start = time.monotonic()
    run = NotebookRun(source, parameters, environment, interruption)
    end = run.run()
    seconds = time.monotonic() - start

    notebook = run.notebook or nbformat.read(source, 4)
    notebook.cells = [
        c for c in notebook.cells if "papermill-error-cell-tag" not in c.metadata.get("tags", [])
    ]
    if end.status.ran_to_its_end and (stopped := _stopped_early(notebook)):
        end = stopped
    missing = [gap for gap in gaps_in(notebook, scrub) if gap["cell"] != end.cell]
    if end.status is NotebookStatus.INCOMPLETE:
        first = ": " if len(missing) == 1 else "; the first is "
        error = f"could not be shown{first}{missing[0]['section']}: {missing[0]['error']}"
        end = replace(end, error=f"{counted(len(missing), 'part')} {error}")
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
        "gaps": missing,
        "seconds": round(seconds, 1),
    }
    path, stale = (finished, failed) if end.status is NotebookStatus.OK else (failed, finished)
    write_atomically(path, nbformat.writes(nbformat.from_dict(scrub_all(notebook, scrub))) + "\n")
    stale.unlink(missing_ok=True)
    return NotebookResult(
        name=name,
        title=scrub(title),
        status=end.status,
        error=error,
        mistake=end.mistake,
        path=path,
    )


def title_of(notebook: nbformat.NotebookNode) -> str | None:
    """Return the first heading of level 1, as text."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for line in cell.source.splitlines():
                if line.startswith("# "):
                    return MARKS.sub("", line[2:]).strip()
    return None


def gaps_in(notebook: nbformat.NotebookNode, scrub: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return what a notebook could not show: index of the cell, heading above it, error in one line.

    These are the errors among the outputs of a notebook that ran on (see `guard.py`).
    """
    gaps, section = [], ""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            headings = [line for line in cell.source.splitlines() if re.match("#{1,6} ", line)]
            section = MARKS.sub("", headings[-1].lstrip("#")).strip() if headings else section
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                error = scrub(one_line(error_text(output.ename, output.evalue)))
                gaps.append({"cell": index, "section": section, "error": error})
    return gaps


def _stopped_early(notebook: nbformat.NotebookNode) -> End | None:
    """Return the end of a notebook that left by `sys.exit(0)`, which papermill takes for a success."""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "code" and cell.source.strip() and cell.execution_count is None:
            return End(NotebookStatus.FAILED, "the notebook stopped before its end", max(index - 1, 0))
    return None
