"""docs/benchmarks.md: a section for each part of the benchmark, which says when and where it was measured.

A part that is measured replaces its own section and leaves the others. Knows no part and measures nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

TABLE = ("| what | measured | wanted | met |", "|---|---|---|---|")


def section(name: str, about: str, rows: Sequence[str]) -> str:
    """Return the text of a section.

    Args:
        about: When, where and how it was measured.
        rows: Of a table of four columns, a line each.
    """
    return "\n".join([f"## {name}", "", about, "", *TABLE, *rows]) + "\n"


def put(path: Path, introduction: str, sections: Sequence[str], order: Sequence[str]) -> None:
    """Write sections into the document, each in place of the one of its name; the others stay.

    Args:
        order: Names of the sections in the order in which they are wanted; others stay behind those that they follow.
    """
    known = {_name(text): text for text in _read(path)} | {_name(text): text for text in sections}
    places, last = {name: place for place, name in enumerate(order)}, -1
    for name in known:  # such as a part that only another machine can measure
        last = places.setdefault(name, last)
    names = sorted(known, key=places.__getitem__)
    path.write_text("\n".join([introduction, *(known[name] for name in names)]))


def _read(path: Path) -> list[str]:
    text = path.read_text() if path.exists() else ""
    return [part.strip("\n") + "\n" for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]]


def _name(text: str) -> str:
    return text.partition("\n")[0].removeprefix("## ")
