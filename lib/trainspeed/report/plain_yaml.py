"""YAML as users write it: what is no value has its place in the error."""

from __future__ import annotations

import reprlib
from typing import Any

import yaml


class PlainLoader(yaml.SafeLoader):
    """The safe loader, which lets Python's own errors through."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Return a value; a MarkedYAMLError where there is none."""
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, AttributeError, LookupError):  # of a date, of `!!timestamp x`, of `!!bool x`
            kind = node.tag.rpartition(":")[2]
            why = f"{reprlib.repr(node.value)} cannot be read as {kind}: in quotes it is text"
            raise wrong(node, why) from None


def wrong(node: yaml.Node, why: str) -> yaml.MarkedYAMLError:
    """Return an error at the place of a node."""
    return yaml.constructor.ConstructorError(problem=why, problem_mark=node.start_mark)
