"""A report as its readers get it: copied elsewhere, opened from disk in a real browser, printed.

One browser, one load per page and width. Skipped, with the reason, where there is no Chromium.
"""

from __future__ import annotations

import functools
import shutil
from itertools import pairwise

import pytest

import sample_page
from browser_helper import (
    PAPER_PX,
    SCHEMES,
    Seen,
    bad_outline,
    bad_pictures,
    dead_links,
    executable,
    look,
    opened,
    shift,
    walk,
)

WIDTHS_PX = (360, 800, 1400)
PRINTED_PX = 800
PLACE = "Zwölf Läufe – report #1 (50 %)"  # what folders are called
LARGEST_BYTES = 3_000_000  # of a page
LARGEST_FIRST_BYTES = 300_000  # of the pictures on a page's first screen
LINE_PX = 30  # what stands beside something else in a line may begin higher
TALLEST_PX = 1010  # of a figure on paper: A4 less its margins of 15 mm

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        executable() is None,
        reason="no Chromium here: install it (apt install chromium), or name one: TRAINSPEED_CHROMIUM=…",
    ),
]


@pytest.fixture(scope="module")
def folder(report_folder, tmp_path_factory):
    """The report, copied to another place, and beside it a page with what a good report has not."""
    copy = tmp_path_factory.mktemp("elsewhere") / PLACE
    shutil.copytree(report_folder, copy)
    sample_page.write(copy)
    return copy


@pytest.fixture(scope="module")
def pages(folder):
    return sorted(folder.glob("*.html"))


@pytest.fixture(scope="module")
def seen_at(chromium, pages):
    """A function: width -> page -> what was seen of it, at the middle one also on paper while the system is dark."""

    @functools.cache
    def seen(width_px):
        return {page.name: look(chromium, page, width_px, on_paper=width_px == PRINTED_PX) for page in pages}

    return seen


@pytest.fixture(scope="module", params=WIDTHS_PX)
def views(request, seen_at):
    """Page -> what was seen of it at one width."""
    return seen_at(request.param)


@pytest.fixture(scope="module")
def printed(seen_at):
    """Page -> what is on paper."""
    return {page: seen.printed for page, seen in seen_at(PRINTED_PX).items()}


@pytest.fixture(scope="module")
def broken(chromium, tmp_path_factory):
    """What is seen of a page with every mistake, to show that each check can fail."""
    path = sample_page.write_broken(tmp_path_factory.mktemp("broken"))
    return look(chromium, path, 360, on_paper=True)


def found(views: dict[str, Seen], name: str) -> list[str]:
    """Return what there is to complain about under one name, in all pages and both colour schemes."""
    return [
        f"{page}, {scheme}: {problem}"
        for page, seen in views.items()
        for scheme in SCHEMES
        for problem in seen.schemes[scheme][name]
    ]


def test_there_are_pages_to_look_at(pages):
    assert {"index.html", "layout.html", sample_page.NAME} <= {page.name for page in pages}


def test_the_console_stays_empty(views, broken):
    assert {page: seen.said for page, seen in views.items() if seen.said} == {}
    assert broken.said


def test_nothing_is_asked_of_anyone_and_nothing_fails(views, broken):
    assert {page: seen.asked for page, seen in views.items() if seen.asked} == {}
    assert {page: seen.failed for page, seen in views.items() if seen.failed} == {}
    assert any(url.startswith("https://example.org/") for url in broken.asked)
    assert broken.failed


def test_every_figure_is_visible_named_and_fits(views, broken):
    for page, seen in views.items():
        for survey in seen.schemes.values():
            assert bad_pictures(survey) == [], page
            assert len(survey["pictures"]) == survey["allPictures"], page
    assert sum(len(seen.schemes["light"]["pictures"]) for seen in views.values()) >= 3
    assert len(bad_pictures(broken.schemes["light"])) == 3  # missing, nameless, too wide


