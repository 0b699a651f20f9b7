"""Parameters as text: values put into a parameters cell, and read from what a person types. Shows nothing."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

import yaml

from trainspeed.core.errors import UserError
from trainspeed.report.parameters import Parameter
from trainspeed.report.plain_yaml import PlainLoader


def with_values(source: str, values: Mapping[str, Any]) -> str:
    """Return a parameters cell with other values; types, comments and the order of its lines stay."""
    lines = [line.encode() for line in source.splitlines()]  # ast counts bytes
    placed = [node for node in ast.parse(source).body if isinstance(node, ast.AnnAssign | ast.Assign)]
    for node in reversed(placed):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        name = target.id if isinstance(target, ast.Name) else None
        if name not in values or node.value is None or ast.literal_eval(node.value) == values[name]:
            continue
        first, last = node.value.lineno - 1, node.value.end_lineno - 1
        before, after = lines[first][: node.value.col_offset], lines[last][node.value.end_col_offset :]
        lines[first : last + 1] = [before + literal(values[name]).encode() + after]
    return "\n".join(line.decode() for line in lines)


def literal(value: Any) -> str:
    """Return a value as it is written in Python, with the quotes of the notebooks."""
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def as_typed(parameter: Parameter, value: Any) -> str:
    """Return a value as a person types it: a list without its brackets, nothing for None."""
    if value is None:
        return ""
    if parameter.kind == "str":
        return value
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=float("inf")).strip()
    return text[1:-1] if isinstance(value, list) else text.removesuffix("\n...")


def read_typed(parameter: Parameter, text: str) -> Any:
    """Return the value of what was typed, which is read as the same text in a PARAMS file is.

    Raises:
        UserError: It cannot be read. Whether it fits the parameter is for `check_parameters` to say.
    """
    text = text.strip()
    if not text and parameter.kind != "list":
        return "" if parameter.kind == "str" and not parameter.optional else None
    if parameter.kind == "str":
        return text
    try:
        return yaml.load(f"[{text}]" if parameter.kind == "list" else text, PlainLoader)
    except yaml.constructor.ConstructorError as problem:
        raise UserError(f"{parameter.name}: {problem.problem}") from None
    except yaml.YAMLError:
        raise UserError(
            f"{parameter.name}: {text!r} cannot be read{' as a list' * (parameter.kind == 'list')}"
        ) from None
