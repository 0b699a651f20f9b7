"""The text of a page as its reader meets it, a line for each paragraph, list item, heading and row of a table."""

from __future__ import annotations

from pathlib import Path

from bs4 import BeautifulSoup, Tag

from trainspeed.report.units import NO_BREAK

DROPPED = ("style", "script", "svg", ".code", "nav")  # not text, or the cells of the notebook
ROWS = ("h1", "h2", "h3", "h4", "p", "li", "pre", "tr", "caption", "summary", "img", "footer")


def read_page(page: Path) -> str:
    """Return a page's HTML, the no-break spaces that keep numbers and units together as plain ones."""
    return page.read_text(encoding="utf-8").replace(NO_BREAK, " ")


def page_text(page: Path) -> str:
    """Return what a page says: pictures by their alternative text, tables a row a line, no code cells."""
    tree = BeautifulSoup(page.read_text(encoding="utf-8"), "html.parser")
    for dropped in tree.select(", ".join(DROPPED)):
        dropped.decompose()
    lines = [_line(element) for element in tree.body.find_all(ROWS) if not element.find(ROWS)]
    return "\n".join(filter(None, lines)) + "\n"


def _line(element: Tag) -> str:
    if element.name == "img":
        return f"[picture] {element.get('alt', '')}"
    if element.name == "tr":
        return " | ".join(_words(cell.get_text()) for cell in element.find_all(["th", "td"]))
    prefix = f"{'#' * int(element.name[1])} " if element.name[0] == "h" else "- " * (element.name == "li")
    return prefix + _words(element.get_text()) if element.get_text(strip=True) else ""


def _words(text: str) -> str:
    return " ".join(text.split())
