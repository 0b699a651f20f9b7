"""Checks of what a user gives: each raises a UserError with the field, its value and a way out. Knows no field."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable

from trainspeed.core.errors import EMPTY, UNKNOWN, UserError


def check_name(field: str, value: object, known: Collection[str], others: str = "") -> None:
    """Raise a UserError with a suggestion where a name is not a known one.

    Args:
        others: Further names that are known, in words.
    """
    if value not in known:
        rule = suggest(str(value), known, others)
        raise UserError(field, value, rule, form=UNKNOWN)


def suggest(value: str, known: Iterable[str], others: str = "") -> str:
    """Return how a sentence on an unknown name ends: ": did you mean …? Known: …"."""
    known = list(known)
    close = difflib.get_close_matches(value, known, n=1)
    listed = f"Known: {', '.join(filter(None, (*known, others)))}." if known else "There are none."
    return (f": did you mean {close[0]!r}? " if close else ". ") + listed


def check_least(field: str, value: object, least: int, why: str = "") -> None:
    """Raise a UserError where a value is no whole number, or below the least."""
    if not _is_whole(value) or value < least:
        raise UserError(field, value, f"must be a whole number of at least {least}{why and ': '}{why}.")


def check_most(field: str, value: int, most: int) -> None:
    """Raise a UserError where a whole number is above the most."""
    if value > most:
        raise UserError(field, value, f"is too large: {most} or less.")


def check_range(field: str, value: object, least: int, most: int, why: str) -> None:
    """Raise a UserError where a value is no whole number, or outside of a range."""
    if not _is_whole(value) or not least <= value <= most:
        raise UserError(field, value, f"must be a whole number from {least} to {most}: {why}.")


def check_bool(field: str, value: object) -> None:
    """Raise a UserError where a value is neither true nor false."""
    if not isinstance(value, bool):
        raise UserError(field, value, "must be true or false.")


def check_some(
    field: str, values: Collection[object], rule: str = "name at least one.", form: str = EMPTY
) -> None:
    """Raise a UserError where a list is empty."""
    if not values:
        raise UserError(field, values, rule, form=form)


def check_shared(field: str, value: int, devices: int) -> None:
    """Raise a UserError where so many devices cannot have equal shares."""
    if rest := value % devices:
        choices = " or ".join(str(n) for n in (value - rest, value - rest + devices) if n)
        raise UserError(field, value, f"must be divisible by {{devices}}: try {choices}.", devices=devices)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
