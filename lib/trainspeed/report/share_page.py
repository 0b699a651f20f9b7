"""Pages of reports to send on: all as one, whose links are anchors within it, or each by itself. They ask nobody.

Knows no notebook and no ledger: pages are HTML that `report.export` wrote.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from bs4 import BeautifulSoup, Tag

from trainspeed.core.files import slug
from trainspeed.report.clean import PICTURE, is_link
from trainspeed.report.export import POLICY, TEMPLATES

GENERATOR = "Trainspeed"  # what a page says that it was made by
# Of what a page has around its content, nothing is taken over; the rest is no part of any page that `export` writes.
NOT_TAKEN = "script, iframe, object, embed, base, meta, link, form, noscript, template, .skip, nav.bar"
REFERENCES = (
    "aria-labelledby",
    "aria-describedby",
    "aria-controls",
    "for",
    "headers",
)  # attributes that name ids
STYLED_ID = re.compile(r"#(T_[\w-]+)")  # of a table, in its own style
URL_OF_ID = re.compile(r"url\(['\"]?#([\w-]+)['\"]?\)")
ELSEWHERE = " (not in this file)"
LinkTo = Callable[
    ["Page", "Page", str], str
]  # (page, target, id in the target or empty) -> link from page to there


@dataclass(frozen=True)
class Page:
    """A page of a report.

    Attributes:
        key: What its ids begin with, and the id of the whole page.
        file: Its path in the folder of what is shared, which links lead to; with a folder, that of a machine.
    """

    key: str
    file: str
    soup: BeautifulSoup

    @property
    def folder(self) -> str:
        """The folder of its report: the name of a machine, or empty."""
        return posixpath.dirname(self.file)

    @property
    def title(self) -> str:
        """What it says in the browser's title bar, after its machine."""
        own = self.soup.title.get_text(" ", strip=True) if self.soup.title else self.file
        return f"{self.folder}: {own}" if self.folder else own

    def place(self, id_: str) -> str:
        """Return what one of its ids is in the file of all pages."""
        return f"{self.key}--{id_}"


def read_page(path: Path) -> BeautifulSoup | None:
    """Return a page that a report wrote; None of any other file."""
    soup = BeautifulSoup(path.read_text(encoding="utf-8", errors="replace"), "html.parser")
    made_by = soup.find("meta", attrs={"name": "generator"})
    return soup if soup.main and made_by and made_by.get("content") == GENERATOR else None


def pages_of(soups: Mapping[str, BeautifulSoup]) -> list[Page]:
    """Return file name -> page as pages, each with a key of its own."""
    pages: dict[str, Page] = {}
    for file, soup in soups.items():
        base = slug(file.removesuffix(".html"))  # never two dashes in a row: these part it from an id
        numbers = (f"{base}-{number}" for number in range(2, len(soups) + 2))
        key = base if base not in pages else next(key for key in numbers if key not in pages)
        pages[key] = Page(key, file, soup)
    return [*pages.values()]


def one_page(pages: Sequence[Page]) -> str:
    """Return all pages as one, the first one on top.

    Raises:
        ValueError: There is none.
    """
    if not pages:
        raise ValueError("there are no pages to put into one.")
    by_file = {page.file: page for page in pages}
    ids = {page.file: {tag["id"] for tag in page.soup.main.find_all(id=True)} for page in pages}

    def anchor(_page: Page, target: Page, place: str) -> str:
        return f"#{target.place(place) if place in ids[target.file] else target.key}"

    for page in pages:
        _clean(page)
        for tag in page.soup.main.find_all(True):
            _renamed(tag, page, ids[page.file])
        _relink(page, by_file, anchor)
    return _document(pages[0], "".join(_article(page, pages, anchor) for page in pages))


def each_page(pages: Sequence[Page]) -> dict[str, str]:
    """Return file -> page, as clean as in `one_page`; a link to what is not among them becomes text that says so."""
    by_file = {page.file: page for page in pages}
    for page in pages:
        _clean(page)
        _relink(page, by_file, _path)
    return {page.file: _document(page, _article(page, pages, _path)) for page in pages}


def _path(page: Page, target: Page, place: str = "") -> str:
    """Return where a place is, as seen from another file."""
    fragment = f"#{quote(place)}" if place or target is page else ""
    return (
        fragment if target is page else quote(posixpath.relpath(target.file, page.folder or ".")) + fragment
    )


def _above(page: Page, pages: Sequence[Page]) -> Page | None:
    """Return the front page above a page, that of its machine first; None for the first page."""
    fronts = (next(one for one in pages if one.folder == page.folder), pages[0])
    return next((front for front in fronts if front is not page), None)