def test_the_page_never_scrolls_sideways_but_wide_tables_do_by_themselves(views, broken):
    for page, seen in views.items():
        assert [survey["pageScrolls"] for survey in seen.schemes.values()] == [0, 0], page
    assert found(views, "wide") == []
    assert found(views, "unboxed") == []
    if views[sample_page.NAME].schemes["light"]["width"] == min(WIDTHS_PX):
        assert views[sample_page.NAME].schemes["light"]["scrolling"], "a table of 20 columns"
    assert broken.schemes["light"]["pageScrolls"] > 0
    assert broken.schemes["light"]["wide"] and broken.schemes["light"]["unboxed"]


@pytest.mark.parametrize("mistake", ["intervalsOutside", "stackedOutside"])
def test_the_interval_of_a_verdict_and_a_list_of_values_are_in_sight_at_every_width(views, broken, mistake):
    assert found(views, mistake) == []
    assert broken.schemes["light"][mistake]


def test_where_there_is_room_long_texts_wrap_before_a_table_scrolls(seen_at):
    tables = {page: seen.schemes["light"]["scrolling"] for page, seen in seen_at(max(WIDTHS_PX)).items()}
    assert tables.pop(sample_page.NAME), "a table of 20 columns"
    assert {page: scrolling for page, scrolling in tables.items() if scrolling} == {}


@pytest.mark.parametrize("mistake", ["tornHeadings", "spilledHeadings"])
def test_no_heading_is_broken_within_a_word_or_runs_into_the_next_one(views, broken, mistake):
    assert found(views, mistake) == []
    assert broken.schemes["light"][mistake]


def test_all_text_has_the_contrast_of_wcag_aa_in_light_and_dark(views, broken):
    """Badges, code and its colours, what was folded; 4.5 to 1, and 3 to 1 for large text."""
    assert found(views, "pale") == []
    assert all(survey["texts"] > 50 for survey in views["layout.html"].schemes.values())
    colours = {scheme: survey["page"] for scheme, survey in views["layout.html"].schemes.items()}
    assert colours["light"] != colours["dark"], "there are two schemes"
    light, dark = (" ".join(broken.schemes[scheme]["pale"]) for scheme in SCHEMES)
    assert "too pale" in light and "half hidden" in light and "on a badge" in light
    assert "black in the dark" in dark and "black in the dark" not in light
    assert "large enough" not in light


def test_what_a_finger_is_to_hit_is_large_enough_or_apart(views, broken):
    assert found(views, "cramped") == []
    assert len(broken.schemes["light"]["cramped"]) == 2


def test_nothing_moves_while_a_page_loads(chromium, folder, views):
    assert {page: seen.shift for page, seen in views.items() if seen.shift} == {}
    with opened(chromium, folder / "layout.html", 360) as page:
        page.evaluate(
            "document.body.prepend(Object.assign(document.createElement('p'), {textContent: 'late'}))"
        )
        assert shift(page) > 0


def test_a_page_and_its_first_screen_are_light(views, pages, seen_at):
    assert [page.name for page in pages if page.stat().st_size >= LARGEST_BYTES] == []
    first = {page: seen.first_bytes for page, seen in views.items()}
    assert views is not seen_at(1400) or max(first.values()) > 0, (
        "there are pictures, on a phone below the answers"
    )
    assert [page for page, size_bytes in first.items() if size_bytes >= LARGEST_FIRST_BYTES] == []


def test_the_outline_can_be_heard(views, broken):
    """By those whom a program reads the page aloud: language, title, headings, names of links."""
    for page, seen in views.items():
        survey = seen.schemes["light"]
        assert survey["lang"] == "en" and survey["title"], page
        assert bad_outline(survey["headings"]) == [], page
    assert found(views, "nameless") == []
    assert bad_outline(broken.schemes["light"]["headings"]) == ["too deep", "a second title"]
    assert len(broken.schemes["light"]["nameless"]) == 1


