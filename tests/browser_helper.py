"""What a reader gets of a page, looked at in a real browser: Debian's Chromium, without a window.

Only looks; what is wrong with it is for the tests to say.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

SCRIPT = Path(__file__).with_name("survey.js").read_text(encoding="utf-8")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCHEMES = ("light", "dark")
HEIGHT_PX = 800
MANY_STOPS = 500  # of the keyboard on one page; a page with more of them has lost its way
PAPER_PX = 680  # A4 without the style sheet's margins of 15 mm, at the 96 px per inch of CSS


def executable() -> str | None:
    """Return the browser to drive: the one that is named, or one of those that distributions install."""
    named = os.environ.get("TRAINSPEED_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def browser() -> Iterator[Any]:
    """Start one browser. Needs playwright and `executable()`."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Its sandbox does not start under root, as in a container; the pages are our own.
        started = playwright.chromium.launch(
            executable_path=executable(),
            channel="chromium",
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield started
        finally:
            started.close()


@contextmanager
def browser_that_shows(folder: Path) -> Iterator[Any]:
    """Start one browser for several tests, or skip them where it shows no page of a folder.

    One in a snap, say, sees no temporary files.
    """
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: `make setup` installs it"
    )
    page = folder / "probe.html"
    page.write_text("<title>seen</title>")
    with ExitStack() as stack:
        try:
            started = stack.enter_context(browser())
            with opened(started, page, 360) as probe:
                title = probe.title()
        except api.Error as problem:
            pytest.skip(f"{executable()} does not run here: {problem.message.splitlines()[0]}")
        if title != "seen":
            pytest.skip(f"{executable()} cannot open {page}")
        yield started


@dataclass
class Seen:
    """One page at one width.

    Attributes:
        said: Errors and warnings on the console, and scripts' exceptions.
        asked: Addresses the page asked for, but for itself and what it holds in `data:`.
        failed: Of all its requests those that failed.
        first_bytes: Size of the pictures of which a part at least is on its first screen.
        shift: How far what was shown moved while the page loaded: Chromium's layout shift, 0 for nothing.
        schemes: "light" and "dark" -> what `survey.js` found.
        printed: The same on paper while the system is dark.
    """

    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    first_bytes: float = 0.0
    shift: float = 0.0
    schemes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    printed: Mapping[str, Any] = field(default_factory=dict)


@contextmanager
def opened(browser: Any, path: Path, width_px: int, seen: Seen | None = None) -> Iterator[Any]:
    """Open a page from disk; what it asks of others is noted and never sent."""
    seen = Seen() if seen is None else seen
    page = browser.new_page(viewport={"width": width_px, "height": HEIGHT_PX}, reduced_motion="reduce")
    own = path.as_uri()
    page.route(lambda url: urlsplit(url).scheme not in ("file", "data"), lambda route: route.abort())
    page.on("console", lambda message: seen.said.append(message.text) if _bad(message) else None)
    page.on("pageerror", lambda error: seen.said.append(str(error)))
    page.on("request", lambda request: seen.asked.append(request.url) if _other(request, own) else None)
    page.on("requestfailed", lambda request: seen.failed.append(request.url))
    try:
        page.goto(own)
        yield page
    finally:
        page.close()


def _bad(message: Any) -> bool:
    return message.type in ("error", "warning", "assert")


def _other(request: Any, own: str) -> bool:
    return urlsplit(request.url).scheme != "data" and request.url.partition("#")[0] != own


FIRST_PICTURES = """() => [...document.images]
  .filter((image) => image.checkVisibility() && image.getBoundingClientRect().top < innerHeight)
  .reduce((sum, image) => sum + (image.currentSrc || image.src).length * 3 / 4, 0)"""


def look(browser: Any, path: Path, width_px: int, *, on_paper: bool = False) -> Seen:
    """Load a page once and survey it in light and dark, with everything folded open."""
    seen = Seen()
    with opened(browser, path, width_px, seen) as page:
        seen.shift, seen.first_bytes = shift(page), page.evaluate(FIRST_PICTURES)
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            seen.schemes[scheme] = page.evaluate(SCRIPT)
        if on_paper:
            page.reload()  # folded as it was
            page.set_viewport_size({"width": PAPER_PX, "height": HEIGHT_PX})
            page.emulate_media(media="print", color_scheme="dark")
            seen.printed = page.evaluate(SCRIPT.replace("OPEN_FOLDED = true", "OPEN_FOLDED = false"))
    return seen


SHIFT = """() => new Promise((done) => {
  let moved = 0;
  const sum = (list) => list.forEach((entry) => { moved += entry.value; });
  const observer = new PerformanceObserver((list) => sum(list.getEntries()));
  observer.observe({ type: "layout-shift", buffered: true });
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => {
    sum(observer.takeRecords());
    done(moved);
  })));
})"""


def shift(page: Any) -> float:
    """Return by how much a page's content has moved by itself: https://web.dev/articles/cls."""
    return page.evaluate(SHIFT)


FOCUS = """() => {
  window.reached ??= new Set();
  const element = document.activeElement, box = element.getBoundingClientRect(), style = getComputedStyle(element);
  if (element === document.body || window.reached.has(element)) return null;
  window.reached.add(element);
  const seen = box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight;
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return { name: element.tagName + "." + element.className + " " + element.textContent.slice(0, 30), seen, outlined,
    top: box.top + scrollY };
}"""
MISSED = """() => [...document.querySelectorAll("a[href], summary, [tabindex]")]
  .filter((element) => element.checkVisibility() && !window.reached.has(element))
  .map((element) => element.outerHTML.slice(0, 80))"""


def walk(page: Any) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Press Tab through a page; return its stops in order, and what was never reached."""
    stops = []
    while len(stops) < MANY_STOPS:
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUS)
        if stop is None:
            break
        stops.append(stop)
    return stops, page.evaluate(MISSED)


def dead_links(path: Path, links: list[str], anchors: Mapping[str, list[str]]) -> list[str]:
    """Return the links of a page that lead nowhere on disk, or out of the folder by a path.

    Args:
        links: The `href`s as they are written. Those to the web are the reader's to follow.
        anchors: File name -> ids in that page, of every page of the folder.
    """
    dead = []
    for link in links:
        parts = urlsplit(link)
        if parts.scheme in ("http", "https"):
            continue
        target = path.parent / unquote(parts.path) if parts.path else path
        known = anchors.get(target.name, [])
        if parts.scheme or parts.path.startswith("/") or ".." in Path(parts.path).parts:
            dead.append(f"{link} leaves the folder")
        elif not target.is_file():
            dead.append(f"{link}: no such file")
        elif parts.fragment and unquote(parts.fragment) not in known:
            dead.append(f"{link}: no such place")
    return dead


def bad_pictures(survey) -> list[str]:
    """Return the pictures that cannot be seen: not decoded, nameless, too small or not wholly on the page."""
    return [
        picture["name"]
        for picture in survey["pictures"]
        if not picture["decoded"]
        or not picture["alt"]
        or picture["width"] < 50
        or picture["left"] < 0
        or picture["right"] > survey["width"]
    ]


def bad_outline(headings) -> list[str]:
    """Return the headings that are out of order, and a second title."""
    levels = [1, *(level for level, _ in headings)]
    jumps = [text for (level, text), before in zip(headings, levels, strict=False) if level > before + 1]
    titles = [text for level, text in headings if level == 1]
    return jumps + titles[1:] + ([] if titles and headings[0][0] == 1 else ["the title is not first"])
