"""Places in a page that a link may lead to: headings, charts, lines of verdicts. Knows no notebook.

Their ids are made of words, not of numbers: a link holds from report to report as long as the words do.
"""

from __future__ import annotations

import itertools
from html import escape

from bs4 import BeautifulSoup, Tag

from trainspeed.core.files import slug
from trainspeed.judge.comparison import ANCHOR

CONTENTS_FROM = 3  # a page with fewer sections needs no list of them
HEADINGS = ("h1", "h2", "h3", "h4")


def name_headings(soup: BeautifulSoup) -> None:
    """Give each heading its own id, and list the sections under the title."""
    taken = {tag["id"] for tag in soup.find_all(id=True) if tag.name not in HEADINGS}
    for heading in soup.find_all(HEADINGS):
        heading["id"] = _free(slug(heading.get_text()), taken)
    sections = soup.find_all("h2")
    if len(sections) < CONTENTS_FROM:
        return
    links = [f'<li><a href="#{section["id"]}">{escape(section.get_text())}</a></li>' for section in sections]
    nav = f'<nav class="contents" aria-label="Contents"><ul>{"".join(links)}</ul></nav>'
    # Below the answer: on a phone the list is longer than a screen.
    place = soup.select_one("main > .answer") or soup.find("h1") or soup.main.find()
    place.insert_after(BeautifulSoup(nav, "html.parser"))


def link_charts(soup: BeautifulSoup) -> None:
    """Give each chart an id after the heading that it stands under, and a link to itself."""
    taken = {tag["id"] for tag in soup.find_all(id=True)}
    for figure in soup.select(".figure"):
        heading = figure.find_previous(HEADINGS)
        figure["id"] = _free(f"chart-{slug(heading.get_text() if heading else '')}", taken)
        figure.append(_link_to(soup, figure, "chart"))


def link_verdicts(soup: BeautifulSoup) -> None:
    """Move the id of each verdict to its row or list item, with a link to itself; only the first one of several."""
    taken: set[str] = set()
    for mark in soup.select(f'span[id^="{ANCHOR}"]'):
        name = mark.attrs.pop("id")
        line = mark.find_parent(["tr", "li"])
        if line is not None and not line.has_attr("id") and name not in taken:
            taken.add(name)
            line["id"] = name
            mark.parent.append(_link_to(soup, line, "verdict"))
        mark.unwrap()


def _free(base: str, taken: set[str]) -> str:
    """Return the name, with a number where it is taken; and take it."""
    names = itertools.chain([base], (f"{base}-{number}" for number in itertools.count(2)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name


def _link_to(soup: BeautifulSoup, place: Tag, what: str) -> Tag:
    """Return a link without text, so that what is copied from a page is not changed by it; its look has a sign."""
    attrs = {"class": "here", "href": f"#{place['id']}", "aria-label": f"Link to this {what}"}
    return soup.new_tag("a", attrs=attrs)
