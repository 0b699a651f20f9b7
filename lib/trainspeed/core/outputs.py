"""Names of what a report writes, and of the headings in it."""

from __future__ import annotations

import re
from pathlib import Path

# Key under which a saved notebook keeps how it ended, and each of its outputs which verdicts it shows.
METADATA = "trainspeed"
SUMMARY = "summary"  # the front page: it draws on the other notebooks' runs, so it comes last
COMPARE = "compare"  # a command of its own
VERDICTS = "verdicts.json"


def notebook_names(folder: Path) -> tuple[str, ...]:
    """Return the names of the folder's notebooks, in alphabetical order."""
    return tuple(sorted(path.stem for path in folder.glob("*.ipynb") if not path.name.startswith(".")))


def slug(heading: str) -> str:
    """Return the id of a heading in a page; a second heading with the same text gets a number appended."""
    return re.sub(r"[^\w]+", "-", heading.lower()).strip("-") or "section"
