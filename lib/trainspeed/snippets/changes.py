"""What one program has beyond another, as lines to paste. Makes text of text: knows no trial and no template."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from difflib import SequenceMatcher

TRAILING_COMMENT = re.compile(r"(?<=\S)  #.*$")
IN_EVERY_SCRIPT = ("import torch", "import keras")


def changed(before: str, after: str) -> list[str]:
    """Return the lines of a program that another has not, in their order, with the imports that they need.

    Comments say which lines they take the place of, and which are to go. What lies apart in the program has an empty
    line between. A line whose comment alone is another one is no line to paste: its body may be the same.
    """
    lines = after.splitlines()
    old, new = ([TRAILING_COMMENT.sub("", line) for line in text.splitlines()] for text in (before, after))
    shown: set[int] = set()
    gone: dict[int, list[str]] = {}  # number of a line -> the comment that stands before it
    for kind, start, stop, low, high in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if kind != "equal":
            added = [n for n in range(low, high) if new[n]]
            shown.update(added)
            word = "instead of" if any(_is_code(new[n]) for n in added) else "without"
            if comment := _comment(word, [line for line in old[start:stop] if _is_code(line)]):
                gone[added[0] if added else low] = comment
    shown |= _imports(after, shown)
    found: list[str] = []
    below = None  # the line below the last one that is told
    for n in sorted(shown | gone.keys()):
        between = [] if below is None else lines[below:n]
        found += [""] if any(between) else between
        found += [*gone.get(n, ()), *([lines[n]] if n in shown else ())]
        below = n + (n in shown)
    return found


def _is_code(line: str) -> bool:
    return bool(line) and not line.lstrip().startswith("#")


def _comment(word: str, code: Sequence[str]) -> list[str]:
    """Return a comment that names lines of code, indented as they are; none for no lines."""
    if not code:
        return []
    whole = textwrap.dedent("\n".join(code)).splitlines()
    indent = code[0].removesuffix(whole[0])
    if len(whole) == 1:
        return [f"{indent}# {word}: {whole[0]}"]
    return [f"{indent}# {word}:", *(f"{indent}#     {line}" for line in whole)]


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
