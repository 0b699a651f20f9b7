"""YAML as users write it: what is no value has its place in the error, and a number is what it looks like."""

from __future__ import annotations

import re
import reprlib
from typing import Any

import yaml

# Numbers of YAML 1.1 that few mean: 010 is 8, 1:30 is 90. Source: https://yaml.org/type/int.html
OTHER_BASES = re.compile(r"[-+]?(0[0-7_]+|[0-9][0-9_]*(:[0-9]+)+(\.[0-9_]*)?)")


class PlainLoader(yaml.SafeLoader):
    """The safe loader, which lets Python's own errors through and reads two kinds of numbers unexpectedly."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return a value; a MarkedYAMLError where there is none."""
        try:
            value = super().construct_object(node, deep=deep)
        except (ValueError, AttributeError, LookupError):  # of a date, of `!!timestamp x`, of `!!bool x`
            kind = node.tag.rpartition(":")[2]
            why = f"{reprlib.repr(node.value)} cannot be read as {kind}: in quotes it is text"
            raise wrong(node, why) from None
        if isinstance(value, int | float) and OTHER_BASES.fullmatch(node.value):
            raise wrong(node, f"YAML reads {node.value} as {value}: write {value} where you mean that")
        return value


def wrong(node: yaml.Node, why: str) -> yaml.MarkedYAMLError:
    """Return an error at the place of a node."""
    return yaml.constructor.ConstructorError(problem=why, problem_mark=node.start_mark)
