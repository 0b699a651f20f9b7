"""The folder a report writes to: whether it is writable, has room, and no other report is writing there.

A marker file says that the folder is a report's; without it, nothing in the folder is overwritten.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from trainspeed.core.errors import UserError
from trainspeed.core.files import DRAWING, FLEET, VALUES, VERDICTS
from trainspeed.core.ledger import RUNS_FILE, SESSIONS_FILE, parsed, read_lines
from trainspeed.core.ledger_line import OtherSchema
from trainspeed.core.paths import ROOT
from trainspeed.core.run import Run
from trainspeed.report.parameters import notebook_names
from trainspeed.report.request import read_sessions

MARKER = ".trainspeed"  # locked while a report is written
MARK = "Trainspeed writes reports into this folder, over those that it wrote before.\n"
MIN_FREE_BYTES = 100 * 2**20  # notebooks, pages and monitor files of one report take a tenth of it
# The project's own folders; a report may write to the others: `outputs`, and recorded runs in `data/measured`.
SOURCES = (
    ".ci",
    ".git",
    ".venv",
    ".venvs",
    "benchmarks",
    "data/downloads",
    "data/published",
    "docs",
    "examples",
    "lib",
    "notebooks",
    "requirements",
    "tests",
)


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Check that the folder can be written to, mark it, and keep a second report out of it.

    Raises:
        UserError: The folder cannot be written to, or holds files of someone else that a report would overwrite.
            Then nothing has been written, and no folder made.
    """
    try:
        if problem := _problem(out):
            raise UserError(f"cannot write to {shown(out)} ({problem}): name another folder, OUT=…")
        out.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(out).free
        marker = (out / MARKER).open("a", encoding="utf-8")
        if not marker.tell():
            marker.write(MARK)
            marker.flush()
    except OSError as problem:
        raise UserError(
            f"cannot write to {shown(out)} ({problem.strerror or problem}): name another folder, OUT=…"
        ) from None
    with marker:
        if free < MIN_FREE_BYTES:
            raise UserError(
                f"{shown(out)} has {free / 2**20:.0f} MiB free, a report may need "
                f"{MIN_FREE_BYTES / 2**20:.0f} MiB: make room, or name another folder, OUT=…"
            )
        try:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however it ends
        except BlockingIOError:
            raise UserError(
                f"another report is writing to {shown(out)}: wait for it, or name another folder, OUT=…"
            ) from None
        except OSError as problem:  # some network file systems know no locks
            print(
                f"{shown(out)} cannot be locked ({problem.strerror}): start no second report in it",
                flush=True,
            )
        yield


def shown(path: Path) -> str:
    """Return a path relative to the user's working directory."""
    return os.path.relpath(path)


def _problem(out: Path) -> str | None:
    """Return why this is no folder for a report; None where it is one."""
    if any(_is_of_project(follow(out), Path(follow(ROOT))) for follow in (os.path.realpath, os.path.abspath)):
        return "it is a folder of the project itself"
    if out.is_symlink() and not out.exists():
        return "it is a link to nowhere"
    if out.exists() and not out.is_dir():
        return "it is a file"
    marked = _is_marked(out)
    if others := sorted(name for name in _written() if _is_in_the_way(out / name, marked)):
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        return f"it holds {', '.join(others[:3])}{more}, and no {MARKER}, which a report leaves"
    return None


def _is_of_project(out: str, root: Path) -> bool:
    sources = (root / name for name in SOURCES)
    return Path(out) in (root, root / "data") or any(Path(out).is_relative_to(source) for source in sources)


def _is_marked(out: Path) -> bool:
    """Whether a report wrote here, or runs were measured; earlier versions and JupyterLab leave no marker."""
    if (out / MARKER).exists() or read_sessions(out):
        return True
    return any(isinstance(line, Run | OtherSchema) for _, line in parsed(read_lines(out / RUNS_FILE)))


def _written() -> set[str]:
    """Return the names of the files that a report writes."""
    names = {*notebook_names(ROOT / "notebooks"), *DRAWING, FLEET, "index"}
    ends = (".html", ".ipynb", ".failed.ipynb")
    return {f"{name}{end}" for name in names for end in ends} | {
        RUNS_FILE,
        SESSIONS_FILE,
        "runs.csv",
        VALUES,
        VERDICTS,
    }


def _is_in_the_way(path: Path, marked: bool) -> bool:
    """Whether something is there that must not be overwritten; an empty file is nobody's loss."""
    if not os.path.lexists(path):
        return False
    return not path.is_file() or (not marked and path.stat().st_size > 0)
