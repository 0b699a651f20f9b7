"""What a notebook's code cells keep to: the repository's, and those of CONTRIBUTING's own study."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from trainspeed.report.parameters import TAG

CELL_LINES = 6
NOT_IN_A_NOTEBOOK = re.compile(r"^\s*(def |class |async def |[!%]|pip )", re.MULTILINE)


def broken_rule(source: str, tags: Collection[str] = ()) -> str:
    """Return the rule that a cell breaks, with the cell; "" where it keeps to all."""
    if NOT_IN_A_NOTEBOOK.search(source):
        return f"A notebook defines and installs nothing, as it is a report: that goes into lib/.\n{source}"
    if TAG in tags or imports_only(source) or (count := lines_of(source)) <= CELL_LINES:
        return ""
    rule = f"A cell has at most {CELL_LINES} lines, one list of arguments apart, and imports have cells of their own"
    return f"{rule}. These are {count}:\n{source}"


def lines_of(source: str) -> int:
    """Return how many lines a cell has, one list of arguments apart."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    arguments = max((call.end_lineno - call.lineno - 1 for call in calls), default=0)
    return len(source.splitlines()) - max(arguments, 0)


def imports_only(source: str) -> bool:
    """Whether a cell imports, and sets the theme of what it imported."""
    allowed = (ast.Import, ast.ImportFrom, ast.Expr)
    body = ast.parse(source).body
    return isinstance(body[0], ast.Import | ast.ImportFrom) and all(isinstance(one, allowed) for one in body)
