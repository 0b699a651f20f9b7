"""In which order a page shows the cells of a notebook: the answer, what it rests on, and how that was measured.

A notebook runs from top to bottom, so its answer comes last; a reader of the page has it first. Knows neither pages
nor outputs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

HEADING = re.compile(r"(#{1,4}) ", re.MULTILINE)
TITLE = 1  # level of a heading


class Part(StrEnum):
    """The parts of a page, in their order; also the tags by which a cell says where it belongs."""

    ANSWER = "answer"
    EVIDENCE = "evidence"
    APPENDIX = "appendix"


ORDER = tuple(Part)
WHOLE = ("ok", "incomplete")  # statuses of a notebook that ran to its end: any other has no answer


def parts_of(cells: Sequence[Mapping[str, Any]]) -> list[Part | None]:
    """Return the part that each cell belongs to; None for all where no cell has a tag, and for the title.

    A tag on the first cell of a section holds for the section, up to the next heading of its level or a higher one;
    a tag on a cell within it holds for that cell, and where that begins a section, for this one. What is in no such
    section is evidence.
    """
    if not any(_tag(cell) for cell in cells):
        return [None] * len(cells)
    parts: list[Part | None] = []
    sections: list[tuple[int, Part]] = []  # those that the cell stands in, each with the level of its heading
    for cell in cells:
        tag, level = _tag(cell), _level(cell)
        if level is not None:
            while sections and sections[-1][0] >= level:
                sections.pop()
            around = sections[-1][1] if sections else Part.EVIDENCE
            sections.append((level, tag or around))
        if level == TITLE and tag is None:
            sections.clear()
            parts.append(None)
        else:
            parts.append(tag or (sections[-1][1] if sections else Part.EVIDENCE))
    return parts


def page_order(cells: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the numbers of the cells in the order of the page: the title, then part by part."""
    ranks = {part: rank for rank, part in enumerate((None, *ORDER))}
    parts = parts_of(cells)
    return sorted(range(len(cells)), key=lambda index: ranks[parts[index]])


def _tag(cell: Mapping[str, Any]) -> Part | None:
    tags = cell.get("metadata", {}).get("tags", ())
    return next((part for part in ORDER if part in tags), None)


def _level(cell: Mapping[str, Any]) -> int | None:
    """Return the level of the heading that a cell begins with; None where it begins with none."""
    if cell.get("cell_type") != "markdown":
        return None
    source = cell["source"]
    found = HEADING.match(source if isinstance(source, str) else "".join(source))
    return len(found[1]) if found else None
