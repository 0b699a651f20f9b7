"""Notebooks of a few cells for the tests of the report."""

from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

PARAMETERS = "blocks: int = 6  # repeats; 6 = enough\nbatch_sizes: list[int] = [32, 64]  # images per step"


def code(source: str, *tags: str, outputs: list | None = None) -> nbformat.NotebookNode:
    """Return a code cell; one with outputs looks executed."""
    cell = new_code_cell(source, outputs=outputs or [], execution_count=1 if outputs else None)
    cell.metadata.tags = list(tags)
    return cell


def text(source: str) -> nbformat.NotebookNode:
    """Return a Markdown cell."""
    return new_markdown_cell(source)


def write(folder: Path, name: str, *cells: nbformat.NotebookNode | str, title: str | None = None) -> Path:
    """Write `<name>.ipynb` with a heading, parameters and the cells; a text is a code cell."""
    head = [text(title or f"# Does {name} train faster here?"), code(PARAMETERS, "parameters")]
    cells = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    path = folder / f"{name}.ipynb"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(new_notebook(cells=[*head, *cells]), path)
    return path
