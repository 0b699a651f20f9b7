"""What a notebook could not show although it ran to its end: the errors among its outputs (see `guard.py`).

Runs nothing and knows no page.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import nbformat

from trainspeed.core.format import counted

LINE_LENGTH = 300  # longest error for the banner and the front page
ANSI = re.compile(r"\x1b\[[0-9;]*m")
MARKS = re.compile(r"[*`]|<[^>]+>")  # Markdown and HTML in a heading


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
    """Return what an executed notebook could not show, in the notebook's order."""
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
    """Return one line: how many gaps there are, and the first with its reason."""
    first = ": " if len(gaps) == 1 else "; the first is "
    return one_line(
        f"{counted(len(gaps), 'part')} could not be shown{first}{gaps[0].section}: {gaps[0].error}"
    )


def error_text(name: str, message: str) -> str:
    """Return an exception as text; a UserError needs no name before its message."""
    text = ANSI.sub("", message)
    return text if name == "UserError" else f"{name}: {text}".rstrip(": ")


def one_line(text: str) -> str:
    """Return the first line that is not blank, shortened where it is very long."""
    first = next((line.strip() for line in text.splitlines() if line.strip()), "no message")
    return first if len(first) <= LINE_LENGTH else first[: LINE_LENGTH - 1] + "…"
