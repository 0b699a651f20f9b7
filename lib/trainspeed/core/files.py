"""The files of a report: what they are called, and how they are written.

No reader sees half of a file, and a crash loses no line.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from pathlib import Path

# Key under which a saved notebook keeps how it ended, and each of its outputs which verdicts it shows.
METADATA = "trainspeed"
SUMMARY = "summary"  # the front page: it draws on the other notebooks' runs, so it comes last
CHECK = "check"  # of the instrument itself: it comes first
COMPARE = "compare"  # a command of its own
HISTORY = "history"  # another command of its own
DRAWING = (COMPARE, HISTORY)  # notebooks that draw ledgers, and that no report runs
FLEET = "fleet"  # the same notebook, of all machines of a fleet
VERDICTS = "verdicts.json"
VALUES = "report.json"  # what the front page says, as values
OF_JUPYTER = re.compile(r".*-Copy\d+|Untitled\d*")  # what JupyterLab calls a duplicate, and a new notebook


def notebook_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the folder's notebooks, in alphabetical order, but for a reader's copies and new ones."""
    names = (path.stem for path in folder.glob("*.ipynb") if not path.name.startswith("."))
    return tuple(sorted(name for name in names if not OF_JUPYTER.fullmatch(name)))


def slug(heading: str) -> str:
    """Return the id of a heading in a page; a second heading with the same text gets a number appended."""
    return re.sub(r"[^\w]+", "-", heading.lower()).strip("-") or "section"


def write_atomically(path: Path, text: str) -> None:
    """Write text to a draft in the same folder, sync it, and move it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def append_text(path: Path, line: str) -> None:
    """Append a line, after any cut-off one, and sync it; half a character becomes a question mark.

    Threads and processes that append at once wait for one another, so that no line gets into another.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        with contextlib.suppress(OSError):  # a file system without locks: one writer then
            fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(line.encode(errors="replace") + b"\n")
        file.flush()
        os.fsync(file.fileno())
