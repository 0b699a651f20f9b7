"""The text of a notebook's parameters cell, as its kernel has run it. Shows nothing and changes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path

import nbformat

from trainspeed.core.errors import UserError
from trainspeed.report.parameters import TAG, check_parameters, parse


def executed_cell(path: Path, history: Sequence[tuple[str, str]]) -> str:
    """Return the parameters cell as it was run last; as the notebook's file has it, if it was not.

    Args:
        path: The notebook. A reader may have renamed it: then the last cell with annotated values is taken.
        history: What the kernel has run, the newest last: as Python, and as it was typed.
    Raises:
        UserError: It was run with a value that is computed or of another type; or there is no such cell.
    """
    own = _in_file(path) if path.is_file() else ""
    names = parse(own, path.stem).keys()
    for python, typed in reversed(history):
        if names <= _assigned(python) if names else _annotated(python):
            return _of_plain_values(typed, path.stem, names)
    if not own:
        raise UserError(
            f"{path.name} has another name, and no parameters were run: run the cell above, then this one"
        )
    return own


def _in_file(path: Path) -> str:
    cells = nbformat.read(path, 4).cells
    return next(cell.source for cell in cells if TAG in cell.metadata.get("tags", []))


def _of_plain_values(source: str, notebook: str, names: Iterable[str]) -> str:
    """Return the text of a cell; a UserError where one of its values is none that the panel can show."""
    try:
        known = parse(source, notebook)
        check_parameters(notebook, known, {name: parameter.default for name, parameter in known.items()})
        for name in names - known.keys():  # which a loop has set, or a line that sets several
            raise UserError(f"{notebook}: parameter {name} must be a plain literal")
    except UserError as problem:
        raise UserError(
            f"{problem}. Change it in the cell above, or run all cells below as they are"
        ) from None
    return source


def _assigned(python: str) -> set[str]:
    """Return the names that a cell assigns, in whatever way."""
    nodes = ast.walk(_parsed(python))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _annotated(python: str) -> bool:
    """Return whether a cell gives a value to an annotated name, as a parameters cell does."""
    return any(isinstance(line, ast.AnnAssign) and line.value for line in _parsed(python).body)


def _parsed(python: str) -> ast.Module:
    try:
        return ast.parse(python)
    except (SyntaxError, ValueError):  # of a cell that did not run either
        return ast.Module([], [])