def _document(page: Page, articles: str) -> str:
    """Return a whole page with the title and the style of this one."""
    own = (TEMPLATES / "share.css").read_text(encoding="utf-8")
    styles = [tag.get_text() for tag in page.soup.head.find_all("style")] if page.soup.head else []
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="{GENERATOR}">
<title>{escape(page.title)}</title>
<style>
{"".join(styles)}
{own}
</style>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<main id="content">
{articles}
</main>
</body>
</html>
"""


def _clean(page: Page) -> None:
    """Reduce a page to what it holds, with its footer, and drop what runs or asks others for something."""
    main, footer = page.soup.main, page.soup.find("footer")
    if footer and not footer.find_parent("main"):
        main.append(footer)
    for tag in main.select(NOT_TAKEN):
        if not tag.decomposed:
            tag.decompose()
    for tag in main.find_all(True):
        _harmless(tag)


def _article(page: Page, pages: Sequence[Page], link_to: LinkTo) -> str:
    """Return a clean page as a part of a file, below a link to the front page above it; the first lists them all."""
    back = ""
    if above := _above(page, pages):
        of_machine = f"{escape(page.folder)}: " if page.folder else ""
        back = f'<p class="bar">{of_machine}<a href="{link_to(page, above, "")}">Back to the front page</a></p>\n'
    elif len(pages) > 1:
        _list_pages(page, pages, link_to)
    for nav in page.soup.main.select("nav.contents"):  # a reader who cannot see them tells them apart by it
        nav["aria-label"] = f"Contents: {page.title}"
    return (
        f'<article class="page" id="{page.key}" aria-label="{escape(page.title, quote=True)}">\n{back}'
        f"{page.soup.main.decode_contents()}</article>\n"
    )


def _list_pages(page: Page, pages: Sequence[Page], link_to: LinkTo) -> None:
    """Put a list of all pages below the answer of this one: above it, it would fill a phone's screen."""
    main = page.soup.main
    links = "".join(f'<li><a href="{link_to(page, one, "")}">{escape(one.title)}</a></li>' for one in pages)
    nav = f'<nav class="pages" aria-label="Pages of this report"><p>All pages of this report</p><ul>{links}</ul></nav>'
    place = main.select_one(".answer + .contents") or main.select_one(".answer") or main.find("h1")
    listed = BeautifulSoup(nav, "html.parser")
    if place:
        place.insert_after(listed)
    else:
        main.insert(0, listed)


def _harmless(tag: Tag) -> None:
    """Drop what runs, or asks others for something: no page of a report has it, but a folder may be somebody else's."""
    for name in [*tag.attrs]:
        value = tag[name] if isinstance(tag[name], str) else " ".join(tag[name])
        source = name in (
            "src",
            "srcset",
            "poster",
            "data",
            "xlink:href",
            "action",
            "formaction",
            "background",
        )
        picture = PICTURE.fullmatch(value) or value.startswith("#")
        if name.startswith("on") or (source and not picture):
            del tag[name]
    if tag.name == "a" and tag.get("href") and not is_link(tag["href"]):
        del tag["href"]


def _renamed(tag: Tag, page: Page, known: set[str]) -> None:
    """Give a tag's id and what refers to ids the names that they have in the file of all pages."""
    if tag.get("id"):
        tag["id"] = page.place(tag["id"])
    for name in REFERENCES:
        if name in tag.attrs:
            words = tag[name] if isinstance(tag[name], list) else tag[name].split()
            tag[name] = " ".join(page.place(word) if word in known else word for word in words)
    if tag.name == "style":
        tag.string = STYLED_ID.sub(lambda found: f"#{page.place(found[1])}", tag.get_text())
    for name, value in tag.attrs.items():
        if name != "src" and isinstance(value, str) and "url(" in value:
            tag[name] = URL_OF_ID.sub(lambda found: f"url(#{page.place(found[1])})", value)


def _relink(page: Page, by_file: Mapping[str, Page], link_to: LinkTo) -> None:
    """Let each link to a page lead there; what leads to another file becomes text that says so."""
    for link in page.soup.main.find_all("a", href=True):
        parts = urlsplit(link["href"])
        if parts.scheme:
            continue
        file = posixpath.normpath(posixpath.join(page.folder, unquote(parts.path)))
        target = by_file.get(file) if parts.path else page
        if target is None:
            link.insert_after(ELSEWHERE)
            link.unwrap()
        else:
            link["href"] = link_to(page, target, unquote(parts.fragment))
