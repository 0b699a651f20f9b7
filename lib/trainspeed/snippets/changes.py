"""What one program has beyond another, as lines to paste. Makes text of text: knows no trial and no template."""

from __future__ import annotations

import ast
import difflib
import re

TRAILING_COMMENT = re.compile(r"(?<=\S)  #.*$")
IN_EVERY_SCRIPT = ("import torch", "import keras")


def changed(before: str, after: str) -> list[str]:
    """Return the lines of a program that another has not, in their order, with the imports that they need.

    A line whose comment alone is another one is no line to paste: its body may be the same.
    """
    lines = after.splitlines()
    told, pasted = (
        [TRAILING_COMMENT.sub("", line) for line in program.splitlines()] for program in (before, after)
    )
    steps = difflib.SequenceMatcher(a=told, b=pasted, autojunk=False).get_opcodes()
    new = {n for kind, _, _, low, high in steps if kind in ("insert", "replace") for n in range(low, high)}
    return [lines[n] for n in sorted(new | _imports(after, new)) if lines[n]]


def _imports(program: str, of: set[int]) -> set[int]:
    """Return the numbers of the lines, from 0, that import what these lines read, but what every script has."""
    whole, lines = ast.parse(program), program.splitlines()
    read = {node.id for node in ast.walk(whole) if isinstance(node, ast.Name) and node.lineno - 1 in of}
    return {
        node.lineno - 1
        for node in whole.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        and lines[node.lineno - 1] not in IN_EVERY_SCRIPT
        and any((alias.asname or alias.name).partition(".")[0] in read for alias in node.names)
    }
