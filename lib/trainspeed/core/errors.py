"""What a notebook or a command raises on purpose, and the checks of what a user gives. Knows no field."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping, Sequence
from numbers import Real

# How field, value and rule are put together.
VALUE_FORM = "{field} (={value!r}) {rule}"
NAME_FORM = "{field} {value!r} {rule}"
UNKNOWN_FORM = "unknown {field} {value!r}{rule}"
EMPTY_FORM = "{field} is an empty list: {rule}"


class UserError(ValueError):
    """Wrong input, in one line: what is wrong, the value, and what to do.

    The command line prints it without a traceback and exits with code 2; a notebook shows it likewise.
    """

    def __init__(
        self,
        wrong: str,
        value: object = None,
        rule: str | None = None,
        *,
        form: str = VALUE_FORM,
        **others: object,
    ) -> None:
        """Make the sentence.

        Args:
            wrong: The field whose value is wrong; without a rule, the whole sentence: something else is wrong,
                such as a folder.
            rule: What must hold, and what to do.
            form: How field, value and rule are put together.
            others: Values of other fields, which the rule refers to as "{field}".
        """
        self._parts = wrong, value, rule, form, others
        super().__init__(self._sentence({}))

    def named(self, names: Mapping[str, str]) -> UserError:
        """Return the error under the names of a notebook's parameters: field -> parameter."""
        return UserError(self._sentence(names))

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows in place of a traceback."""
        return [f"{type(self).__name__}: {self}"]

    def _sentence(self, names: Mapping[str, str]) -> str:
        wrong, value, rule, form, others = self._parts
        if rule is None:
            return wrong
        for name, other in others.items():
            rule = rule.replace(f"{{{name}}}", f"{names.get(name, name)} (={other!r})")
        return form.format(field=names.get(wrong, wrong), value=value, rule=rule)


class EmptyList(UserError):
    """A list that is empty, where at least one element is needed."""


class PlanOnly(Exception):
    """Ends a notebook whose plan has been written: nothing is measured and nothing is wrong."""

    def _render_traceback_(self) -> list[str]:
        """Return no traceback: nobody sees it, and IPython takes a third of a second to make one of these."""
        return []


def check_name(field: str, value: object, known: Collection[str], others: str = "") -> None:
    """Raise a UserError with a suggestion where a name is not among the known ones.

    Args:
        others: Further names that are allowed, described in words.
    """
    if value not in known:
        raise UserError(field, value, suggest(str(value), known, others), form=UNKNOWN_FORM)


def suggest(value: str, known: Collection[str], others: str = "") -> str:
    """Return the end of a sentence about an unknown name: ": did you mean …? Known: …"."""
    close = difflib.get_close_matches(value, known, n=1)
    listed = f"Known: {', '.join(filter(None, (*known, others)))}." if known else "There are none."
    return (f": did you mean {close[0]!r}? " if close else ". ") + listed


def check_whole(field: str, value: object, least: int, why: str = "", *, most: int | None = None) -> None:
    """Raise a UserError where a value is not a whole number, is below the least or above the most."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise UserError(field, value, f"must be a whole number {span}{why and ': '}{why}.")


def check_list(field: str, value: object) -> None:
    """Raise a UserError where a value is not a list, nor a tuple or another sequence of elements."""
    if value is None or isinstance(value, str | int | float):
        raise UserError(field, value, f"must be a list: write {[] if value is None else [value]}.")
    if not isinstance(value, Sequence):
        raise UserError(
            f"{field} must be a list, not of type {type(value).__name__}: write its elements in brackets, as in [1, 2]."
        )


def check_seconds(field: str, value: object, *, least: float = 0.0, or_none: bool = False) -> None:
    """Raise a UserError where a value is no finite number of seconds above 0, or below the least.

    Args:
        or_none: Whether None may stand for no limit.
    """
    if value is None and or_none:
        return
    otherwise = ", or None without a limit" if or_none else ""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise UserError(field, value, f"must be a number of seconds, as in 180{otherwise}.")
    if value <= 0 or value < least:
        at_least = f", {least:g} or more" if least else ""
        raise UserError(field, value, f"must be positive seconds{at_least}{otherwise}.")


def check_some(field: str, values: Collection[object], rule: str) -> None:
    """Raise an EmptyList where a list is empty."""
    if not values:
        raise EmptyList(field, values, rule, form=EMPTY_FORM)


def check_shared(field: str, value: int, devices: int, *, by: str = "devices") -> None:
    """Raise a UserError where a number cannot be divided equally among the devices, or among so many of others."""
    if rest := value % devices:
        choices = " or ".join(str(n) for n in (value - rest, value - rest + devices) if n)
        raise UserError(field, value, f"must be divisible by {{{by}}}: try {choices}.", **{by: devices})