def test_every_link_leads_somewhere_within_the_copy(views, folder, broken):
    anchors = {page: seen.schemes["light"]["ids"] for page, seen in views.items()}
    for page, seen in views.items():
        survey = seen.schemes["light"]
        assert dead_links(folder / page, survey["links"], anchors) == [], page
        assert len(survey["ids"]) == len(set(survey["ids"])), page
    linked = {link.partition("#")[0] for link in views["index.html"].schemes["light"]["links"]}
    assert "layout.html" in linked
    dead = dead_links(folder / "index.html", broken.schemes["light"]["links"], anchors)
    assert [problem.rpartition(": ")[2] for problem in dead] == [
        "/etc/hostname leaves the folder",
        "../index.html leaves the folder",
        "no such file",
        "no such place",
        "no such place",
    ]


def test_folded_code_opens_by_mouse_and_by_keyboard(chromium, folder):
    with opened(chromium, folder / "layout.html", 360) as page:
        folded = page.locator("details.code")
        assert folded.count() > 3
        first, last = folded.first, folded.last
        assert not first.locator(".highlight").is_visible()
        first.locator("summary").click()
        assert first.locator(".highlight").is_visible()
        last.locator("summary").focus()
        for key in ("Enter", "Space"):
            page.keyboard.press(key)
            assert last.locator(".highlight").is_visible()
            page.keyboard.press(key)
            assert not last.locator(".highlight").is_visible()


def test_the_keyboard_reaches_everything_and_is_seen_where_it_is(chromium, pages):
    """The skip link first, then every link, folded part and box that scrolls, each on the page and outlined."""
    for path in pages:
        with opened(chromium, path, 360) as page:
            stops, missed = walk(page)
            assert stops[0]["name"].startswith("A.skip"), path.name
            assert [stop["name"] for stop in stops if not (stop["seen"] and stop["outlined"])] == [], (
                path.name
            )
            assert missed == [], path.name
            tops = [stop["top"] for stop in stops[1:]]  # the skip link stands over the page
            back = [stops[n + 2]["name"] for n, (a, b) in enumerate(pairwise(tops)) if b < a - LINE_PX]
            assert back == [], (path.name, "the keyboard goes up the page")


def test_the_skip_link_skips(chromium, folder):
    with opened(chromium, folder / "layout.html", 360) as page:
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.closest('main') !== null")
        assert page.evaluate("document.activeElement.closest('.bar') === null")


def test_paper_is_white_with_dark_text_whatever_the_system(printed):
    for name, survey in printed.items():
        assert survey["page"] == "rgb(255, 255, 255) rgb(0, 0, 0)", name
        assert survey["colourScheme"] == "light", name
        assert survey["pale"] == [], name


def test_on_paper_there_is_no_navigation_and_folded_code_leaves_no_trace(printed, broken):
    for name, survey in printed.items():
        assert survey["navigation"] == [], name
        assert survey["codeShown"] == survey["codeSummaries"] == survey["layersShown"] == 0, name
    assert any(survey["codeFolded"] for survey in printed.values())
    assert broken.printed["navigation"] and broken.printed["codeSummaries"]


def test_on_paper_nothing_is_cut_off_or_torn_apart(printed, broken):
    for name, survey in printed.items():
        assert survey["width"] == PAPER_PX
        assert survey["pageScrolls"] == 0 and survey["wide"] == [], name
        assert survey["boxed"] == [] and survey["torn"] == [], name
        tall = [p["name"] for p in survey["pictures"] if p["height"] > TALLEST_PX]
        assert all(picture.startswith("img.tall") for picture in tall), "these go on over several pages"
        assert bad_pictures(survey) == [], name
    assert broken.printed["wide"] and broken.printed["boxed"] and broken.printed["torn"]


def test_the_chart_of_every_answer_is_on_the_first_sheet(printed):
    for name, survey in printed.items():
        if name != sample_page.NAME:
            answers = [picture["bottom"] for picture in survey["pictures"] if picture["answers"]]
            assert answers and min(answers) < TALLEST_PX, (name, answers)


def test_a_page_prints(chromium, folder):
    with opened(chromium, folder / "layout.html", 800) as page:
        assert page.pdf(prefer_css_page_size=True, format="A4").startswith(b"%PDF")
