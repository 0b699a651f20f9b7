"""Checks of what a user gives: each raises a UserError with the field, its value and a way out. Knows no field."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from trainspeed.core.errors import EMPTY_FORM, UNKNOWN_FORM, UserError


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


def check_some(field: str, values: Collection[object], rule: str) -> None:
    """Raise a UserError where a list is empty."""
    if not values:
        raise UserError(field, values, rule, form=EMPTY_FORM)


def check_shared(field: str, value: int, devices: int) -> None:
    """Raise a UserError where a number cannot be divided equally among the devices."""
    if rest := value % devices:
        choices = " or ".join(str(n) for n in (value - rest, value - rest + devices) if n)
        raise UserError(field, value, f"must be divisible by {{devices}}: try {choices}.", devices=devices)
