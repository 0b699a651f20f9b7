"""A folder that somebody made up, rendered and compared by the real commands, and looked at in a real browser."""

from __future__ import annotations

import re

import mistune
import pytest
from bs4 import BeautifulSoup

import hostile_folder
from browser_helper import Seen, executable, opened
from command_line import trainspeed
from hostile_ledger import MARKUP
from page_text import page_text
from trainspeed.core.ledger import MOST_DOUBTS
from trainspeed.report.clean import is_link

PAGES = ("layout.html", "index.html", "compare.html", "share/report.html")
# Links and whatever else takes clicks, where it covers more than a third of the window. The first column of a table
# stays in sight while the others scroll: a cell of it is as tall as its row, which a long text may make very tall, but
# never leaves its row, so that it covers nothing else.
OVERLAYS = """() => [...document.querySelectorAll("body *")].filter((element) => {
  const style = getComputedStyle(element), box = element.getBoundingClientRect();
  const loose = ["fixed", "absolute", "sticky"].includes(style.position);
  const large = box.width * box.height > innerWidth * innerHeight / 3;
  const column = style.position === "sticky" && element.matches(".scroll > table tr > :first-child");
  return loose && large && !column && style.visibility !== "hidden";
}).map((element) => element.outerHTML.slice(0, 100))"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Folder of the pages, what the commands printed, and how many lines of the ledger are wrong."""
    base = tmp_path_factory.mktemp("hostile")
    wrong = hostile_folder.write(base / "evil")
    hostile_folder.write(base / "other")
    out = base / "out"
    drawn = trainspeed("render", "--from", str(base / "evil"), "--out", str(out), "--notebooks", "layout")
    beside = trainspeed("compare", str(base / "evil"), str(base / "other"), "--out", str(out))
    sent = trainspeed("share", "--out", str(out))
    for result in (drawn, beside, sent):
        assert result.returncode == 0, result.stdout + result.stderr
    return out, drawn.stdout + beside.stdout + sent.stdout, wrong


def test_wrong_lines_are_named_and_nothing_else_is_lost(report):
    out, printed, wrong = report
    text = page_text(out / "layout.html")

    # A command looks at the lines that it needs: `compare` at all of them.
    assert f"{wrong - MOST_DOUBTS} more lines like these." in printed
    named = re.findall(r"^- line (\d+) of runs\.jsonl ", text, re.MULTILINE)
    assert len(named) == MOST_DOUBTS and "more lines like these." in text
    assert f"{hostile_folder.BLOCKS * 6} runs measured, {len(MARKUP)} without a result" in text
    assert "channels_last vs channels_first" in text and "faster" in text
    assert printed.replace("\n", "").isprintable(), "nothing steers the terminal"


def test_what_the_ledger_holds_is_text_on_every_page(report):
    out, _, _ = report
    for name in PAGES:
        html = (out / name).read_text()
        tree = BeautifulSoup(html, "html.parser")
        assert len(tree.find_all("meta", attrs={"http-equiv": True})) == 1, name
        assert not tree.find_all(["script", "iframe", "link", "base", "form"]), name
        assert [link["href"] for link in tree.find_all("a") if not is_link(link["href"])] == [], name
        assert not [link for link in tree.find_all("a") if hostile_folder.HOST in link["href"]], name
        assert not [image for image in tree.find_all("img") if not image["src"].startswith("data:")], name
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", html), name
    assert "<img src=x onerror=alert(1)>" in page_text(out / "layout.html")


def test_what_the_ledger_holds_is_text_in_what_is_sent_on(report):
    sent = report[0] / "share"
    markdown = mistune.create_markdown(escape=False, plugins=["table", "url"])
    tree = BeautifulSoup(markdown((sent / "report.md").read_text()), "html.parser")
    badge = BeautifulSoup((sent / "badge.svg").read_text(), "xml")

    assert tree.find("table") and not tree.find_all(["a", "img", "script", "iframe", "style", "form"])
    assert {tag.name for tag in badge.find_all(True)} <= {"svg", "title", "path", "g", "text"}
    for name in ("report.md", "report.json", "badge.svg"):
        text = (sent / name).read_text()
        assert not re.search("[\u202a-\u202e\u2066-\u2069\x1b]", text), name


@pytest.mark.skipif(
    executable() is None, reason="no Chromium here: install it, or name one: TRAINSPEED_CHROMIUM=…"
)
def test_a_browser_asks_nobody_goes_nowhere_and_shows_no_overlay(chromium, report, tmp_path):
    out, _, _ = report
    broken = tmp_path / "broken.html"
    link = '<a href="https://evil.example/" style="position:fixed;inset:0">x</a>'
    broken.write_text(f"{link}<img src=https://evil.example/x.png><script>alert(1)</script>")
    for page in (*(out / name for name in PAGES), broken):
        seen = Seen()
        with opened(chromium, page, 800, seen) as tab:
            tab.on("dialog", lambda dialog: dialog.dismiss())
            tab.evaluate("document.querySelectorAll('details').forEach((element) => { element.open = true })")
            tab.wait_for_load_state("networkidle")
            overlays, address = tab.evaluate(OVERLAYS), tab.url
        assert address == page.as_uri()
        if page == broken:
            assert seen.asked and overlays, "the check can fail"
        else:
            assert (seen.asked, seen.said, overlays) == ([], [], []), page.name
