"""Keep a number, its unit and the other end of its interval on one line of a page. Knows no notebook."""

from __future__ import annotations

import re

from bs4 import BeautifulSoup, NavigableString

NO_BREAK = "\N{NO-BREAK SPACE}"
# Text that is code, or no text of the page: what is copied from it has the spaces that were written.
LEFT_ALONE = ("pre", "code", "kbd", "samp", "style", "script", "math", "svg", "title", "textarea")
WIDE = "wide"  # class of tables of many columns
NUMBER = r"(?<![\w.,])[-+−]?\d(?:[\d.,]*\d)?"
UNITS = (
    "%",
    r"[µmn]?s",
    r"min|h|minutes?|seconds?|hours?|days?|weeks?",
    r"[kMGT]i?B(?:/s)?|[kMGT]bit/s|bits?|bytes",
    r"[kMGTP]?FLOP(?:s|/s|/byte)?",
    r"[kMG]?Hz|m?W|kW|k?J|Wh|kWh|°C|px|USD",
    r"blocks?|runs?|rounds?|turns?|epochs?|steps?|images?(?:/s)?|cores?|devices?|GPUs?|nodes?|points?|lines?|times",
)
UNIT = rf"(?:{'|'.join(UNITS)})(?![\w/])"
SIZE = re.compile(rf"({NUMBER}x?) (?={UNIT})")
INTERVAL = re.compile(rf"({NUMBER}x?) to (?=[-+−]?\d)")
SIGN = re.compile(r"(?<!\S)([<>≤≥≈=±×]) (?=[-+−]?\d)")


def keep_units(soup: BeautifulSoup) -> None:
    """Put a no-break space between each number of a page's text and its unit, in place.

    Code is left as it is, and so are the cells of a table of many columns, which would be wider than paper.
    """
    for text in soup.find_all(string=True):
        kept = kept_together(text)
        if kept == text or type(text) is not NavigableString or text.find_parent(LEFT_ALONE):
            continue
        if not (cell := text.find_parent(("td", "th"))) or not cell.find_parent(class_=WIDE):
            text.replace_with(kept)


def kept_together(text: str) -> str:
    """Return text whose numbers, units and intervals do not break over two lines."""
    if not any(letter.isdigit() for letter in text):
        return text
    text = INTERVAL.sub(rf"\1{NO_BREAK}to{NO_BREAK}", text)
    text = SIGN.sub(rf"\1{NO_BREAK}", text)
    return SIZE.sub(rf"\1{NO_BREAK}", text)
