"""Text that shows as it is where Markdown is expected: a value from a ledger or a framework is never markup."""

from __future__ import annotations

import re

# Between two single backticks: a run of several would pair otherwise in Markdown than here.
INLINE_CODE = re.compile(r"((?<!`)`(?!`)[^`]+`(?!`))")
# A colon makes a link of an address; a parenthesis after a backslash begins a formula.
MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~$&]|:(?=//)|(?<=\\)[()])")


# What `plain_text` takes away: the backslash before a mark, bold, a link but for its text; code stays as it is.
MARKS = re.compile(r"\\([\\`*_{}\[\]<>#|~$&:()])|(`[^`]+`)|\*\*|\[((?:\\.|[^\]\\])*)\]\([^()\s]*\)")


class Marked(str):
    """Markdown that was written as such; what is of a ledger in it has gone through `escape`."""

    __slots__ = ()


def escape(text: str) -> Marked:
    """Return text as Markdown of one line that shows it as it is; what is `Marked` already is returned unchanged.

    `Code` between backticks stays code. Characters that nobody can see, such as those that turn the direction of what
    follows, are shown as "\N{REPLACEMENT CHARACTER}".
    """
    if isinstance(text, Marked):
        return text
    parts = INLINE_CODE.split(visible(text))
    parts[::2] = [MARKUP.sub(r"\\\1", part) for part in parts[::2]]
    return Marked("".join(parts))


def plain_text(text: str) -> str:
    """Return a sentence without its markup, for where no Markdown is expected; `code` keeps its backticks.

    What is not `Marked` has none.
    """
    return _without_marks(text) if isinstance(text, Marked) else str(text)


def _without_marks(text: str) -> str:
    return MARKS.sub(
        lambda found: found[1] or found[2] or (_without_marks(found[3]) if found[3] else ""), text
    )


def visible(text: str) -> str:
    """Return text in one line, with a mark in place of each character that cannot be seen."""
    line = " ".join(text.split())
    return (
        line
        if line.isprintable()
        else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    )
