"""What a notebook could not show although it ran on: the errors among its outputs (see `guard.py`).

Runs nothing and knows no page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import nbformat

LINE_LENGTH = 300  # an error in one line, for the banner and the front page
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MARKS = re.compile(r"[*`]|<[^>]+>")  # of Markdown and HTML, in a heading


@dataclass(frozen=True)
class Gap:
    """Something that could not be shown.

    Attributes:
        cell: Index of its cell.
        section: The heading above it.
        error: One line.
    """

    cell: int
    section: str
    error: str


def gaps_in(notebook: nbformat.NotebookNode) -> list[Gap]:
    """Return what an executed notebook could not show, in its order."""
    gaps, section = [], ""
    for index, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            headings = [line for line in cell.source.splitlines() if re.match("#{1,6} ", line)]
            section = MARKS.sub("", headings[-1].lstrip("#")).strip() if headings else section
        for output in cell.get("outputs", ()):
            if output.output_type == "error":
                gaps.append(Gap(index, section, one_line(error_text(output.ename, output.evalue))))
    return gaps


def summary_of(gaps: Sequence[Gap]) -> str:
    """Return how many there are, and the first with its reason: a line."""
    parts = "1 part" if len(gaps) == 1 else f"{len(gaps)} parts"
    first = "" if len(gaps) == 1 else "; the first is "
    words = f"{parts} could not be shown{first or ': '}{gaps[0].section}: {gaps[0].error}"
    return one_line(words)


def error_text(name: str, message: str) -> str:
    """Return an exception as text; a UserError says all by itself."""
    text = ANSI.sub("", message)
    return text if name == "UserError" else f"{name}: {text}".rstrip(": ")


def one_line(text: str) -> str:
    """Return the first line that holds anything, shortened where it is very long."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return first if len(first) <= LINE_LENGTH else first[: LINE_LENGTH - 1] + "…"
