"""What is sent on, in a real browser: one file, opened from disk somewhere else, and printed."""

from __future__ import annotations

import shutil

import pytest

from browser_helper import SCHEMES, dead_links, executable, look, opened
from trainspeed.report.share import share

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        executable() is None,
        reason="no Chromium here: install it (apt install chromium), or name one: TRAINSPEED_CHROMIUM=…",
    ),
]


@pytest.fixture(scope="module")
def sent(report_folder, tmp_path_factory):
    """A folder with nothing but what is sent on."""
    copy = tmp_path_factory.mktemp("report") / "out"
    shutil.copytree(report_folder, copy, ignore=shutil.ignore_patterns("*.ipynb"))
    assert share(out=copy) == 0
    return (copy / "share").rename(tmp_path_factory.mktemp("elsewhere") / "sent")


def test_all_pages_are_in_one_file_that_asks_nobody_and_leads_nowhere_else(chromium, sent):
    seen = look(chromium, sent / "report.html", 360, on_paper=True)

    assert seen.said == seen.asked == seen.failed == []
    light = seen.schemes["light"]
    assert len(light["ids"]) == len(set(light["ids"])) and {"index", "layout"} <= set(light["ids"])
    assert len(light["links"]) > 50
    assert dead_links(sent / "report.html", light["links"], {"report.html": light["ids"]}) == []
    for survey in (*(seen.schemes[scheme] for scheme in SCHEMES), seen.printed):
        assert survey["pageScrolls"] == 0 and survey["wide"] == survey["pale"] == []
        assert survey is seen.printed or survey["cramped"] == [], "no finger follows links on paper"
    assert light["page"] != seen.schemes["dark"]["page"]
    assert seen.printed["navigation"] == []


def test_it_prints(chromium, sent):
    with opened(chromium, sent / "report.html", 1400) as page:
        assert page.pdf(prefer_css_page_size=True, format="A4").startswith(b"%PDF")


def test_the_badge_is_a_picture_whose_texts_fit(chromium, sent):
    with opened(chromium, sent / "badge.svg", 360) as page:
        texts = "[...document.querySelectorAll('text')]"
        boxes = page.evaluate(f"{texts}.map((text) => text.getBBox()).map((box) => [box.x, box.width])")
        width = page.evaluate("document.documentElement.width.baseVal.value")
    (first, first_wide), (second, second_wide) = boxes
    assert first + first_wide < second and second + second_wide < width
