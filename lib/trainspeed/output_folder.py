"""The folder a report writes to: may it be written, is there room, and is nobody else writing there.

Knows what a report's files look like, so that it overwrites no others; not how they are made.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from trainspeed.environments import ROOT
from trainspeed.errors import UserError
from trainspeed.ledger import NAME as LEDGER
from trainspeed.ledger import SESSIONS
from trainspeed.parameters import notebook_names

LOCK = ".lock"
LEAST_FREE_BYTES = 100 * 2**20  # notebooks, pages and monitor files of one report take a tenth of it
# Of the project itself. Beside them, `outputs` and recorded runs in `data/measured` are written.
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
COMPARE = "compare"  # a page beside those of the notebooks
# In the head of each page; a page from before there was this mark ends with its version.
PAGE = re.compile(
    r'<meta (?=[^>]*\bname="generator")(?=[^>]*\bcontent="Trainspeed")|Trainspeed [\d.]+</p>\s*</footer>'
)
SEEN_BYTES = 100_000  # of a page or a ledger, at either end: enough to know whose it is


@contextlib.contextmanager
def locked(out: Path) -> Iterator[None]:
    """Check that the folder can be written to, and keep a second report out of it.

    Raises:
        UserError: It cannot, or what a report would overwrite there is someone else's. Then nothing was
            written, and no folder made.
    """
    try:
        _check_place(out)
        _check_contents(out)
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out) as file:
            file.write(b"0")
        free = shutil.disk_usage(out).free
        lock = (out / LOCK).open("a")
    except OSError as problem:
        raise UserError(
            f"cannot write to {shown(out)} ({problem.strerror or problem}): name another folder, OUT=…"
        ) from None
    with lock:
        if free < LEAST_FREE_BYTES:
            raise UserError(
                f"{shown(out)} has {free / 2**20:.0f} MiB free, a report may need "
                f"{LEAST_FREE_BYTES / 2**20:.0f} MiB: make room, or name another folder, OUT=…"
            )
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # ends with the process, however it ends
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
    """A path as seen from where the user is."""
    return os.path.relpath(path)


def _check_place(out: Path) -> None:
    """Refuse what is no folder, and the project's own folders."""
    real, root = Path(os.path.realpath(out)), Path(os.path.realpath(ROOT))
    if out.is_symlink() and not out.exists():
        problem = "it is a link to nowhere"
    elif out.exists() and not out.is_dir():
        problem = "it is a file"
    elif real in (root, root / "data") or any(real.is_relative_to(root / name) for name in SOURCES):
        problem = "it is a folder of the project itself"
    else:
        return
    raise UserError(f"cannot write to {shown(out)} ({problem}): name another folder, OUT=…")


def _check_contents(out: Path) -> None:
    """Refuse a folder in which a report would write over what no report has written."""
    others = sorted(name for name, is_ours in _written().items() if _is_others(out / name, is_ours))
    if others:
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        raise UserError(
            f"{shown(out)} holds {', '.join(others[:3])}{more}, which no report wrote and this one would "
            "overwrite: name another folder, OUT=…"
        )


def _is_others(path: Path, is_ours: Callable[[Path], bool] | None) -> bool:
    """Whether something is there that is not a report's; an empty file is nobody's loss."""
    if not os.path.lexists(path):
        return False
    if is_ours is None:
        return not path.is_dir()
    return not path.is_file() or (path.stat().st_size > 0 and not is_ours(path))


def _written() -> Mapping[str, Callable[[Path], bool] | None]:
    """Return the names of what a report writes, each with how to recognise it; None for a folder."""
    names = {*notebook_names(ROOT / "notebooks"), COMPARE}
    return {
        **{f"{name}.html": _is_page for name in (*names, "index")},
        **{f"{name}{end}": _is_notebook for name in names for end in (".ipynb", ".failed.ipynb")},
        LEDGER: _is_record,
        SESSIONS: _is_record,
        "runs.csv": _is_table,
        "verdicts.json": _is_verdicts,
        "monitor": None,  # the names in it hold the session's, so they are nobody else's
    }


def _is_page(path: Path) -> bool:
    return bool(PAGE.search("".join(_ends(path))))


def _is_notebook(path: Path) -> bool:
    """Whether its metadata say how a report's notebook ended."""
    try:
        return "status" in json.loads(path.read_bytes())["metadata"]["trainspeed"]
    except (ValueError, KeyError, TypeError):
        return False


def _is_record(path: Path) -> bool:
    """Whether a line looks like a run's or a session's, of any schema; the last may be cut off."""
    lines = _ends(path)[0].splitlines()
    return any('"session"' in line and ('"schema"' in line or '"preset"' in line) for line in lines)


def _is_table(path: Path) -> bool:
    header = _ends(path)[0].partition("\n")[0].strip()
    return not header or {"session", "study", "block", "status"} <= set(header.split(","))


def _is_verdicts(path: Path) -> bool:
    try:
        found = json.loads(path.read_bytes())
    except ValueError:  # a notebook keeps a damaged one under another name
        return True
    return isinstance(found, list) and all(
        isinstance(element, dict) and {"study", "outcome"} <= set(element) for element in found
    )


def _ends(path: Path) -> tuple[str, str]:
    """Return the beginning and the end of a file as text."""
    with path.open("rb") as file:
        first = file.read(SEEN_BYTES)
        file.seek(max(0, path.stat().st_size - SEEN_BYTES))
        return first.decode(errors="replace"), file.read().decode(errors="replace")
