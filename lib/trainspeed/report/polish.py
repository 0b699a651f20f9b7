"""The last touches to a page: places to link to, units, tables that scroll, pictures inside. Knows no notebook."""

from __future__ import annotations

import base64
import mimetypes
import re
from pathlib import Path
from urllib.parse import unquote

from bs4 import BeautifulSoup, Tag

from trainspeed.report.anchors import link_charts, link_verdicts, name_headings
from trainspeed.report.picture_size import picture_size
from trainspeed.report.stacked import label_cells
from trainspeed.report.units import WIDE, keep_units

NO_ALT = "No description has been provided for this image"  # what nbconvert writes
TALL_RATIO = 1.8  # times its width: such a figure does not fit on a page of paper in a size that can be read
WIDE_FROM = 9  # columns that do not fit on paper at the size of other tables
MOST_PICTURE_BYTES = 20 * 2**20
NAME_PART = re.compile(r"(?<=[_/:.])(?=[^\W\d_])")  # where a long name may be broken
MOST_WHOLE_LETTERS = 24  # of a name that a screen has room for
CODE_SIGNS = (".", "(", "=")
LONG_PART = re.compile(r"(\S{24})(?=\S)")  # of a name: no paper has room for more in each of its columns


def polish(soup: BeautifulSoup, pictures: Path) -> list[str]:
    """Finish a page in place; return a doubt for each thing that a reader will miss in it.

    Args:
        pictures: Folder that the paths of images are relative to; the images are embedded.
    """
    name_headings(soup)
    link_charts(soup)
    link_verdicts(soup)
    tables = soup.find_all("table")
    for table in tables:
        _mark_wide(table)
        label_cells(table)
    keep_units(soup)
    _let_code_break(soup)
    for table in tables:
        _polish_table(soup, table)
    return _polish_images(soup, pictures)


def _mark_wide(table: Tag) -> None:
    """Let a table of many columns be set in small letters."""
    columns = max((len(row.find_all(["th", "td"])) for row in table.find_all("tr")), default=0)
    if columns >= WIDE_FROM:
        table["class"] = [*table.get("class", []), WIDE]
        table["style"] = f"--columns: {columns}"


def _polish_table(soup: BeautifulSoup, table: Tag) -> None:
    """Put a table into a box that scrolls by touch, mouse or keyboard."""
    table.attrs.pop("border", None)
    for row in table.find_all("tr"):
        row.attrs.pop("style", None)  # pandas right-aligns all headings there
    if table.caption:  # it stays in sight, and within the page, where the table is wider
        table.caption.append(_wrapped(soup, table.caption))
    if "scroll" not in table.parent.get("class", []):
        caption = " ".join(table.caption.get_text(" ").split()) if table.caption else "Table"
        attrs = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": caption}
        table.wrap(soup.new_tag("div", attrs=attrs))
    _let_names_break(soup, table)


def _wrapped(soup: BeautifulSoup, tag: Tag) -> Tag:
    """Return what a tag holds in a span."""
    span = soup.new_tag("span")
    for child in list(tag.contents):
        span.append(child.extract())
    return span


def _let_names_break(soup: BeautifulSoup, table: Tag) -> None:
    """Let `channels_last` break over two lines where a column is too narrow; copied text stays whole.

    On a screen that is no phone's the style sheet lets only those break that are longer than `MOST_WHOLE_LETTERS`.
    """
    for text in table.find_all(string=True):
        attrs = {"class": "long"} if max(map(len, text.split()), default=0) > MOST_WHOLE_LETTERS else {}
        pieces = [piece for part in NAME_PART.split(text) for piece in LONG_PART.split(part) if piece]
        if len(pieces) > 1 and text.parent.name != "style":
            parts = [item for piece in pieces for item in (piece, soup.new_tag("wbr", attrs=attrs))]
            text.replace_with(*parts[:-1])


def _let_code_break(soup: BeautifulSoup) -> None:
    """Let a line of code break behind a dot, a bracket or an equals sign where a phone is too narrow for it.

    Else it would break within a name, or right behind its indent. Copied text stays whole.
    """
    for sign in soup.select(".highlight .o, .highlight .p"):
        if sign.get_text()[-1:] in CODE_SIGNS:
            sign.insert_after(soup.new_tag("wbr"))


def local_picture(source: str, pictures: Path) -> Path | None:
    """Return the picture of a text, which lies below the folder of pictures; None where it is no such file."""
    if "://" in source or source.startswith("data:"):
        return None
    try:
        file = (pictures / unquote(source)).resolve()
        is_small = file.is_file() and file.stat().st_size <= MOST_PICTURE_BYTES
    except (OSError, ValueError):  # a name that is too long, or holds a null byte
        return None
    is_picture = (mimetypes.guess_type(file.name)[0] or "").startswith("image/")
    return file if is_small and is_picture and file.is_relative_to(pictures.resolve()) else None


def _polish_images(soup: BeautifulSoup, pictures: Path) -> list[str]:
    doubts = []
    for image in soup.find_all("img"):
        if file := local_picture(image["src"], pictures):
            mime = mimetypes.guess_type(file.name)[0]
            image["src"] = f"data:{mime};base64,{base64.b64encode(file.read_bytes()).decode()}"
        if not (image.get("width") and image.get("height")) and (size := picture_size(image["src"])):
            image["width"], image["height"] = map(str, size)  # so that its room is kept before it is decoded
        printed = image.find_previous_sibling("source") or image  # the wide drawing, where there are two
        if float(printed.get("height") or 0) > TALL_RATIO * float(printed.get("width") or 1):
            image["class"] = [*image.get("class", []), "tall"]  # on paper it goes on over several pages
        if image.get("alt", NO_ALT) == NO_ALT:
            doubts.append("an image has no description for readers who cannot see it")
    return doubts
