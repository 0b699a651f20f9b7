"""The page of a report that is not complete, and the places that its links name."""

import pytest
from nbformat.v4 import new_output

from exported import export
from tiny_notebooks import code, text
from trainspeed.core.files import slug


@pytest.mark.parametrize(
    ("rendered", "resumable", "offered"),
    [(False, None, True), (True, None, False), (True, True, True), (False, False, False)],
)
def test_a_page_of_a_report_that_is_not_complete_says_so_and_how_to_continue(
    tmp_path, rendered, resumable, offered
):
    """A front page that was only drawn may belong to a report that can be continued."""
    ending = {"status": "ok", "rendered": rendered}
    about = {"metadata": {"trainspeed": ending}, "complete": False, "resumable": resumable}
    html, soup, _ = export(tmp_path, text("# A question"), text("## Notebooks"), **about)

    assert soup.title.string == "Not complete: A question"
    (banner,) = soup.select(".banner")
    assert html.index("banner") < html.index("<h1")
    assert soup.find(id=banner.a["href"].removeprefix("#")).get_text() == "Notebooks"
    assert ("make report RESUME=1" in banner.get_text()) is offered


GAPS = [
    {"cell": 2, "section": "The chart", "error": "ValueError: <b>"},
    {"cell": 3, "section": "Explore", "error": "KeyError: 'hidden'"},
]


def failed_outputs(gap):
    return [new_output("error", ename=gap["error"].partition(":")[0], evalue="why", traceback=["line 1"])]


def incomplete_page(tmp_path, **ending):
    cells = (
        text("# A question"),
        text("## The chart"),
        code("draw()", outputs=failed_outputs(GAPS[0])),
        code("explore()", "remove_cell", outputs=failed_outputs(GAPS[1])),
        text("## Notebooks"),
    )
    ending = {"status": "incomplete", "error": "2 parts could not be shown", "gaps": GAPS, **ending}
    return export(tmp_path, *cells, metadata={"trainspeed": ending}, complete=False)[:2]


def test_an_incomplete_page_names_what_is_missing_first_and_leads_to_its_place(tmp_path):
    html, soup = incomplete_page(tmp_path)

    own, _ = soup.select(".banner")
    assert soup.title.string == "INCOMPLETE: A question"
    assert html.index("banner") < html.index("<h1")
    (item,) = own.select("li")  # what is in no page is missed by no reader of it
    assert item.get_text() == "The chart: ValueError: <b>"
    place = soup.find(id=item.a["href"].removeprefix("#"))
    assert "ValueError: why" in place.get_text() and place.find("summary", string="Traceback")
    assert "make render" in own.get_text() and "RESUME" not in own.get_text()


def test_an_incomplete_front_page_names_the_notebooks_that_failed_too(tmp_path):
    _, soup = incomplete_page(tmp_path)

    _, others = soup.select(".banner")
    assert soup.find(id=others.a["href"].removeprefix("#")).get_text() == "Notebooks"


def test_a_page_that_failed_names_what_was_missing_before(tmp_path):
    _, soup = incomplete_page(tmp_path, status="failed", error="the kernel died", cell=3)

    (banner,) = soup.select(".banner")
    assert "the kernel died" in banner.get_text() and "The chart: ValueError: <b>" in banner.get_text()
    assert soup.find(id="gap-2")


def test_a_link_can_name_a_heading_by_its_words(tmp_path):
    headings = ["What really ran?", "`channels_last` against channels_first", "Größe × 2", "?"]
    _, soup, _ = export(tmp_path, *(text(f"## {heading}") for heading in headings))

    ids = [heading["id"] for heading in soup.find_all("h2")]
    assert ids == [slug(heading.get_text()) for heading in soup.find_all("h2")]
    assert ids == ["what-really-ran", "channels_last-against-channels_first", "größe-2", "section"]
