"""The page of a report that is not complete, and the places that its links name."""

import pytest

from test_export import export
from tiny_notebooks import text
from trainspeed.export import slug


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


def test_a_link_can_name_a_heading_by_its_words(tmp_path):
    headings = ["What really ran?", "`channels_last` against channels_first", "Größe × 2", "?"]
    _, soup, _ = export(tmp_path, *(text(f"## {heading}") for heading in headings))

    ids = [heading["id"] for heading in soup.find_all("h2")]
    assert ids == [slug(heading.get_text()) for heading in soup.find_all("h2")]
    assert ids == ["what-really-ran", "channels_last-against-channels_first", "größe-2", "section"]
